//! The job: each communicator with its ranks, rings, trees and bootstrap.

use std::collections::BTreeSet;
use std::io::{self, Write};

use super::label;
use super::options::TextOptions;
use super::quantity::{counted, duration};
use super::rank_list::{channels, ranges, sequence};
use super::rank_table;
use super::sentence;
use super::style::{Meaning, paint};
use railscope_core::report::Report;
use railscope_core::report::communicators::{
    BootstrapReport, ChannelReport, CommunicatorReport, TreeNodeReport,
};

/// Largest tree written out.
const TREE_RANKS_SHOWN: usize = 8;

/// Writes the communicators, oldest first.
pub(super) fn write(
    report: &Report,
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    for communicator in report.communicators.iter().take(options.top) {
        let title = format!("NCCL communicator {}", label::name(&communicator.id));
        writeln!(out, "\n{}", paint(Meaning::Heading, title))?;
        let parent = parent(report, communicator);
        let same_ranks = parent.and_then(|_| ranks_of_parent(communicator));
        for line in lines(communicator, parent, same_ranks.as_deref()) {
            writeln!(out, "{}", sentence::note(&line, options.width))?;
        }
        if same_ranks.is_none() {
            rank_table::write(communicator, options, out)?;
        }
    }
    options.write_more(report.communicators.len(), out)
}

fn parent<'a>(report: &'a Report, child: &CommunicatorReport) -> Option<&'a CommunicatorReport> {
    let id = child.parent.as_ref()?;
    report.communicators.iter().find(|one| one.id == *id)
}

/// The ranks' numbers in the parent, if every one is known there.
fn ranks_of_parent(child: &CommunicatorReport) -> Option<Vec<u32>> {
    child.ranks.iter().map(|rank| rank.parent_rank).collect()
}

fn lines(
    communicator: &CommunicatorReport,
    parent: Option<&CommunicatorReport>,
    same_ranks: Option<&[u32]>,
) -> Vec<String> {
    let mut lines = vec![summary(communicator)];
    if let Some(parent) = parent {
        let ranks = same_ranks
            .map(|ranks| format!(", where its ranks are {}", sequence(ranks)))
            .unwrap_or_default();
        lines.push(format!("split from {}{ranks}", label::name(&parent.id)));
    }
    if communicator.grade != "proven" {
        let from = if communicator.id_kind == "inferred" { " from traffic alone" } else { "" };
        let reason = communicator.evidence.first().map(|reason| format!(": {}", reason.text));
        lines.push(format!("{}{from}{}", communicator.grade, reason.unwrap_or_default()));
    }
    lines.extend(communicator.bootstrap.as_ref().map(bootstrap));
    lines.extend(rings(&communicator.channels));
    lines.extend(trees(&communicator.channels));
    lines
}

/// `4 ranks on 4 hosts, NCCL 2.27.5, data over NET/IB, root 192.168.50.1:35209`.
fn summary(communicator: &CommunicatorReport) -> String {
    let ranks = match communicator.nranks {
        Some(ranks) => counted(u64::from(ranks), "rank"),
        None => "number of ranks unknown".to_owned(),
    };
    let hosts: BTreeSet<&str> =
        communicator.ranks.iter().filter_map(|rank| rank.place.as_deref()).collect();
    let mut parts = vec![match hosts.len() {
        0 => ranks,
        hosts => format!("{ranks} on {}", counted(hosts as u64, "host")),
    }];
    parts.push(match &communicator.nccl_version {
        Some(version) => format!("NCCL {version}"),
        None => "NCCL release unknown".to_owned(),
    });
    parts.push(
        match communicator.transport {
            "ib" => "data over RDMA (NET/IB)",
            "socket" => "data over TCP (NET/Socket)",
            "mixed" => "data over RDMA and TCP",
            _ => "transport unknown",
        }
        .to_owned(),
    );
    parts.extend(communicator.root.as_ref().map(|root| format!("root {root}")));
    parts.join(", ")
}

