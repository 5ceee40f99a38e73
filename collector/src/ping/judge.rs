//! What is wrong in a matrix: hosts, devices, rails and pairs by name, worst first.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::matrix::{Cell, Grid, Matrix, Probe};
use super::sick::{FEW_SPREAD, Role, Rule, Sick, find, find_unreached, line_bar};
use super::statistic::median;

/// What is wrong there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Trouble {
    /// The host did not come.
    Absent,
    /// It is not reached, or the measurement failed.
    Unreached,
    /// Its bandwidth is low.
    Slow,
    /// Its round trip is long.
    Late,
}

/// Where something is wrong.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Place {
    /// A host in both roles.
    Host {
        /// Its index.
        host: usize,
    },
    /// A host as sender: its row.
    Sender {
        /// Its index.
        host: usize,
    },
    /// A host as receiver: its column.
    Receiver {
        /// Its index.
        host: usize,
    },
    /// Both directions of a pair.
    Pair {
        /// The lower index.
        a: usize,
        /// The higher one.
        b: usize,
    },
    /// One direction of a pair.
    Direction {
        /// Index of the sender.
        from: usize,
        /// Index of the receiver.
        to: usize,
    },
    /// A rail on all hosts.
    Rail,
}

/// Over what it was measured.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Transport {
    /// TCP to the ping's port.
    Tcp,
    /// RDMA, by rail of the sender and of the receiver.
    Rdma {
        /// Pairs of rails with the same trouble.
        rails: Vec<(u8, u8)>,
        /// Whether these are all that were measured.
        is_all: bool,
    },
}

/// Something wrong.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// What.
    pub trouble: Trouble,
    /// Where.
    pub place: Place,
    /// Over what.
    pub transport: Transport,
    /// Directions that show it.
    pub low: usize,
    /// Directions that could.
    pub all: usize,
    /// Their median: Gb/s, or µs of a round trip.
    pub value: Option<f64>,
    /// The median of what they are compared with.
    pub typical: Option<f64>,
    /// The most frequent error of failed ones.
    pub cause: Option<String>,
}

/// The judgement.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Judgement {
    /// What is wrong, worst first.
    pub findings: Vec<Finding>,
    /// Different rails do not connect anywhere while same rails do: a rail-only fabric.
    pub is_rail_only: bool,
    /// With two hosts it is unknown which side a finding is due to.
    pub is_side_unknown: bool,
    /// Some RDMA devices are software: what they carry depends on the CPUs of their hosts, and is not
    /// judged. Whether they reach each other is.
    pub is_software_rdma: bool,
}

/// Round trips that differ by less than this many µs are no trouble: the hosts' own scheduling does it.
const TCP_SCHEDULING_US: f64 = 200.0;
const RDMA_SCHEDULING_US: f64 = 10.0;
/// With two hosts, the share of the better direction below which the other one is slow. Two figures do
/// not show how much they scatter: if both do by [`FEW_SPREAD`], this is four deviations away.
const THIRD: f64 = 1.0 / 3.0;
/// Share of the other rails' median below which a rail is slow everywhere.
const RAIL: f64 = 0.7;

/// Judges a matrix.
#[must_use]
pub fn judge(matrix: &Matrix) -> Judgement {
    let mut findings: Vec<Finding> =
        matrix.absent.iter().map(|absence| absent(matrix, absence.host, &absence.why)).collect();
    findings.extend(judge_layer(matrix, &Layer { rails: None }));

    let measured = rails(matrix);
    let same: Vec<_> = measured.iter().copied().filter(|(from, to)| from == to).collect();
    let cross: Vec<_> = measured.iter().copied().filter(|(from, to)| from != to).collect();
    let same_findings = judge_rails(matrix, &same);
    let is_rail_only = is_rail_only(matrix, &same, &cross);
    findings.extend(same_findings);
    if !is_rail_only {
        findings.extend(judge_rails(matrix, &cross));
    }
    findings.sort_by(|a, b| {
        let rank = |finding: &Finding| (finding.trouble, !is_host(&finding.place));
        rank(a).cmp(&rank(b)).then(b.low.cmp(&a.low)).then(a.place.cmp(&b.place))
    });
    let is_side_unknown = matrix.hosts.len() == 2
        && findings.iter().any(|finding| finding.trouble != Trouble::Absent);
    let is_software_rdma = measured.iter().any(|rails| is_software(matrix, *rails));
    Judgement { findings, is_rail_only, is_side_unknown, is_software_rdma }
}

