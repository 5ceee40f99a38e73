//! Three waits of each edge, by packets, by the plugin and by the truth, in milliseconds.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use serde::Deserialize;

use super::report::Report;

/// The figures of an edge:
/// * data: from the offer of a buffer to its data, a transfer on average;
/// * room: for offers with data there, without the first of a collective, a collective and channel on
///   average;
/// * network: from the first packet to the last one, or to the ACK, a transfer on average.
pub(super) const FIGURES: [&str; 3] = ["data", "room", "network"];

/// Figures by sender and receiver.
pub(super) type Edges = BTreeMap<(u32, u32), [Option<f64>; 3]>;

/// A mean in the making.
#[derive(Clone, Copy, Default)]
struct Mean {
    ns: f64,
    count: u64,
}

impl Mean {
    fn add(&mut self, ns: u64, count: u64) {
        self.ns += ns as f64;
        self.count += count;
    }

    fn ms(self) -> Option<f64> {
        (self.count > 0).then(|| self.ns / self.count as f64 / 1e6)
    }
}

type Means = BTreeMap<(u32, u32), [Mean; 3]>;

fn edges(means: Means) -> Edges {
    means.into_iter().map(|(edge, means)| (edge, means.map(Mean::ms))).collect()
}

pub(super) fn by_packets(report: &Report) -> Edges {
    let connections = report.communicators.iter().flat_map(|one| &one.connections);
    let ends: BTreeMap<u32, (u32, u32)> =
        connections.filter_map(|one| Some((one.id, (one.sender?, one.receiver?)))).collect();
    let mut means = Means::new();
    for one in report.transfers.iter().flatten() {
        let Some(edge) = ends.get(&one.connection) else { continue };
        let means = means.entry(*edge).or_default();
        for (place, from) in [(0, one.cts_posted_ns), (2, one.first_ns)] {
            if let (Some(from), Some(until)) = (from, one.last_ns) {
                means[place].add(u64::try_from(until - from).unwrap_or(0), 1);
            }
        }
    }
    for part in report.collectives.iter().flat_map(|one| &one.connections) {
        if let (Some(edge), Some(waits)) = (ends.get(&part.connection), &part.waits) {
            means.entry(*edge).or_default()[1].add(waits.receiver_wait_ns, 1);
        }
    }
    edges(means)
}

pub(super) fn by_plugin(report: &Report) -> Edges {
    let mut means = Means::new();
    for proxy in &report.call_records.proxies {
        let Some(rank) = proxy.rank else { continue };
        for one in &proxy.edges {
            if one.direction == "send" {
                let means = means.entry((rank, one.peer)).or_default();
                means[1].add(one.later_second_ns.unwrap_or(0), one.operations);
                if let Some(wait) = &one.third {
                    means[2].add(wait.total_ns, wait.count);
                }
            } else if let Some(wait) = &one.first {
                means.entry((one.peer, rank)).or_default()[0].add(wait.total_ns, wait.count);
            }
        }
    }
    edges(means)
}

/// A chunk of the truth file.
#[derive(Deserialize)]
struct RingStep {
    #[serde(default)]
    sequence: u64,
    #[serde(default)]
    rank: u32,
    #[serde(default)]
    role: String,
    #[serde(default)]
    channel: u32,
    #[serde(default)]
    index: u32,
    #[serde(default)]
    waits_ns: Vec<[u64; 3]>,
}

/// Data goes round the ring 0, 1, 2, ...
pub(super) fn truly(truth: &str) -> Result<Edges> {
    let mut means = Means::new();
    let mut operations: BTreeSet<(u64, u32, u32)> = BTreeSet::new();
    let mut chunks: Vec<RingStep> = Vec::new();
    for line in truth.lines().filter(|line| line.starts_with(r#"{"record":"ring_step""#)) {
        chunks.push(serde_json::from_str(line).context("parse the truth")?);
    }
    let ranks = chunks.iter().map(|one| one.rank + 1).max().unwrap_or(1);
    for one in &chunks {
        if one.role == "sender" {
            let means = means.entry((one.rank, (one.rank + 1) % ranks)).or_default();
            let is_new = operations.insert((one.sequence, one.rank, one.channel));
            means[1].add(0, u64::from(is_new));
            for (at, [_, room, network]) in one.waits_ns.iter().enumerate() {
                let is_first = one.index == 0 && at == 0;
                means[1].add(if is_first { 0 } else { *room }, 0);
                means[2].add(*network, 1);
            }
        } else {
            let edge = ((one.rank + ranks - 1) % ranks, one.rank);
            for [data, ..] in &one.waits_ns {
                means.entry(edge).or_default()[0].add(*data, 1);
            }
        }
    }
    Ok(edges(means))
}
