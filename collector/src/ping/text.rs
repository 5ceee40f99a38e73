//! The matrix as text of at most 100 columns: every cell up to 16 hosts, beyond that a line per host.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::judge::{Judgement, Place, Transport, rails};
use super::matrix::{Cell, Grid, Matrix, Probe};
use super::statistic::median;
use super::words::{figure, notes, remedy, round_trips, sentence, verdict};

/// Columns of a line.
const WIDTH: usize = 100;
/// Hosts whose cells are all shown.
const MOST_CELLS: usize = 16;
/// Findings that are listed.
const MOST_FINDINGS: usize = 12;
/// Columns of a cell, and of a host's name.
const CELL: usize = 4;
const NAME: usize = 15;

/// What was measured, with the verdict first.
#[must_use]
pub fn write(matrix: &Matrix, judgement: &Judgement) -> String {
    let mut text = String::new();
    paragraph(&mut text, "● ", &verdict(matrix, judgement));
    if let Some(first) = judgement.findings.first() {
        paragraph(&mut text, "  → ", &remedy(matrix, first));
    }
    for finding in judgement.findings.iter().skip(1).take(MOST_FINDINGS) {
        paragraph(&mut text, "● ", &sentence(matrix, finding));
    }
    let more = judgement.findings.len().saturating_sub(MOST_FINDINGS + 1);
    if more > 0 {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  and {more} more (--json)");
    }
    let tcp = Layer { title: "TCP", is_rdma: false, probes: &|cell| vec![&cell.tcp] };
    layer(&mut text, matrix, judgement, &tcp);
    let same = rails(matrix).iter().filter(|(from, to)| from == to).count();
    if same > 0 {
        let title = if same == 1 {
            "RDMA WRITE".to_owned()
        } else {
            format!("RDMA WRITE, the worst of {same} rails")
        };
        let probes: &dyn for<'c> Fn(&'c Cell) -> Vec<&'c Probe> = &|cell| {
            let same = cell.rails.iter().filter(|rail| rail.from == rail.to);
            same.map(|rail| &rail.probe).collect()
        };
        layer(&mut text, matrix, judgement, &Layer { title: &title, is_rdma: true, probes });
    }
    text.push('\n');
    for note in notes(matrix, judgement) {
        paragraph(&mut text, "", &note);
    }
    text
}

/// Wraps a text after its mark.
fn paragraph(text: &mut String, mark: &str, words: &str) {
    let indent = " ".repeat(mark.chars().count());
    let options = textwrap::Options::new(WIDTH)
        .initial_indent(mark)
        .subsequent_indent(&indent)
        .break_words(false)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    for line in textwrap::wrap(words, options) {
        let _ = writeln!(text, "{line}");
    }
}

struct Layer<'a> {
    title: &'a str,
    is_rdma: bool,
    probes: &'a dyn for<'c> Fn(&'c Cell) -> Vec<&'c Probe>,
}

/// A cell's text.
enum Shown {
    Nothing,
    Failed,
    Figure(f64),
}

impl Layer<'_> {
    /// The worst figure of each direction.
    fn grid(&self, matrix: &Matrix, read: impl Fn(&Probe) -> Option<f64>, is_low: bool) -> Grid {
        matrix.grid(|cell| {
            let values = (self.probes)(cell).into_iter().filter_map(&read);
            if is_low { values.reduce(f64::min) } else { values.reduce(f64::max) }
        })
    }

    fn has_failed(&self, matrix: &Matrix, from: usize, to: usize) -> bool {
        let cell = matrix.cell(from, to);
        cell.is_some_and(|cell| {
            let failed = (self.probes)(cell).iter().any(|probe| probe.error.is_some());
            failed || (!self.is_rdma && cell.connect.is_some())
        })
    }
}

fn layer(text: &mut String, matrix: &Matrix, judgement: &Judgement, layer: &Layer<'_>) {
    let bandwidth = layer.grid(matrix, |probe| probe.gbps, true);
    let round_trip = layer.grid(matrix, |probe| probe.rtt_us, false);
    if matrix.rows.iter().flatten().all(|row| row.cells.is_empty()) {
        return;
    }
    let has_bandwidth = bandwidth.iter().next().is_some();
    let grid = if has_bandwidth { bandwidth } else { round_trip.clone() };
    let (grid, unit) = in_unit(&grid, has_bandwidth);
    let mut title = format!("{}, {unit}, row to column", layer.title);
    if let Some(words) = round_trips(matrix, &round_trip).filter(|_| has_bandwidth) {
        let _ = write!(title, "; {words}");
    }
    text.push('\n');
    paragraph(text, "", &title);
    let marked = marked(matrix, judgement, layer.is_rdma);
    if matrix.hosts.len() > MOST_CELLS {
        by_host(text, matrix, &grid, layer, has_bandwidth);
    } else {
        all_cells(text, matrix, &grid, layer, &marked);
    }
}

