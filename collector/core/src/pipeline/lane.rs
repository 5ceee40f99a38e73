//! What is kept per packet of taps, apart from that of all other taps: each lane can be filled on a thread
//! of its own.
//!
//! What joins taps while packets pass (TCP and sFlow) is not here: the pipeline has it, and is told by
//! [`Lane::handle_frame`] which frames it must see.

use serde::{Deserialize, Serialize};

use super::Pipeline;
use crate::decode::frame;
use crate::decode::packet::{Body, Packet};
use crate::flow::tracker::{FlowConfig, FlowTracker, MessageEvent};
use crate::link::clock::relate;
use crate::link::clock::sighting::{SIGHTING_CAPACITY, Sightings};
use crate::link::traffic::recorder::TrafficRecorder;
use crate::model::frame::Frame;
use crate::model::run::Run;
use crate::model::tap::{Tap, TapId};
use crate::model::time::{Span, Timestamp};

/// Most sightings of one of so many lanes: what a table of 2^14 slots takes, half of it from 64 lanes on, a quarter
/// from 128 on, and so on to 2^10 slots from 512 on. All of them together keep no more than [`SIGHTING_CAPACITY`],
/// but some taps have more packets than others.
fn lane_sightings(lanes: usize) -> usize {
    (SIGHTING_CAPACITY / 4) >> (lanes / 32).max(1).ilog2().min(4)
}

/// State per packet of some taps, which are numbered from 0 in each lane. One that was written and read
/// can be [joined](Pipeline::join), and takes no more frames.
#[derive(Clone, Serialize, Deserialize)]
pub struct Lane {
    pub(super) tracker: FlowTracker,
    /// `None` if nothing is to be linked.
    pub(super) records: Option<Records>,
    /// Whether there are other lanes, the clocks of which must be compared with this one's.
    #[serde(skip)]
    has_others: bool,
}

/// What the link layer wants of packets.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Records {
    pub(super) traffic: TrafficRecorder,
    pub(super) sightings: Sightings,
    /// Whether several clocks must be compared.
    #[serde(skip)]
    has_clocks: bool,
}

impl Lane {
    /// A lane, perhaps one of so many; `message_capacity` is `None` to track flows only.
    pub(super) fn new(
        config: FlowConfig,
        message_capacity: Option<usize>,
        of_lanes: Option<usize>,
    ) -> Self {
        let sightings = of_lanes.map_or(SIGHTING_CAPACITY, lane_sightings);
        let records = message_capacity.map(|capacity| Records {
            traffic: TrafficRecorder::new(capacity),
            sightings: Sightings::new(sightings),
            has_clocks: false,
        });
        Self { tracker: FlowTracker::new(config), records, has_others: of_lanes.is_some() }
    }

    /// Whether it can be one that was written: what it refers to by number is there.
    #[must_use]
    pub fn is_consistent(&self) -> bool {
        self.tracker.is_consistent()
    }

    /// Calls the capture of its taps otherwise.
    pub fn rename(&mut self, name: &str) {
        self.tracker.rename_taps(name);
    }

