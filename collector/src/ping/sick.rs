//! Which hosts and pairs stand out in one grid of figures.
//!
//! A host stands out as sender or receiver if its figures are lower than those of all pairs without
//! it. So a host is compared with others, never with itself; two hosts alone cannot be told apart.
//! What is left after that is single directions. The more figures there are and the less they vary,
//! the smaller a difference counts.

use super::matrix::Grid;
use super::statistic::{median, spread};

/// When a figure is low.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Share of the typical figure below which the median of a host is low.
    pub line: f64,
    /// Share of it below which a single direction is low.
    pub cell: f64,
}

impl Rule {
    /// Bandwidths.
    pub const BANDWIDTH: Self = Self { line: 0.8, cell: 0.7 };
    /// Inverse round trips, whose noise is larger.
    pub const ROUND_TRIP: Self = Self { line: 0.4, cell: 0.33 };
    /// 1 where a direction works, else 0.
    pub const REACH: Self = Self { line: 0.5, cell: 0.5 };
}

/// A host as sender or as receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Its row.
    Sender,
    /// Its column.
    Receiver,
}

/// A host that stands out in one role.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Index of the host.
    pub host: usize,
    /// In which role.
    pub role: Role,
    /// Directions with a low figure.
    pub low: usize,
    /// Directions with a figure.
    pub all: usize,
    /// Median of the low ones.
    pub value: f64,
    /// Median of the pairs without this host.
    pub typical: f64,
}

/// A direction that stands out, though neither of its hosts does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Single {
    /// Index of the sender.
    pub from: usize,
    /// Index of the receiver.
    pub to: usize,
    /// Its figure.
    pub value: f64,
    /// Median of all directions that are compared with it.
    pub typical: f64,
}

/// What stands out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sick {
    /// Hosts.
    pub lines: Vec<Line>,
    /// Directions of hosts that do not stand out.
    pub singles: Vec<Single>,
}

/// Standard deviations by which the median of a host must differ: those of a mean, and medians scatter a
/// quarter more.
const LINE_DEVIATIONS: f64 = 5.0;
/// The same of a single direction: there are more of them.
const CELL_DEVIATIONS: f64 = 5.0;
/// The same of the direction opposite to one that stands out.
const BACK_DEVIATIONS: f64 = 3.0;
/// The spread of figures as a share of the typical one. Few figures do not show it: of fewer than
/// [`SOME`] this is taken.
pub(super) const FEW_SPREAD: f64 = 0.15;
const SOME: usize = 7;
/// Those of eight hosts.
const MANY: usize = 56;
/// The largest spread of fewer than [`MANY`] figures.
const CELL_MOST_SPREAD: f64 = 0.18;
/// A smaller spread is not believed: of fewer than [`FEW`] figures, of few, and of many.
const CELL_FEWEST_SPREAD: f64 = 0.12;
const FEW: usize = 12;
const CELL_FEW_SPREAD: f64 = 0.1;
const CELL_MANY_SPREAD: f64 = 0.055;
/// Share of a host's directions that must be low.
const MOST: f64 = 0.75;
/// Share of the typical figure that such a direction is below.
const LOWER: f64 = 0.85;

/// Finds what stands out in a grid. Higher figures are better.
#[must_use]
pub fn find(grid: &Grid, rule: Rule) -> Sick {
    let lines = lines(grid, rule);
    let singles = singles(grid, rule, &lines);
    Sick { lines, singles }
}

fn lines(grid: &Grid, rule: Rule) -> Vec<Line> {
    let mut named: Vec<usize> = Vec::new();
    let mut lines = Vec::new();
    loop {
        let open = |host: usize| !named.contains(&host);
        let candidates = (0..grid.hosts()).filter(|&host| open(host));
        let found = candidates.map(|host| host_lines(grid, rule, host, &open));
        let share = |lines: &[Line]| {
            let shares = lines.iter().map(|line| line.value / line.typical);
            shares.fold(f64::INFINITY, f64::min)
        };
        let worst = found
            .filter(|lines| !lines.is_empty())
            .min_by(|a, b| share(a).total_cmp(&share(b)).then(b.len().cmp(&a.len())));
        let Some(worst) = worst else { return lines };
        named.extend(worst.first().map(|line| line.host));
        lines.extend(worst);
        // No majority is sick: what is typical is then unknown.
        if named.len() * 2 >= grid.hosts() {
            return Vec::new();
        }
    }
}