fn bootstrap(bootstrap: &BootstrapReport) -> String {
    let took = bootstrap.duration_ns.map(|ns| format!(" took {}", duration(ns)));
    let last = bootstrap.last_rank.map(|rank| format!(", rank {rank} joined last"));
    let missing = if bootstrap.complete {
        String::new()
    } else {
        let word = if bootstrap.missing_ranks.len() == 1 { "rank" } else { "ranks" };
        format!(" incomplete: nothing captured of {word} {}", ranges(&bootstrap.missing_ranks))
    };
    format!("bootstrap{}{}{missing}", took.unwrap_or_default(), last.unwrap_or_default())
}

/// `ring 0 1 2 3 on channels 0-1`, one line per order.
fn rings(all: &[ChannelReport]) -> Vec<String> {
    let rings = grouped(all, |channel| Some(&channel.ring).filter(|ring| !ring.is_empty()));
    rings.into_iter().map(|(ring, on)| format!("ring {}{on}", sequence(ring))).collect()
}

/// `tree 0 → 2, 2 → 1 3 on channel 0` (parent → children), one line per shape.
fn trees(all: &[ChannelReport]) -> Vec<String> {
    let trees = grouped(all, |channel| channel.tree.as_ref());
    trees.into_iter().map(|(tree, on)| format!("tree {}{on}", shape(tree))).collect()
}

/// Parents and children from the root down; only the root of a large tree.
fn shape(tree: &[TreeNodeReport]) -> String {
    let roots: Vec<u32> =
        tree.iter().filter(|node| node.up.is_none()).map(|node| node.rank).collect();
    if tree.len() > TREE_RANKS_SHOWN {
        return format!("of {}, root {}", counted(tree.len() as u64, "rank"), sequence(&roots));
    }
    let mut edges = Vec::new();
    let mut below = roots;
    // A captured tree may contain a loop: visit each rank once.
    let mut visited = BTreeSet::new();
    while let Some(rank) = below.pop() {
        let node = tree.iter().find(|node| node.rank == rank);
        if let Some(node) = node.filter(|node| !node.down.is_empty() && visited.insert(node.rank)) {
            edges.push(format!("{rank} → {}", sequence(&node.down)));
            below.extend(node.down.iter().rev());
        }
    }
    edges.join(", ")
}

/// Equal shapes with the channels that have them, ` on channels 0-1`, in order of channel.
fn grouped<'a, T: PartialEq + ?Sized>(
    all: &'a [ChannelReport],
    of: impl Fn(&'a ChannelReport) -> Option<&'a T>,
) -> Vec<(&'a T, String)> {
    let mut groups: Vec<(&T, Vec<u32>)> = Vec::new();
    for channel in all {
        let Some(shape) = of(channel) else { continue };
        match groups.iter_mut().find(|(known, _)| *known == shape) {
            Some((_, numbers)) => numbers.extend(channel.channel),
            None => groups.push((shape, channel.channel.into_iter().collect())),
        }
    }
    let on = |numbers: &[u32]| match numbers {
        [] => ", channels unknown".to_owned(),
        _ => format!(" on {}", channels(numbers)),
    };
    groups.into_iter().map(|(shape, numbers)| (shape, on(&numbers))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(rank: u32, up: Option<u32>, down: &[u32]) -> TreeNodeReport {
        TreeNodeReport { rank, up, down: down.to_vec() }
    }

    #[test]
    fn trees_from_the_root_down() {
        let tree = [node(0, None, &[2]), node(1, Some(2), &[]), node(2, Some(0), &[1, 3])];
        assert_eq!(shape(&tree), "0 → 2, 2 → 1 3");
        let large: Vec<_> = (0..64).map(|rank| node(rank, rank.checked_sub(1), &[])).collect();
        assert_eq!(shape(&large), "of 64 ranks, root 0");
    }

    #[test]
    fn a_loop_ends() {
        assert_eq!(shape(&[node(0, None, &[1]), node(1, Some(0), &[0])]), "0 → 1, 1 → 0");
    }
}