const fn is_host(place: &Place) -> bool {
    matches!(place, Place::Host { .. } | Place::Sender { .. } | Place::Receiver { .. })
}

fn absent(matrix: &Matrix, host: usize, why: &str) -> Finding {
    let others = matrix.hosts.len().saturating_sub(1);
    Finding {
        trouble: Trouble::Absent,
        place: Place::Host { host },
        transport: Transport::Tcp,
        low: others,
        all: others,
        value: None,
        typical: None,
        cause: Some(why.to_owned()),
    }
}

/// All pairs of rails that some pair of hosts measured.
pub(super) fn rails(matrix: &Matrix) -> BTreeSet<(u8, u8)> {
    let cells = matrix.rows.iter().flatten().flat_map(|row| &row.cells);
    cells.flat_map(|cell| cell.rails.iter().map(|rail| (rail.from, rail.to))).collect()
}

/// Whether a device of one of these rails is software on some host.
fn is_software(matrix: &Matrix, (from, to): (u8, u8)) -> bool {
    let mut hosts = 0..matrix.hosts.len();
    hosts.any(|host| is_emulated(matrix, host, from) || is_emulated(matrix, host, to))
}

/// Whether this rail of this host is software.
fn is_emulated(matrix: &Matrix, host: usize, rail: u8) -> bool {
    matrix.device(host, rail).is_some_and(|device| device.is_software)
}

/// The bandwidths of a pair of rails that NICs decide. How fast a host's CPUs are, and what else they
/// do, decides those of software.
fn rail_bandwidth(matrix: &Matrix, rails: (u8, u8)) -> Grid {
    let (sender, receiver) = rails;
    let mut grid = matrix.grid(|cell| rail_probe(cell, rails)?.gbps);
    for from in 0..matrix.hosts.len() {
        for to in 0..matrix.hosts.len() {
            if is_emulated(matrix, from, sender) || is_emulated(matrix, to, receiver) {
                grid.set(from, to, None);
            }
        }
    }
    grid
}

/// The probes of one transport.
struct Layer {
    /// `None` for TCP.
    rails: Option<(u8, u8)>,
}

impl Layer {
    fn probe<'m>(&self, cell: &'m Cell) -> Option<&'m Probe> {
        self.rails.map_or(Some(&cell.tcp), |rails| rail_probe(cell, rails))
    }

    fn grid(&self, matrix: &Matrix, read: impl Fn(&Probe) -> Option<f64>) -> Grid {
        matrix.grid(|cell| self.probe(cell).and_then(&read))
    }

    /// Why a direction fails.
    fn error<'m>(&self, cell: &'m Cell) -> Option<&'m str> {
        let connect = cell.connect.as_deref().filter(|_| self.rails.is_none());
        connect.or_else(|| self.probe(cell)?.error.as_deref())
    }

    fn reach(&self, matrix: &Matrix) -> Grid {
        matrix.grid(|cell| {
            self.probe(cell)?;
            Some(if self.error(cell).is_some() { 0.0 } else { 1.0 })
        })
    }

    /// Whether the CPUs of the hosts do what NICs would.
    fn is_software(&self, matrix: &Matrix) -> bool {
        self.rails.is_some_and(|rails| is_software(matrix, rails))
    }

    /// Round trips that differ by less than this many µs are no trouble.
    fn scheduling(&self, matrix: &Matrix) -> f64 {
        match self.rails {
            Some(_) if !self.is_software(matrix) => RDMA_SCHEDULING_US,
            _ => TCP_SCHEDULING_US,
        }
    }

    fn transport(&self) -> Transport {
        match self.rails {
            None => Transport::Tcp,
            Some(rails) => Transport::Rdma { rails: vec![rails], is_all: false },
        }
    }
}

fn judge_layer(matrix: &Matrix, layer: &Layer) -> Vec<Finding> {
    let reach = layer.reach(matrix);
    let mut findings = findings(layer, Trouble::Unreached, &find_unreached(&reach));
    for finding in &mut findings {
        finding.value = None;
        finding.typical = None;
        finding.cause = cause(matrix, layer, &finding.place);
    }
    let bandwidth = match layer.rails {
        Some(rails) => rail_bandwidth(matrix, rails),
        None => layer.grid(matrix, |probe| probe.gbps),
    };
    let slow = match matrix.hosts.len() {
        2 => slower_of_two(layer, &bandwidth),
        _ => self::findings(layer, Trouble::Slow, &find(&bandwidth, Rule::BANDWIDTH)),
    };
    let speeds = layer.grid(matrix, |probe| probe.rtt_p10_us.map(|us| 1.0 / us.max(1e-3)));
    let mut late = self::findings(layer, Trouble::Late, &find(&speeds, Rule::ROUND_TRIP));
    for finding in &mut late {
        finding.value = finding.value.map(f64::recip);
        finding.typical = finding.typical.map(f64::recip);
    }
    late.retain(|finding| {
        let more = finding.value.zip(finding.typical).map(|(value, typical)| value - typical);
        // A slow path is late, too.
        let is_slow = slow.iter().any(|slow| covers(&slow.place, &finding.place));
        !is_slow && more.is_some_and(|more| more > layer.scheduling(matrix))
    });
    findings.extend(slow);
    findings.extend(late);
    findings
}

