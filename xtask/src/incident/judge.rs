//! A report against what went wrong.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::kind::Expected;

/// The part of a report that is judged.
#[derive(Debug, Deserialize)]
pub(super) struct Said {
    #[serde(default)]
    pub(super) verdicts: Vec<Verdict>,
    pub(super) queue_pairs: Vec<QueuePair>,
    #[serde(default)]
    pub(super) findings: Vec<Finding>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Finding {
    id: String,
    cause: Option<String>,
    severity: String,
    subject: Subject,
}

#[derive(Debug, Deserialize)]
pub(super) struct QueuePair {
    pub(super) dst: String,
    pub(super) frames: u64,
    pub(super) retransmitted_packets: u64,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Verdict {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) severity: String,
    #[serde(default)]
    pub(crate) alternatives: Vec<String>,
    pub(crate) subject: Subject,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Subject {
    pub(crate) rank: Option<u32>,
    pub(crate) port: Option<String>,
    pub(crate) peer_port: Option<String>,
    pub(crate) direction: Option<String>,
}

/// How right the first verdict is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) is_class_right: bool,
    pub(super) is_place_right: bool,
    pub(super) is_direction_right: bool,
    /// A verdict above `info` on a healthy job.
    pub(super) is_alarm: bool,
}

impl Mark {
    pub(super) const fn is_right(self) -> bool {
        self.is_class_right && self.is_place_right && self.is_direction_right && !self.is_alarm
    }
}

impl Said {
    /// The first verdict that says that something is wrong.
    pub(super) fn first_problem(&self) -> Option<&Verdict> {
        self.verdicts.iter().find(|verdict| verdict.severity != "info")
    }
}

/// Classes that a timeline of flows does not tell apart.
const OF_RANKS: &[&str] = &["late_rank", "slow_receiver"];

/// The expectation that a timeline of flows can meet: a class of ranks, or one of the network.
pub(super) fn coarse(expected: &Expected) -> Expected {
    let is_of_ranks = expected.classes.iter().any(|class| OF_RANKS.contains(class));
    let mut coarse = expected.clone();
    if !coarse.classes.is_empty() {
        coarse.classes = vec![if is_of_ranks { "late_rank" } else { "congestion" }];
    }
    coarse
}

/// The address of a host on rail 0.
pub(crate) fn address(host: u32) -> String {
    format!("10.0.0.{}", host + 1)
}

/// The directions between neighbours in the ring whose packets pass a place: two descriptions of one
/// place, as of a port and of its only path, are the same set.
pub(crate) fn passing(
    ring: u32,
    port: &str,
    peer: Option<&str>,
    direction: &str,
) -> BTreeSet<(String, String)> {
    let neighbours = (0..ring).flat_map(|host| {
        let next = (host + 1) % ring;
        [(address(host), address(next)), (address(next), address(host))]
    });
    let is_on_way = |source: &str, destination: &str| {
        let towards = destination == port && peer.is_none_or(|peer| source == peer);
        let from = source == port && peer.is_none_or(|peer| destination == peer);
        match direction {
            "towards" => towards,
            "from" => from,
            _ => towards || from,
        }
    };
    neighbours.filter(|(source, destination)| is_on_way(source, destination)).collect()
}

/// Compares a report with what went wrong.
pub(super) fn judge_report(said: &Said, expected: &Expected) -> Mark {
    let mut mark = judge(said.first_problem(), expected);
    let says = |id| said.verdicts.iter().any(|verdict| verdict.id == id);
    mark.is_class_right &= expected.info.is_none_or(says);
    if expected.classes == ["socket_fallback"] {
        // Of data over sockets, the findings say whether one path is slower than the others.
        let slow = said.findings.iter().filter(|finding| {
            let is_slow = finding.id == "straggler" && finding.cause.as_deref() == Some("socket");
            is_slow && finding.severity != "info"
        });
        let slow: Vec<_> = slow.map(|one| (one.subject.rank, one.subject.port.clone())).collect();
        let expected = expected.slow_socket.map(|rank| (Some(rank), Some(address(rank))));
        let ranks =
            |all: &[(Option<u32>, _)]| all.iter().map(|(rank, _)| *rank).collect::<Vec<_>>();
        let expected: Vec<_> = expected.into_iter().collect();
        mark.is_place_right &= ranks(&slow) == ranks(&expected);
        mark.is_direction_right &= slow == expected;
    }
    mark
}

/// Compares the first verdict above `info` with what went wrong.
pub(super) fn judge(first: Option<&Verdict>, expected: &Expected) -> Mark {
    if expected.classes.is_empty() {
        let is_alarm = first.is_some();
        return Mark {
            is_class_right: !is_alarm,
            is_place_right: !is_alarm,
            is_direction_right: !is_alarm,
            is_alarm,
        };
    }
    let Some(first) = first else { return Mark::default() };
    let names =
        |class: &&str| first.id == **class || first.alternatives.iter().any(|one| one == *class);
    let is_class_right = first.alternatives.len() <= 1 && expected.classes.iter().any(names);
    let Subject { rank, port, peer_port, direction } = &first.subject;
    let (is_place_right, is_direction_right) = match (expected.host, expected.direction) {
        (Some(_), Some(wanted)) => {
            let passed = |port: &str, peer: Option<&str>, direction: &str| {
                passing(expected.ring, port, peer, direction)
            };
            let host = expected.host.map(address).unwrap_or_default();
            let peer = expected.peer.map(address);
            let truth = passed(&host, peer.as_deref(), wanted);
            let port = port.as_deref().unwrap_or_default();
            let said = passed(port, peer_port.as_deref(), direction.as_deref().unwrap_or("both"));
            let same_place = [Some(port), peer_port.as_deref()].contains(&Some(host.as_str()));
            (same_place || said == truth, said == truth)
        }
        (Some(host), None) => (port.as_ref() == Some(&address(host)), true),
        (None, _) => (expected.rank.is_none() || *rank == expected.rank, true),
    };
    Mark { is_class_right, is_place_right, is_direction_right, is_alarm: false }
}
