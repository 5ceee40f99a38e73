//! Bursts per port and direction.

use schemars::JsonSchema;
use serde::Serialize;

use super::sources::Sources;
use crate::analysis::burst::{BurstsOfWidth, PortBursts};
use crate::flow::burst::THRESHOLD_OF_LINE_RATE;
use crate::model::direction::Direction;

/// Bursts seen with one bucket width.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BurstReport {
    /// Bucket width.
    pub bucket_ns: u64,
    /// Share of the line rate above which a bucket belongs to a burst.
    pub threshold_of_line_rate: f64,
    /// Ports and directions of known line rate, at each tap that saw them: those with most time in
    /// bursts first, then most bursts, then the highest peak.
    pub ports: Vec<BurstPort>,
}

/// Bursts of one port and direction.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BurstPort {
    /// The tap that saw them.
    pub tap: u32,
    /// IP address of the port.
    pub address: String,
    /// What the port sends or receives.
    pub direction: BurstDirection,
    /// Of the taps that saw this port and direction, this one saw most.
    pub is_busiest_tap: bool,
    /// Rate of the fullest bucket in bits per second, counting FCS, preamble and inter-packet gap.
    pub peak_bps: u64,
    /// When the fullest bucket began.
    pub peak_at_ns: i64,
    /// Runs of buckets above the threshold.
    pub bursts: u64,
    /// Length of the longest run.
    pub longest_ns: u64,
    /// Time in buckets above the threshold.
    pub time_above_ns: u64,
    /// Flows in the bucket with the most of them: the incast degree of a receiving port.
    pub max_incast_flows: u32,
    /// CE-marked packets in bursts.
    pub ce_in_bursts: u64,
    /// All CE-marked packets.
    pub ce_total: u64,
}

/// Direction, as the port sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BurstDirection {
    /// What it sends.
    Tx,
    /// What it receives.
    Rx,
}

pub(super) fn section(sources: &Sources<'_>) -> Option<Vec<BurstReport>> {
    let widths = sources.understanding.bursts.as_ref()?.iter();
    let report = |width: &BurstsOfWidth| BurstReport {
        bucket_ns: width.bucket_ns,
        threshold_of_line_rate: THRESHOLD_OF_LINE_RATE,
        ports: width.ports.iter().map(|one| port(sources, one, width.bucket_ns)).collect(),
    };
    Some(widths.map(report).collect())
}

fn port(sources: &Sources<'_>, one: &PortBursts, bucket_ns: u64) -> BurstPort {
    let stats = one.stats;
    BurstPort {
        tap: one.tap.0,
        address: one.address.to_string(),
        direction: match one.direction {
            Direction::Sent => BurstDirection::Tx,
            Direction::Received => BurstDirection::Rx,
        },
        is_busiest_tap: one.is_busiest,
        peak_bps: stats.peak_bps(bucket_ns),
        peak_at_ns: sources.aligned_ns(one.tap, stats.peak_at),
        bursts: stats.bursts,
        longest_ns: stats.longest_buckets * bucket_ns,
        time_above_ns: stats.buckets_above * bucket_ns,
        max_incast_flows: stats.max_flows,
        ce_in_bursts: stats.ce_in_bursts,
        ce_total: one.ce_packets,
    }
}