/// The roles in which a host stands out among those that are `open`.
fn host_lines(grid: &Grid, rule: Rule, host: usize, open: &dyn Fn(usize) -> bool) -> Vec<Line> {
    let mut rest: Vec<f64> = grid
        .iter()
        .filter(|&(from, to, _)| from != host && to != host && open(from) && open(to))
        .map(|(_, _, value)| value)
        .collect();
    let Some(typical) = median(&mut rest).filter(|_| rest.len() >= 2) else { return Vec::new() };
    if typical <= 0.0 {
        return Vec::new();
    }
    let noise = match rest.len() {
        ..SOME => FEW_SPREAD,
        _ => (spread(&rest, typical) / typical).max(FEW_SPREAD),
    };
    let mut lines = Vec::new();
    for role in [Role::Sender, Role::Receiver] {
        let others = (0..grid.hosts()).filter(|&other| other != host && open(other));
        let mut values: Vec<f64> = others
            .filter_map(|other| match role {
                Role::Sender => grid.get(host, other),
                Role::Receiver => grid.get(other, host),
            })
            .collect();
        let all = values.len();
        let bar = rule.line.min(line_bar(noise, all, rest.len())) * typical;
        let Some(middle) = median(&mut values) else { continue };
        let lower = LOWER.min(rule.line * 1.2) * typical;
        let mut low: Vec<f64> = values.into_iter().filter(|&value| value < lower).collect();
        let is_most = low.len() >= 2 && low.len() as f64 >= MOST * all as f64;
        if let (true, true, Some(value)) = (is_most, middle < bar, median(&mut low)) {
            lines.push(Line { host, role, low: low.len(), all, value, typical });
        }
    }
    lines
}

/// The share of a typical figure below which a median of `few` figures stands out from one of `many`,
/// all of which have this spread.
pub(super) fn line_bar(noise: f64, few: usize, many: usize) -> f64 {
    1.0 - LINE_DEVIATIONS * noise * (1.0 / few as f64 + 1.0 / many as f64).sqrt()
}

fn singles(grid: &Grid, rule: Rule, lines: &[Line]) -> Vec<Single> {
    let is_named = |host, role| lines.iter().any(|line| line.host == host && line.role == role);
    let left: Vec<_> = grid
        .iter()
        .filter(|&(from, to, _)| !is_named(from, Role::Sender) && !is_named(to, Role::Receiver))
        .collect();
    let mut values: Vec<f64> = left.iter().map(|&(_, _, value)| value).collect();
    let Some(typical) = median(&mut values) else { return Vec::new() };
    let noise = spread(&values, typical) / typical;
    let noise = match values.len() {
        ..FEW => noise.clamp(CELL_FEWEST_SPREAD, CELL_MOST_SPREAD),
        FEW..MANY => noise.clamp(CELL_FEW_SPREAD, CELL_MOST_SPREAD),
        _ => noise.max(CELL_MANY_SPREAD),
    };
    let bar = |deviations: f64| rule.cell.min(1.0 - deviations * noise) * typical;
    let is_below = |value: f64, deviations| value < bar(deviations);
    // Two directions have no third to compare with.
    let is_compared = values.len() > 2;
    let low = left.into_iter().filter(|&(from, to, value)| {
        let is_explained = is_named(to, Role::Sender) || is_named(from, Role::Receiver);
        let back = grid.get(to, from).filter(|_| !is_explained);
        let back = back.is_some_and(|back| is_below(back, CELL_DEVIATIONS));
        // Where one direction stands out, the other one needs less.
        let deviations = if back { BACK_DEVIATIONS } else { CELL_DEVIATIONS };
        is_compared && is_below(value, deviations)
    });
    low.map(|(from, to, value)| Single { from, to, value, typical }).collect()
}

/// Directions with figure 0 in a grid of 1 and 0, where no host explains them.
#[must_use]
pub fn find_unreached(grid: &Grid) -> Sick {
    let lines = lines(grid, Rule::REACH);
    let is_named = |host, role| lines.iter().any(|line| line.host == host && line.role == role);
    let singles = grid
        .iter()
        .filter(|&(from, to, value)| {
            value <= 0.0 && !is_named(from, Role::Sender) && !is_named(to, Role::Receiver)
        })
        .map(|(from, to, value)| Single { from, to, value, typical: 1.0 })
        .collect();
    Sick { lines, singles }
}
