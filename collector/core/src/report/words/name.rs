//! Names of flows, ranks, communicators and NICs.

use crate::analysis::finding::group::End;
use crate::analysis::finding::naming::{Common, FlowName, GroupName};
use crate::link::counter::NicName;
use crate::link::job::Identity;

use super::number::{count, counted};

/// `10.0.0.1 → 10.0.0.2 QP 0x1ae (ranks 1 → 2)`.
#[must_use]
pub fn flow(flow: &FlowName) -> String {
    let FlowName { source, destination, dest_qpn, ranks } = flow;
    format!("{source} → {destination} QP {:#x}{}", dest_qpn.value(), rank_pair(*ranks))
}

/// ` (ranks 1 → 2)`; empty if unknown.
#[must_use]
pub fn rank_pair(ranks: Option<(u32, u32)>) -> String {
    ranks.map_or_else(String::new, |(from, to)| format!(" (ranks {from} → {to})"))
}

/// `3 flows to 10.0.0.3 (rank 2)`, `10.0.0.1 → 10.0.0.2 QP 0x1ae`.
#[must_use]
pub fn group(group: &GroupName) -> String {
    let flows = counted(group.flows, "flow");
    match &group.common {
        Common::Flow(only) => flow(only),
        Common::Nothing { ports } => format!("{flows} between {} ports", count(*ports)),
        Common::Port { address, end, rank } => {
            let direction = match end {
                Some(End::Receives) => "to",
                Some(End::Sends) => "from",
                None => "at",
            };
            let rank = rank.map_or_else(String::new, |rank| format!(" (rank {rank})"));
            format!("{flows} {direction} {address}{rank}")
        }
    }
}

/// `rank 3`, `ranks 1, 2 and 3`, `ranks 0, 1, 2, 3 and 60 more`.
#[must_use]
pub fn ranks(ranks: &[u32]) -> String {
    some_ranks(ranks, ranks.len() as u64)
}

/// The same for so many ranks, of which the first are given.
#[must_use]
pub fn some_ranks(first: &[u32], count_of_all: u64) -> String {
    const SHOWN: usize = 8;
    let shown: Vec<String> = first.iter().take(SHOWN).map(u32::to_string).collect();
    let more = count_of_all.saturating_sub(shown.len() as u64);
    match (shown.as_slice(), more) {
        ([], _) => "no rank".to_owned(),
        ([rank], 0) => format!("rank {rank}"),
        ([start @ .., last], 0) => format!("ranks {} and {last}", start.join(", ")),
        (all, more) => format!("ranks {} and {} more", all.join(", "), count(more)),
    }
}

/// A communicator: its hash, or its number if the hash is unknown.
#[must_use]
pub fn communicator(identity: Identity) -> String {
    identity.to_string()
}

/// The same; `a communicator` if it is unknown.
#[must_use]
pub fn known_communicator(identity: Option<Identity>) -> String {
    identity.map_or_else(|| "a communicator".to_owned(), communicator)
}

/// `mlx5_0 of node-1`.
#[must_use]
pub fn nic(nic: &NicName) -> String {
    match (&nic.host, &nic.device) {
        (Some(host), Some(device)) => format!("{device} of {host}"),
        (Some(host), None) => format!("the NIC of {host}"),
        (None, device) => device.clone().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::qpn::Qpn;

    #[test]
    fn groups_are_named_by_their_common_end() {
        let name = FlowName {
            source: "10.0.0.1".parse().unwrap(),
            destination: "10.0.0.2".parse().unwrap(),
            dest_qpn: Qpn::new(0x1ae),
            ranks: Some((1, 2)),
        };
        let of = |flows, common| group(&GroupName { flows, common });
        let line = "10.0.0.1 → 10.0.0.2 QP 0x1ae (ranks 1 → 2)";
        assert_eq!(of(1, Common::Flow(name)), line);
        assert_eq!(of(1_200, Common::Nothing { ports: 40 }), "1,200 flows between 40 ports");
        let (address, end) = (name.destination, Some(End::Receives));
        let port = Common::Port { address, end, rank: Some(2) };
        assert_eq!(of(3, port), "3 flows to 10.0.0.2 (rank 2)");
        let port = Common::Port { address, end: None, rank: None };
        assert_eq!(of(3, port), "3 flows at 10.0.0.2");
    }

    #[test]
    fn many_ranks_are_counted() {
        let names: Vec<u32> = (0..64).collect();
        assert_eq!(ranks(&names[3..4]), "rank 3");
        assert_eq!(ranks(&names[1..4]), "ranks 1, 2 and 3");
        assert_eq!(ranks(&names), "ranks 0, 1, 2, 3, 4, 5, 6, 7 and 56 more");
    }
}