    /// Whether it is of the same capture: all of its taps saw as much at the same times. One without frames is like
    /// no other.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        let saw = |lane: &Self| -> Vec<(Option<Span>, u64, u64)> {
            let taps = lane.tracker.taps().iter();
            taps.map(|tap| (tap.span, tap.frames, tap.wire_bytes)).collect()
        };
        let own = saw(self);
        own.iter().any(|(span, ..)| span.is_some()) && own == saw(other)
    }

    /// Adds the next tap; taps are numbered from 0.
    pub fn add_tap(&mut self, tap: Tap) {
        self.tracker.add_tap(tap);
        if let Some(records) = &mut self.records {
            records.has_clocks = self.has_others || relate::has_clocks(self.tracker.taps());
        }
    }

    /// See [`Pipeline::add_lost_frames`].
    pub fn add_lost_frames(&mut self, tap: TapId, frames: u64) {
        self.tracker.add_lost_frames(tap, frames);
    }

    /// See [`Pipeline::observe_until`].
    pub fn observe_until(&mut self, tap: TapId, time: Timestamp) {
        self.tracker.observe_until(tap, time);
    }

    /// Processes the next frame. Returns whether [`Pipeline::handle_shared_frame`] must process it, too.
    #[inline]
    pub fn handle_frame(&mut self, frame: &Frame<'_>) -> bool {
        frame::decode_with(frame, |packet| {
            self.observe(frame, packet);
            is_shared(packet)
        })
    }

    /// See [`Pipeline::drain_messages`].
    pub fn drain_messages(&mut self) -> std::vec::Drain<'_, MessageEvent> {
        self.tracker.drain_messages()
    }

    #[inline]
    pub(super) fn observe(&mut self, frame: &Frame<'_>, packet: &Packet<'_>) {
        match &mut self.records {
            None => self.tracker.observe(frame, packet, &mut ()),
            Some(records) => {
                self.tracker.observe(frame, packet, &mut records.traffic);
                if records.has_clocks {
                    records.sightings.observe(frame, packet);
                }
            }
        }
    }

    pub(super) fn observe_run(&mut self, run: &Run, frame: &Frame<'_>, packet: &Packet<'_>) {
        match &mut self.records {
            None => self.tracker.observe_run(run, frame, packet, &mut ()),
            Some(records) => {
                self.tracker.observe_run(run, frame, packet, &mut records.traffic);
            }
        }
    }

    fn join(&mut self, lanes: Vec<(Self, Vec<TapId>)>) {
        let (lanes, taps): (Vec<_>, Vec<_>) = lanes.into_iter().unzip();
        let apart = lanes.into_iter().map(|lane| (lane.tracker, lane.records));
        let (trackers, records): (Vec<_>, Vec<_>) = apart.unzip();
        self.tracker.join(trackers.into_iter().zip(taps.iter().map(Vec::as_slice)));
        let Some(own) = &mut self.records else { return };
        let has_clocks = relate::has_clocks(self.tracker.taps());
        let most = lane_sightings(records.len());
        let mut recorders = Vec::new();
        for (records, taps) in records.into_iter().zip(&taps) {
            let Some(Records { traffic, sightings, .. }) = records else { continue };
            if has_clocks {
                // Lanes that were filled elsewhere had fewer beside them.
                own.sightings.join(sightings.limited(most), taps);
            }
            recorders.push((traffic, taps.as_slice()));
        }
        own.traffic.join(recorders);
    }
}

/// Whether what the packet means depends on other taps' packets.
#[inline]
pub(super) fn is_shared(packet: &Packet<'_>) -> bool {
    matches!(packet.body, Body::Tcp(_) | Body::Sflow(_))
}

impl Pipeline {
    /// An empty lane, one of so many, to be filled apart and [joined](Self::join).
    #[must_use]
    pub fn lane(&self, of_lanes: usize) -> Lane {
        Lane::new(self.flow, self.message_capacity, Some(of_lanes))
    }

    /// All of so many empty lanes.
    #[must_use]
    pub fn lanes(&self, count: usize) -> Vec<Lane> {
        (0..count).map(|_| self.lane(count)).collect()
    }

    /// Processes the next frame that a lane processed and returned `true` for, in order of time over all lanes. Its
    /// tap is numbered as here.
    pub fn handle_shared_frame(&mut self, frame: &Frame<'_>) {
        frame::decode_with(frame, |packet| self.observe_shared(frame, packet));
    }

    /// Takes over all lanes. Tap n of a lane is `taps[n]` of its list, and was added here before. The
    /// report is the same however the lanes were filled; no frame can be processed afterwards.
    pub fn join(&mut self, lanes: Vec<(Lane, Vec<TapId>)>) {
        self.lane.join(lanes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_many_lanes_keeps_fewer_sightings_and_all_together_more_than_are_needed() {
        let kept = |lanes| lane_sightings(lanes) / 7 * 8;
        assert_eq!(
            [1, 63, 64, 127, 128, 256, 512, 100_000].map(kept),
            [1 << 14, 1 << 14, 1 << 13, 1 << 13, 1 << 12, 1 << 11, 1 << 10, 1 << 10]
        );
        assert!((64..4096).all(|lanes| lanes * lane_sightings(lanes) > 4 * SIGHTING_CAPACITY));
    }
}
