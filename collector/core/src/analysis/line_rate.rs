//! The line rate that bounds a measured bus bandwidth.

use std::collections::BTreeSet;

use crate::link::tool::node::Node;
use crate::model::benchmark::Benchmark;
use crate::model::counter::PortState;
use crate::model::node::LinkLayer;

/// Collectives whose bus bandwidth all NICs of a node bound; of others, the NIC of one GPU does
/// (nccl-tests, `PERFORMANCE.md`).
const BOUND_BY_NODE: &[&str] = &["all_reduce", "all_gather", "reduce_scatter"];

/// The rate in bits per second of all ports of a node, where it bounds the bus bandwidth of this
/// table: over several hosts, with at least a rank a port. One GPU uses one NIC: with fewer ranks, the
/// node's rate is out of reach.
#[must_use]
pub fn bound(nodes: &[Node], table: &Benchmark) -> Option<u64> {
    let (ports, rate_bps) = nodes.iter().filter_map(of_node).min_by_key(|(_, rate)| *rate)?;
    let operation = table.operation.as_deref()?;
    let (ranks, hosts) = (u64::from(table.nranks?), u64::from(table.hosts?));
    let is_bound = BOUND_BY_NODE.contains(&operation) && hosts > 1;
    (is_bound && ranks >= hosts.saturating_mul(ports)).then_some(rate_bps)
}

/// Number and rate in bits per second of a node's active RDMA ports; `None` where they are not all of
/// one fabric, or a rate is not known.
fn of_node(node: &Node) -> Option<(u64, u64)> {
    let up = || node.ports.iter().filter(|said| said.value.state == Some(PortState::Active));
    let layers: BTreeSet<Option<LinkLayer>> =
        up().map(|said| node.link_layer(&said.value)).collect();
    let rates: Option<Vec<u64>> = up().map(|said| said.value.rate_bps).collect();
    let rates = rates.filter(|rates| !rates.is_empty() && layers.len() == 1)?;
    Some((rates.len() as u64, rates.iter().sum::<u64>()))
}
