//! Figures that a report has once, not for each training step: no interval can be given for them.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::document::{Document, QueuePair};

/// A figure of the whole report.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TotalReport {
    /// What it is: `retransmitted`, `round_trip`, ..., or the measure of a counter of NICs.
    pub name: String,
    /// `report`, `counter`, or `path` with its two addresses in `src` and `dst`.
    pub of: &'static str,
    /// Where the path begins.
    pub src: Option<String>,
    /// Where it ends.
    pub dst: Option<String>,
    /// `ns`, `share`, `packets`, or a counter's unit with `/s`.
    pub unit: String,
    /// Before; `null` if unknown.
    pub before: Option<f64>,
    /// After; `null` if unknown.
    pub after: Option<f64>,
}

/// Paths, from one address to another, that only one side has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PathsReport {
    /// Paths that both have.
    pub both: u64,
    /// Those that only the first has, as pairs of addresses.
    pub only_before: Vec<[String; 2]>,
    /// Those that only the second has.
    pub only_after: Vec<[String; 2]>,
    /// Paths that both have, whose UDP source ports differ: a fabric that hashes flows may lead them
    /// another way.
    pub other_udp_ports: u64,
}

/// Name, unit, and value of a set of queue pairs.
type Figure = (&'static str, &'static str, fn(&[&QueuePair]) -> Option<f64>);

const FIGURES: [Figure; 6] = [
    ("retransmitted", "share", |all| share(all, |one| one.retransmitted_packets)),
    ("missing", "share", |all| share(all, |one| one.missing_packets)),
    ("out_of_order", "share", |all| share(all, |one| one.out_of_order_packets)),
    ("rnr_naks", "packets", |all| known(all, |one| Some(one.rnr_naks))),
    ("ce", "share", ce),
    ("round_trip", "ns", round_trip),
];

/// The figures of the reports, then of their paths, then the counters of NICs.
pub(super) fn totals(before: &Document, after: &Document) -> Vec<TotalReport> {
    let mut all = Vec::new();
    let (one, other) = (data(before), data(after));
    for (name, unit, of) in FIGURES {
        add(&mut all, name, "report", None, unit, [of(&one), of(&other)]);
    }
    let cnps = |document: &Document| known(&every(document), |one| Some(one.cnps));
    add(&mut all, "cnps", "report", None, "packets", [cnps(before), cnps(after)]);
    let paused = |document: &Document| {
        document.pfc.iter().filter_map(|one| one.paused_ns).map(|ns| ns as f64).reduce(f64::max)
    };
    add(&mut all, "longest_paused", "report", None, "ns", [paused(before), paused(after)]);
    let (theirs, others) = (by_path(&one), by_path(&other));
    for (path, own) in &theirs {
        let Some(other) = others.get(path) else { continue };
        for (name, unit, of) in FIGURES {
            add(&mut all, name, "path", Some(*path), unit, [of(own), of(other)]);
        }
    }
    let (theirs, others) = (counters(before), counters(after));
    for ((name, unit), value) in &theirs {
        let other = others.get(&(*name, *unit)).copied();
        add(&mut all, name, "counter", None, &[unit, "/s"].concat(), [Some(*value), other]);
    }
    all
}

fn add(
    all: &mut Vec<TotalReport>,
    name: &str,
    of: &'static str,
    path: Option<(&str, &str)>,
    unit: &str,
    [before, after]: [Option<f64>; 2],
) {
    let is_told = [before, after].into_iter().flatten().any(|value| value != 0.0);
    if is_told {
        let src = path.map(|(src, _)| src.to_owned());
        let dst = path.map(|(_, dst)| dst.to_owned());
        let (name, unit) = (name.to_owned(), unit.to_owned());
        all.push(TotalReport { name, of, src, dst, unit, before, after });
    }
}

fn every(document: &Document) -> Vec<&QueuePair> {
    document.queue_pairs.iter().collect()
}

/// Queue pairs that carry data, as far as that is known.
fn data(document: &Document) -> Vec<&QueuePair> {
    let is_data = |one: &&QueuePair| one.role.as_deref() != Some("control");
    document.queue_pairs.iter().filter(is_data).collect()
}

fn by_path<'a>(all: &[&'a QueuePair]) -> BTreeMap<(&'a str, &'a str), Vec<&'a QueuePair>> {
    let mut paths: BTreeMap<(&str, &str), Vec<&QueuePair>> = BTreeMap::new();
    for one in all {
        paths.entry((&one.src, &one.dst)).or_default().push(one);
    }
    paths
}

fn known(all: &[&QueuePair], of: impl Fn(&QueuePair) -> Option<u64>) -> Option<f64> {
    let values = all.iter().filter_map(|one| of(one));
    values.fold(None, |sum: Option<f64>, value| Some(sum.unwrap_or(0.0) + value as f64))
}

fn share(all: &[&QueuePair], of: impl Fn(&QueuePair) -> u64) -> Option<f64> {
    let whole = known(all, |one| Some(one.frames)).filter(|frames| *frames > 0.0)?;
    Some(known(all, |one| Some(of(one)))? / whole)
}

fn ce(all: &[&QueuePair]) -> Option<f64> {
    let seen = |one: &QueuePair| one.ce_packets.map(|_| one.ce_among_packets);
    let whole = known(all, seen).filter(|packets| *packets > 0.0)?;
    Some(known(all, |one| one.ce_packets)? / whole)
}

/// The median queue pair's median.
fn round_trip(all: &[&QueuePair]) -> Option<f64> {
    let mut values: Vec<u64> = all.iter().filter_map(|one| one.ack_rtt_p50_ns).collect();
    values.sort_unstable();
    values.get(values.len().saturating_sub(1) / 2).map(|ns| *ns as f64)
}

/// Growth of NICs' counters a second, by measure, all NICs together.
fn counters(document: &Document) -> BTreeMap<(&str, &str), f64> {
    let mut growth = BTreeMap::new();
    for nic in &document.counters {
        let seconds = nic.last_ns.saturating_sub(nic.first_ns) as f64 / 1e9;
        for one in nic.counters.values().filter(|one| one.is_counted && seconds > 0.0) {
            if let (Some(measure), Some(unit)) = (&one.measure, &one.unit) {
                let sum = growth.entry((measure.as_str(), unit.as_str())).or_insert(0.0);
                *sum += one.delta as f64 / seconds;
            }
        }
    }
    growth
}

/// Which paths both sides have.
pub(super) fn paths(before: &Document, after: &Document) -> PathsReport {
    let (one, other) = (ports(before), ports(after));
    let only = |own: &BTreeMap<(&str, &str), BTreeSet<&str>>,
                other: &BTreeMap<(&str, &str), BTreeSet<&str>>| {
        let only = own.keys().filter(|path| !other.contains_key(*path));
        only.map(|(src, dst)| [(*src).to_owned(), (*dst).to_owned()]).collect()
    };
    let shared = || one.iter().filter_map(|(path, own)| Some((own, other.get(path)?)));
    PathsReport {
        both: shared().count() as u64,
        only_before: only(&one, &other),
        only_after: only(&other, &one),
        other_udp_ports: shared().filter(|(own, other)| own != other).count() as u64,
    }
}

fn ports(document: &Document) -> BTreeMap<(&str, &str), BTreeSet<&str>> {
    let mut paths: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for flow in document.flows.iter().filter(|flow| flow.transport != "CNP") {
        let ports = paths.entry((&flow.src, &flow.dst)).or_default();
        ports.extend(flow.udp_src_ports.keys().map(String::as_str));
    }
    paths
}
