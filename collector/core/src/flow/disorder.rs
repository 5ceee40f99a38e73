//! Packets that are not in order on a flow: missing, late and retransmitted PSNs. PSNs are
//! unwrapped here: 0 is the first one seen.

use serde::{Deserialize, Serialize};

use super::jump::Jump;
use super::sighting::Sighting;
use crate::model::time::Timestamp;

/// Ranges of missing PSNs kept per flow; the oldest is given up first (`unresolved`).
const HOLE_CAPACITY: usize = 256;

/// A range of missing PSNs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Hole {
    /// First missing PSN, unwrapped.
    start: i64,
    /// One past the last missing PSN, unwrapped.
    end: i64,
    opened: Timestamp,
    /// The sender has gone back since: a remaining hole is not only the capture's fault.
    jumped_since: bool,
}

/// Classification of request packets, in sums (REPORT `flows[].psn`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SequenceCounts {
    /// PSNs skipped when first seen; a READ whose request was missing counts once it is
    /// retransmitted.
    pub gap_packets: u64,
    /// First sightings after a later PSN, although sent before it.
    pub out_of_order_packets: u64,
    /// Packets that were sent before.
    pub retransmitted_packets: u64,
    /// Packets behind `high` without evidence of why.
    pub ambiguous_packets: u64,
    /// Never seen, but acknowledged without a retransmission: the capture lost them.
    pub uncaptured_packets: u64,
    /// Never seen, and the capture does not show what happened to them.
    pub unresolved_packets: u64,
    /// Those of the unresolved that the latest packets still may explain.
    pub open_packets: u64,
    /// Holes given up because there were too many.
    pub holes_evicted: u64,
}

/// Disorder of one flow.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Disorder {
    pub(super) counts: SequenceCounts,
    holes: Vec<Hole>,
    /// A hole was filled, and the next packet decides whether it stands alone.
    pub(super) undecided_fill: Option<Fill>,
    first_late: Option<Sighting>,
}

/// A packet that filled a hole: a jump of the sender, or late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Fill {
    pub(super) jump: Jump,
    pub(super) frame: u64,
}

impl Disorder {
    /// PSNs from `start` up to `end` are missing.
    pub(super) fn open(&mut self, start: i64, end: i64, opened: Timestamp) {
        let hole = Hole { start, end, opened, jumped_since: false };
        self.counts.gap_packets += hole.packets();
        self.holes.push(hole);
        self.evict();
    }

    /// Whether a packet between these two has not been seen yet.
    pub(super) fn misses_any(&self, start: i64, end: i64) -> bool {
        self.holes.iter().any(|hole| hole.start < end && hole.end > start)
    }

    /// A packet came out of order.
    pub(super) fn late(&mut self, packet: Sighting) {
        self.counts.out_of_order_packets += 1;
        self.first_late.get_or_insert(packet);
    }

    /// The first packet that came out of order, with what is still open decided as it stands.
    pub(super) fn first_late(&self) -> Option<Sighting> {
        self.first_late.or_else(|| Some(self.undecided_fill?.sighting()))
    }

    /// The totals, with pending packets classified as if the capture ended now.
    pub(super) fn counts_so_far(&self) -> SequenceCounts {
        let mut counts = self.counts;
        counts.out_of_order_packets += u64::from(self.undecided_fill.is_some());
        counts.open_packets = self.holes.iter().map(Hole::packets).sum();
        counts.unresolved_packets += counts.open_packets;
        counts
    }

    fn evict(&mut self) {
        if self.holes.len() > HOLE_CAPACITY {
            let oldest = self.holes.remove(0);
            self.counts.unresolved_packets += oldest.packets();
            self.counts.holes_evicted += 1;
        }
    }

    /// Removes `psn`, and what a READ consumes with it, from its hole; returns when that hole was
    /// opened.
    pub(super) fn fill(&mut self, psn: i64, span: u32) -> Option<Timestamp> {
        let at = self.holes.partition_point(|hole| hole.end <= psn);
        let hole = self.holes.get_mut(at).filter(|hole| hole.start <= psn)?;
        let whole = *hole;
        let end = whole.end.min(psn + i64::from(span.max(1)));
        // The PSNs that a READ consumes for its response count as one missing packet.
        self.counts.gap_packets -= (end - psn - 1) as u64;
        match (whole.start == psn, whole.end == end) {
            (true, true) => drop(self.holes.remove(at)),
            (true, false) => hole.start = end,
            (false, true) => hole.end = psn,
            (false, false) => {
                hole.end = psn;
                self.holes.insert(at + 1, Hole { start: end, ..whole });
                self.evict();
            }
        }
        Some(whole.opened)
    }

    /// Removes the other PSNs of a READ from the hole that starts with them.
    pub(super) fn fill_rest_of_read(&mut self, psn: i64, span: u32) {
        if self.holes.iter().any(|hole| hole.start == psn) && self.fill(psn, span).is_some() {
            // The packet itself has been removed already.
            self.counts.gap_packets -= 1;
        }
    }

    /// Closes holes up to `acknowledged`.
    pub(super) fn acknowledge(&mut self, acknowledged: i64) {
        let counts = &mut self.counts;
        self.holes.retain_mut(|hole| {
            if hole.start > acknowledged {
                return true;
            }
            let passed = hole.end.min(acknowledged + 1) - hole.start;
            let explained = if hole.jumped_since {
                &mut counts.unresolved_packets
            } else {
                &mut counts.uncaptured_packets
            };
            *explained += passed as u64;
            hole.start += passed;
            hole.start < hole.end
        });
    }

    /// The sender has gone back: from here on, a remaining hole is not only the capture's fault.
    pub(super) fn mark_jumped(&mut self) {
        for hole in &mut self.holes {
            hole.jumped_since = true;
        }
    }
}

impl Fill {
    pub(super) const fn sighting(self) -> Sighting {
        Sighting { time: self.jump.time, frame: self.frame }
    }
}

impl Hole {
    const fn packets(&self) -> u64 {
        (self.end - self.start) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hole_does_not_split_without_end() {
        let mut disorder = Disorder::default();
        disorder.open(1, 8_000, Timestamp::EPOCH);
        for psn in (2..8_000).step_by(2) {
            assert!(disorder.fill(psn, 1).is_some() || disorder.counts.holes_evicted > 0);
        }
        assert!(disorder.holes.len() <= HOLE_CAPACITY);
        let counts = disorder.counts_so_far();
        assert_eq!((counts.gap_packets, counts.unresolved_packets), (7_999, 4_000));
        assert_eq!(counts.holes_evicted, 4_000 - HOLE_CAPACITY as u64);
    }
}
