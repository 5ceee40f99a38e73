//! Flows, ports and groups of them as findings name them.

use std::collections::BTreeSet;
use std::net::IpAddr;

use super::group::{End, Group};
use crate::analysis::queue_pair::{FlowOwner, QueuePair};
use crate::model::qpn::Qpn;

/// Identifies a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowName {
    /// The port that sends it.
    pub source: IpAddr,
    /// The port that receives it.
    pub destination: IpAddr,
    /// The receiving queue pair.
    pub dest_qpn: Qpn,
    /// The ranks that send and receive it, if both are known.
    pub ranks: Option<(u32, u32)>,
}

/// Flows that a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupName {
    /// Their number.
    pub flows: u64,
    /// What they have in common.
    pub common: Common,
}

/// What the flows of a group have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Common {
    /// The group is one flow.
    Flow(FlowName),
    /// One end: all flows start or end at it.
    Port {
        /// IP address of the port.
        address: IpAddr,
        /// Whether it sends or receives them; `None` for both.
        end: Option<End>,
        /// Its rank, if only one rank uses it.
        rank: Option<u32>,
    },
    /// No common port.
    Nothing {
        /// Number of ports.
        ports: u64,
    },
}

/// The only one of a kind, or their number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Among<T> {
    /// The name of the only one.
    Only(T),
    /// Their number.
    Several(u64),
}

impl<T> Among<T> {
    /// `name` of the only one of `all`, or how many there are.
    pub fn all<Item>(all: &[Item], name: impl FnOnce(&Item) -> T) -> Self {
        match all {
            [only] => Self::Only(name(only)),
            several => Self::Several(several.len() as u64),
        }
    }
}

/// Names a flow by its ends, its queue pair and, if known, its ranks.
#[must_use]
pub fn flow(flow: &QueuePair) -> FlowName {
    let ranks = match flow.owner {
        Some(FlowOwner { sender: Some(sender), receiver: Some(receiver), .. }) => {
            Some((sender, receiver))
        }
        _ => None,
    };
    let QueuePair { source, destination, dest_qpn, .. } = *flow;
    FlowName { source, destination, dest_qpn, ranks }
}

/// Names a group by its only flow, its common port, or the number of its ports.
#[must_use]
pub fn group(group: &Group<'_>) -> GroupName {
    let common = match (group.flows.as_slice(), group.port) {
        ([(only, _)], _) => Common::Flow(flow(only)),
        (_, Some((address, end))) => Common::Port { address, end, rank: group.subject().rank },
        (flows, None) => {
            let ports = flows.iter().flat_map(|(flow, _)| [flow.source, flow.destination]);
            Common::Nothing { ports: ports.collect::<BTreeSet<_>>().len() as u64 }
        }
    };
    GroupName { flows: group.flows.len() as u64, common }
}

/// Each name once, in order of first occurrence.
#[must_use]
pub fn distinct(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut known = BTreeSet::new();
    names.filter(|name| known.insert(name.clone())).collect()
}
