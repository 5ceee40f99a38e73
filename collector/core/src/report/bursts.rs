//! Bursts per port and direction.

use schemars::JsonSchema;
use serde::Serialize;

use super::sources::Sources;
use crate::flow::burst::{BurstMeter, BurstStats, THRESHOLD_OF_LINE_RATE, WIDTHS_NS};
use crate::flow::port::MeteredPort;

/// Bursts seen with one bucket width.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BurstReport {
    /// Bucket width.
    pub bucket_ns: u64,
    /// Share of the line rate above which a bucket belongs to a burst.
    pub threshold_of_line_rate: f64,
    /// Ports and directions of known line rate.
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
    let mut ports: Vec<&MeteredPort> = sources.state.tracker.ports().ports().iter().collect();
    ports.retain(|port| port.sent.has_line_rate());
    ports.sort_by_key(|port| (port.tap, port.address));
    if ports.is_empty() {
        return None;
    }
    let reports = WIDTHS_NS.iter().enumerate().map(|(width, bucket_ns)| BurstReport {
        bucket_ns: *bucket_ns,
        threshold_of_line_rate: THRESHOLD_OF_LINE_RATE,
        ports: ports
            .iter()
            .flat_map(|port| {
                [(&port.sent, BurstDirection::Tx), (&port.received, BurstDirection::Rx)]
                    .map(|(meter, direction)| burst_port(sources, port, meter, direction, width))
            })
            .flatten()
            .collect(),
    });
    Some(reports.collect())
}

/// `None` for a direction without traffic.
fn burst_port(
    sources: &Sources<'_>,
    port: &MeteredPort,
    meter: &BurstMeter,
    direction: BurstDirection,
    width: usize,
) -> Option<BurstPort> {
    let stats: BurstStats = meter.finish()[width];
    let bucket_ns = WIDTHS_NS[width];
    (stats.peak_bytes > 0).then(|| BurstPort {
        tap: port.tap.0,
        address: port.address.to_string(),
        direction,
        peak_bps: stats.peak_bps(bucket_ns),
        peak_at_ns: sources.aligned_ns(port.tap, stats.peak_at),
        bursts: stats.bursts,
        longest_ns: stats.longest_buckets * bucket_ns,
        time_above_ns: stats.buckets_above * bucket_ns,
        max_incast_flows: stats.max_flows,
        ce_in_bursts: stats.ce_in_bursts,
        ce_total: meter.ce_packets(),
    })
}
