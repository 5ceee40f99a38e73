//! How findings name flows, ports and groups of them.

use std::collections::BTreeSet;

use super::group::{End, Group};
use super::joined_flow::{FlowOwner, JoinedFlow};
use crate::model::quantity::{count, counted};

/// `10.0.0.1 → 10.0.0.2 QP 0x1ae (ranks 1 → 2)`.
#[must_use]
pub fn flow(flow: &JoinedFlow) -> String {
    let line = format!("{} → {} QP {:#x}", flow.source, flow.destination, flow.dest_qpn.value());
    match flow.owner {
        Some(FlowOwner { sender: Some(sender), receiver: Some(receiver), .. }) => {
            format!("{line} (ranks {sender} → {receiver})")
        }
        _ => line,
    }
}

/// `3 flows towards 10.0.0.3 (rank 2)`, `1 flow 10.0.0.1 → 10.0.0.2 QP 0x1ae`.
#[must_use]
pub fn group(group: &Group<'_>) -> String {
    let flows = counted(group.flows.len() as u64, "flow");
    if let [(only, _)] = group.flows.as_slice() {
        return format!("{flows}, {}", flow(only));
    }
    let rank = group.subject().rank.map_or_else(String::new, |rank| format!(" (rank {rank})"));
    match group.port {
        None => {
            let ports = group.flows.iter().flat_map(|(flow, _)| [flow.source, flow.destination]);
            let ports: BTreeSet<_> = ports.collect();
            format!("{flows} between {} ports", count(ports.len() as u64))
        }
        Some((port, Some(End::Receives))) => format!("{flows} towards {port}{rank}"),
        Some((port, Some(End::Sends))) => format!("{flows} from {port}{rank}"),
        Some((port, None)) => format!("{flows} at {port}{rank}"),
    }
}

/// `rank 3`, `ranks 1, 2 and 3`, `ranks 0, 1, 2, 3 and 60 more`.
#[must_use]
pub fn ranks(ranks: &[u32]) -> String {
    const SHOWN: usize = 8;
    let shown: Vec<String> = ranks.iter().take(SHOWN).map(u32::to_string).collect();
    let more = ranks.len().saturating_sub(SHOWN);
    match (shown.as_slice(), more) {
        ([rank], 0) => format!("rank {rank}"),
        ([start @ .., last], 0) => format!("ranks {} and {last}", start.join(", ")),
        (all, more) => format!("ranks {} and {} more", all.join(", "), count(more as u64)),
    }
}