/// Figures in the unit in which the typical one has few digits.
fn in_unit(grid: &Grid, is_bandwidth: bool) -> (Grid, &'static str) {
    let mut values: Vec<f64> = grid.iter().map(|(_, _, value)| value).collect();
    let typical = median(&mut values).unwrap_or_default();
    let (factor, unit) = match is_bandwidth {
        true if typical < 0.995 => (1000.0, "Mb/s"),
        true => (1.0, "Gb/s"),
        false if typical < 999.5 => (1.0, "µs, round trips"),
        false => (0.001, "ms, round trips"),
    };
    let mut scaled = Grid::new(grid.hosts());
    for (from, to, value) in grid.iter() {
        scaled.set(from, to, Some(value * factor));
    }
    (scaled, unit)
}

/// A figure of at most three characters.
fn short(value: f64) -> String {
    if value < 999.5 { figure(value) } else { format!("{:.0}k", (value / 1000.0).min(99.0)) }
}

/// Directions that a finding covers.
fn marked(matrix: &Matrix, judgement: &Judgement, is_rdma: bool) -> BTreeSet<(usize, usize)> {
    let mut marked = BTreeSet::new();
    let hosts = matrix.hosts.len();
    for finding in &judgement.findings {
        if (finding.transport != Transport::Tcp) != is_rdma {
            continue;
        }
        let all = (0..hosts).flat_map(|from| (0..hosts).map(move |to| (from, to)));
        marked.extend(all.filter(|&(from, to)| match finding.place {
            Place::Host { host } => from == host || to == host,
            Place::Sender { host } => from == host,
            Place::Receiver { host } => to == host,
            Place::Pair { a, b } => (from, to) == (a, b) || (from, to) == (b, a),
            Place::Direction { from: sender, to: receiver } => (from, to) == (sender, receiver),
            Place::Rail => false,
        }));
    }
    marked
}

fn all_cells(
    text: &mut String,
    matrix: &Matrix,
    grid: &Grid,
    layer: &Layer<'_>,
    marked: &BTreeSet<(usize, usize)>,
) {
    let names = short_names(&matrix.hosts);
    let fits = names.iter().all(|name| name.chars().count() < CELL);
    let heads: Vec<String> = if fits {
        names.clone()
    } else {
        (1..=names.len()).map(|number| number.to_string()).collect()
    };
    let labels: Vec<String> = if fits {
        names
    } else {
        names.iter().enumerate().map(|(place, name)| format!("{} {name}", place + 1)).collect()
    };
    let width = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
    let _ = write!(text, "{:width$}", "");
    for head in &heads {
        let _ = write!(text, " {head:>CELL$}");
    }
    text.push('\n');
    for (from, label) in labels.iter().enumerate() {
        let mut line = format!("{label:width$}");
        for to in 0..heads.len() {
            let shown = match grid.get(from, to) {
                _ if from == to => Shown::Nothing,
                _ if layer.has_failed(matrix, from, to) => Shown::Failed,
                Some(value) => Shown::Figure(value),
                None => Shown::Nothing,
            };
            let mark = if marked.contains(&(from, to)) { "!" } else { "" };
            let cell = match shown {
                Shown::Nothing if from == to => "·".to_owned(),
                Shown::Nothing => "-".to_owned(),
                Shown::Failed => "fail".to_owned(),
                Shown::Figure(value) => format!("{}{mark}", short(value)),
            };
            let _ = write!(line, " {cell:>CELL$}");
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
}

/// Worst and median of each host in both roles.
fn by_host(text: &mut String, matrix: &Matrix, grid: &Grid, layer: &Layer<'_>, is_low: bool) {
    let names = short_names(&matrix.hosts);
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).clamp(4, NAME);
    let _ = writeln!(
        text,
        "{:width$}  {:>23}   {:>23}",
        "host", "sends: median worst fail", "gets: median worst fail"
    );
    for (host, name) in names.iter().enumerate() {
        let mut line = format!("{name:width$} ");
        for is_sender in [true, false] {
            let way = |other: usize| if is_sender { (host, other) } else { (other, host) };
            let others = || (0..names.len()).filter(|&other| other != host).map(way);
            let mut values: Vec<f64> =
                others().filter_map(|(from, to)| grid.get(from, to)).collect();
            let worst =
                values.iter().copied().reduce(|a, b| if is_low { a.min(b) } else { a.max(b) });
            let failed = others().filter(|&(from, to)| layer.has_failed(matrix, from, to)).count();
            let words = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), figure);
            let middle = words(median(&mut values));
            let gap = if is_sender { "" } else { "   " };
            let _ = write!(line, "{gap} {middle:>13} {:>5} {failed:>4}", words(worst));
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
}

/// Names without the domain that all share, and cut where they are longer than a column.
fn short_names(names: &[String]) -> Vec<String> {
    let domain = |name: &str| name.split_once('.').map(|(_, domain)| domain.to_owned());
    let first = names.first().and_then(|name| domain(name));
    let is_address = |name: &String| name.parse::<std::net::IpAddr>().is_ok();
    let is_shared = first.is_some()
        && names.iter().all(|name| domain(name) == first)
        && !names.iter().any(is_address);
    let cut = |name: &String| {
        let name = if is_shared { name.split('.').next().unwrap_or(name) } else { name };
        let length = name.chars().count();
        if length <= NAME {
            return name.to_owned();
        }
        // The end tells hosts apart.
        let end: String = name.chars().skip(length - NAME + 1).collect();
        format!("…{end}")
    };
    names.iter().map(cut).collect()
}