/// Whether all directions of `inner` are, or go to or from the same host as, those of `outer`.
fn covers(outer: &Place, inner: &Place) -> bool {
    let hosts = |place: &Place| match *place {
        Place::Host { host } | Place::Sender { host } | Place::Receiver { host } => vec![host],
        Place::Pair { a, b } => vec![a, b],
        Place::Direction { from, to } => vec![from.min(to), from.max(to)],
        Place::Rail => Vec::new(),
    };
    let (outer, inner) = (hosts(outer), hosts(inner));
    outer == inner || (outer.len() == 1 && outer.iter().all(|host| inner.contains(host)))
}

/// Places for what stands out: both roles of a host are the host, both directions of a pair the pair.
fn findings(layer: &Layer, trouble: Trouble, sick: &Sick) -> Vec<Finding> {
    let mut found = Vec::new();
    let new = |place, low, all, value, typical| Finding {
        trouble,
        place,
        transport: layer.transport(),
        low,
        all,
        value: Some(value),
        typical: Some(typical),
        cause: None,
    };
    for line in &sick.lines {
        let other = sick.lines.iter().find(|o| o.host == line.host && o.role != line.role);
        let host = line.host;
        match (line.role, other) {
            (Role::Receiver, Some(_)) => {}
            (Role::Sender, Some(other)) => {
                let value = f64::midpoint(line.value, other.value);
                let (low, all) = (line.low + other.low, line.all + other.all);
                found.push(new(Place::Host { host }, low, all, value, line.typical));
            }
            (role, None) => {
                let place = match role {
                    Role::Sender => Place::Sender { host },
                    Role::Receiver => Place::Receiver { host },
                };
                found.push(new(place, line.low, line.all, line.value, line.typical));
            }
        }
    }
    for single in &sick.singles {
        let (from, to) = (single.from, single.to);
        let back = sick.singles.iter().find(|other| (other.from, other.to) == (to, from));
        match back {
            Some(_) if from > to => {}
            Some(back) => {
                let value = f64::midpoint(single.value, back.value);
                found.push(new(Place::Pair { a: from, b: to }, 2, 2, value, single.typical));
            }
            None => {
                let place = Place::Direction { from, to };
                found.push(new(place, 1, 1, single.value, single.typical));
            }
        }
    }
    found
}

/// The slower direction of two hosts, if it is much slower than the other one.
fn slower_of_two(layer: &Layer, grid: &Grid) -> Vec<Finding> {
    let (Some(there), Some(back)) = (grid.get(0, 1), grid.get(1, 0)) else { return Vec::new() };
    let (from, to, value, typical) =
        if there < back { (0, 1, there, back) } else { (1, 0, back, there) };
    if value >= THIRD * typical {
        return Vec::new();
    }
    vec![Finding {
        trouble: Trouble::Slow,
        place: Place::Direction { from, to },
        transport: layer.transport(),
        low: 1,
        all: 1,
        value: Some(value),
        typical: Some(typical),
        cause: None,
    }]
}

/// The most frequent error at a place.
fn cause(matrix: &Matrix, layer: &Layer, place: &Place) -> Option<String> {
    let is_there = |from: usize, to: usize| match *place {
        Place::Host { host } => from == host || to == host,
        Place::Sender { host } => from == host,
        Place::Receiver { host } => to == host,
        Place::Pair { a, b } => (from, to) == (a, b) || (from, to) == (b, a),
        Place::Direction { from: sender, to: receiver } => (from, to) == (sender, receiver),
        Place::Rail => true,
    };
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (from, row) in matrix.rows.iter().enumerate() {
        for cell in row.iter().flat_map(|row| &row.cells) {
            if let (true, Some(error)) = (is_there(from, cell.to), layer.error(cell)) {
                *counts.entry(error).or_default() += 1;
            }
        }
    }
    counts.into_iter().max_by_key(|&(_, count)| count).map(|(error, _)| error.to_owned())
}

