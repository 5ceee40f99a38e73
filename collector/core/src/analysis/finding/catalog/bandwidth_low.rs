//! A benchmark reaches much less than the line rate.

use std::collections::BTreeSet;

use crate::analysis::finding::claim::node::NodeClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::observation::LogObservation;
use crate::analysis::finding::{Finding, Proof};
use crate::analysis::severity::Severity;
use crate::link::tool::Found;
use crate::link::tool::node::Node;
use crate::model::benchmark::Benchmark;
use crate::model::counter::PortState;
use crate::model::node::LinkLayer;

/// Low bandwidth.
pub const KIND: Kind = Kind {
    id: "bandwidth_low",
    about: "The bus bandwidth of a collective stays far below what a node's ports could carry. Bus bandwidth is \
            comparable with the line rate: a ring over several nodes cannot exceed it, and comes close to it with \
            large sizes.",
    threshold: "AllReduce, AllGather or ReduceScatter over several hosts that the table lists, with at least a rank a \
                port; sizes of 64 MiB or more; the rates of all active ports of a node are known (ibstat) and of \
                one link layer; the peak is below 60 % of their sum.",
    remedy: "Which of these: sockets instead of RDMA (NCCL_DEBUG=INFO: NET/Socket), fewer NICs than rails, GPUs far \
             from NICs (`nvidia-smi topo -m`), no GPUDirect, PFC or ECN (`ethtool -S`), MTU 1500. `railscope analyze` \
             takes the log and these outputs together with the table.",
    needs: &[Need::Benchmarks],
    detect,
};

/// Bytes from which a ring is limited by bandwidth, not by latency (nccl-tests, PERFORMANCE.md).
const LARGE: u64 = 64 << 20;
/// Per cent of the line rate below which something is wrong: healthy fabrics reach 85 to 97.
const LEAST_PER_CENT: u64 = 60;

/// Collectives whose bus bandwidth all NICs of a node bound; of others, the NIC of one GPU does
/// (nccl-tests, `PERFORMANCE.md`).
const BOUND_BY_NODE: &[&str] = &["all_reduce", "all_gather", "reduce_scatter"];

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let Some((ports, line_rate_bps)) = node_rate(facts) else { return Vec::new() };
    let low = |table: &Benchmark| {
        let peak = table.peak().filter(|row| row.bytes >= LARGE)?;
        let bus_bandwidth = peak.best()?.bus_bandwidth;
        let share = u128::from(bus_bandwidth) * 800 / u128::from(line_rate_bps.max(1));
        let operation =
            table.operation.clone().filter(|one| BOUND_BY_NODE.contains(&one.as_str()))?;
        // One GPU uses one NIC: with fewer ranks than ports, the node's rate is out of reach.
        let (nranks, hosts) = (table.nranks?, table.hosts.filter(|hosts| *hosts > 1)?);
        let uses_all = u64::from(nranks) >= u64::from(hosts) * ports;
        (uses_all && share < u128::from(LEAST_PER_CENT)).then_some(NodeClaim::BandwidthLow {
            operation,
            nranks: Some(nranks),
            bytes: peak.bytes,
            bus_bandwidth,
            line_rate_bps,
        })
    };
    let finding = |(found, table): (&Found, &Benchmark)| {
        let finding = KIND.finding(Severity::Warning, low(table)?);
        let quote = LogObservation::Quote(found.quote.clone());
        Some(finding.because(Proof::log(quote, found.witness)))
    };
    facts.state.benchmarks().filter_map(finding).collect()
}

/// Number and rate in bits per second of the RDMA ports of the slowest node that is described; `None`
/// where they are not all of one fabric.
fn node_rate(facts: &Facts<'_>) -> Option<(u64, u64)> {
    let of_node = |node: &Node| {
        let up = || node.ports.iter().filter(|said| said.value.state == Some(PortState::Active));
        let layers: BTreeSet<Option<LinkLayer>> =
            up().map(|said| node.link_layer(&said.value)).collect();
        let rates: Option<Vec<u64>> = up().map(|said| said.value.rate_bps).collect();
        let rates = rates.filter(|rates| !rates.is_empty() && layers.len() == 1)?;
        Some((rates.len() as u64, rates.iter().sum::<u64>()))
    };
    facts.state.nodes.iter().filter_map(of_node).min_by_key(|(_, rate)| *rate)
}
