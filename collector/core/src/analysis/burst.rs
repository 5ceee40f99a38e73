//! Bursts of ports and directions with a known line rate, the burstiest first.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::state::State;
use crate::flow::burst::{BurstStats, WIDTHS_NS};
use crate::flow::port::MeteredPort;
use crate::model::address::HostAddress;
use crate::model::direction::Direction;
use crate::model::tap::TapId;

/// Bursts seen with one bucket width.
#[derive(Clone, Debug)]
pub struct BurstsOfWidth {
    /// Bucket width.
    pub bucket_ns: u64,
    /// Ports and directions at each tap, the burstiest first.
    pub ports: Vec<PortBursts>,
}

/// Bursts of one port and direction at one tap.
#[derive(Clone, Copy, Debug)]
pub struct PortBursts {
    /// The tap.
    pub tap: TapId,
    /// The port.
    pub address: HostAddress,
    /// What it sends or receives.
    pub direction: Direction,
    /// The bursts.
    pub stats: BurstStats,
    /// All CE-marked packets.
    pub ce_packets: u64,
    /// Of the taps that saw this port and direction, this one saw most bursts.
    pub is_busiest: bool,
}

/// The bursts by bucket width, the narrow one first; `None` if no line rate is known.
#[must_use]
pub fn measure(state: &State) -> Option<Vec<BurstsOfWidth>> {
    let ports = state.tracker.ports().ports();
    let metered: Vec<&MeteredPort> =
        ports.iter().filter(|port| port.sent.has_line_rate()).collect();
    let of_width = |(width, bucket_ns): (usize, u64)| BurstsOfWidth {
        bucket_ns,
        ports: of_width(&metered, width, bucket_ns),
    };
    (!metered.is_empty()).then(|| WIDTHS_NS.into_iter().enumerate().map(of_width).collect())
}

fn of_width(metered: &[&MeteredPort], width: usize, bucket_ns: u64) -> Vec<PortBursts> {
    let directions = metered.iter().flat_map(|port| {
        let both = [(Direction::Sent, &port.sent), (Direction::Received, &port.received)];
        both.map(|(direction, meter)| {
            let stats = meter.finish().get(width).copied().filter(|stats| stats.peak_bytes > 0)?;
            Some(PortBursts {
                tap: port.tap,
                address: port.address,
                direction,
                stats,
                ce_packets: meter.ce_packets(),
                is_busiest: false,
            })
        })
    });
    let mut ports: Vec<PortBursts> = directions.flatten().collect();
    let is_sent = |one: &PortBursts| one.direction == Direction::Sent;
    ports.sort_by_key(|one| {
        let BurstStats { buckets_above, bursts, .. } = one.stats;
        let weight = (buckets_above, bursts, one.stats.peak_bps(bucket_ns));
        (Reverse(weight), one.address, Reverse(is_sent(one)), one.tap)
    });
    let mut seen = BTreeSet::new();
    for one in &mut ports {
        one.is_busiest = seen.insert((one.address, is_sent(one)));
    }
    ports
}