/// Judges each of these pairs of rails, and joins what is the same in several.
fn judge_rails(matrix: &Matrix, wanted: &[(u8, u8)]) -> Vec<Finding> {
    let mut joined: Vec<Finding> = Vec::new();
    let sick = sick_rails(matrix, wanted);
    for &rails in wanted {
        if let Some((_, finding)) = sick.iter().find(|(of, _)| *of == rails) {
            joined.push(finding.clone());
            continue;
        }
        for finding in judge_layer(matrix, &Layer { rails: Some(rails) }) {
            let same = joined
                .iter_mut()
                .find(|known| known.trouble == finding.trouble && known.place == finding.place);
            match same {
                Some(known) => join(known, &finding),
                None => joined.push(finding),
            }
        }
    }
    for finding in &mut joined {
        if let Transport::Rdma { rails, is_all } = &mut finding.transport {
            *is_all = rails.len() == wanted.len() && finding.place != Place::Rail;
        }
    }
    joined
}

fn rail_probe(cell: &Cell, wanted: (u8, u8)) -> Option<&Probe> {
    let found = cell.rails.iter().find(|rail| (rail.from, rail.to) == wanted);
    found.map(|rail| &rail.probe)
}

fn join(known: &mut Finding, other: &Finding) {
    if let (Transport::Rdma { rails, .. }, Transport::Rdma { rails: more, .. }) =
        (&mut known.transport, &other.transport)
    {
        rails.extend(more);
    }
    known.low += other.low;
    known.all += other.all;
}

/// Rails that are worse than the others in all pairs, which no comparison within a rail shows.
fn sick_rails(matrix: &Matrix, wanted: &[(u8, u8)]) -> Vec<((u8, u8), Finding)> {
    let reach = |probe: &Probe| Some(f64::from(u8::from(probe.error.is_none())));
    let figure = |rails: (u8, u8), trouble: Trouble| {
        let grid = match trouble {
            Trouble::Slow => rail_bandwidth(matrix, rails),
            _ => matrix.grid(|cell| rail_probe(cell, rails).and_then(reach)),
        };
        let mut values: Vec<f64> = grid.iter().map(|(_, _, value)| value).collect();
        median(&mut values).map(|middle| (middle, values.len()))
    };
    let mut found = Vec::new();
    for &rails in wanted {
        for trouble in [Trouble::Unreached, Trouble::Slow] {
            let others = wanted.iter().filter(|&&other| other != rails);
            let others: Vec<(f64, usize)> =
                others.filter_map(|&other| figure(other, trouble)).collect();
            let count: usize = others.iter().map(|(_, count)| count).sum();
            let mut medians: Vec<f64> = others.into_iter().map(|(middle, _)| middle).collect();
            let (Some(typical), Some((value, all))) =
                (median(&mut medians), figure(rails, trouble))
            else {
                continue;
            };
            let bar = RAIL.min(line_bar(FEW_SPREAD, all, count));
            if value >= bar * typical || found.iter().any(|(known, _)| *known == rails) {
                continue;
            }
            let is_slow = trouble == Trouble::Slow;
            let layer = Layer { rails: Some(rails) };
            let finding = Finding {
                trouble,
                place: Place::Rail,
                transport: Transport::Rdma { rails: vec![rails], is_all: false },
                low: all,
                all,
                value: Some(value).filter(|_| is_slow),
                typical: Some(typical).filter(|_| is_slow),
                cause: if is_slow { None } else { cause(matrix, &layer, &Place::Rail) },
            };
            found.push((rails, finding));
        }
    }
    found
}

/// Whether same rails connect everywhere and different rails nowhere.
fn is_rail_only(matrix: &Matrix, same: &[(u8, u8)], cross: &[(u8, u8)]) -> bool {
    let mut of_cross = cross.iter().flat_map(|&rails| outcomes(matrix, rails)).peekable();
    let fails = of_cross.peek().is_some() && of_cross.all(|works| !works);
    fails && same.iter().flat_map(|&rails| outcomes(matrix, rails)).all(|works| works)
}

/// Whether each direction of these rails works.
fn outcomes(matrix: &Matrix, rails: (u8, u8)) -> Vec<bool> {
    let cells = matrix.rows.iter().flatten().flat_map(|row| &row.cells);
    cells.filter_map(|cell| Some(rail_probe(cell, rails)?.error.is_none())).collect()
}
