//! Congestion signals by receiving port.

use schemars::JsonSchema;
use serde::Serialize;

use super::sources::Sources;
use crate::analysis::congestion::PortSignals;

/// Signals about the queue pairs that send to a port.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CongestionReport {
    /// Address of the port.
    pub address: String,
    /// CE-marked packets to it; `null` if no tap could see marks.
    pub ce_packets: Option<u64>,
    /// Packets that were checked for `ce_packets`, on queue pairs with marks.
    pub ce_among_packets: u64,
    /// Queue pairs with CE-marked packets.
    pub marked_queue_pairs: u64,
    /// CNPs to its senders.
    pub cnps: u64,
}

/// The ports with any signal, that with most CE marks first.
pub(super) fn section(sources: &Sources<'_>) -> Vec<CongestionReport> {
    let report = |one: &PortSignals| CongestionReport {
        address: one.address.to_string(),
        ce_packets: one.ce_packets,
        ce_among_packets: one.among_packets,
        marked_queue_pairs: one.marked_queue_pairs,
        cnps: one.cnps,
    };
    sources.understanding.congestion.iter().map(report).collect()
}
