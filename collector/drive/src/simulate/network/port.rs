//! One end of a link: its queues, its pauses, and its traffic.

use super::arbitration::Arbiter;
use super::counters::PortCounters;
use super::id::{NodeId, PRIORITIES, PrioritySet, TapId};
use super::packet_pool::Fifo;
use super::picoseconds::Picoseconds;
use super::plan::LinkPlan;
use super::trouble::Effects;

/// Preamble, gap and FCS: link time of a frame beyond its bytes.
const OVERHEAD_BYTES: u32 = 8 + 12 + 4;

/// An 802.1Qbb quantum is the time of 512 bits; a pause is requested for the longest time possible.
pub(super) const PAUSE_QUANTA: u16 = u16::MAX;

/// Why a port asks its neighbour to pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PauseReason {
    /// Too many bytes are stored.
    Full,
    /// No reason: the NIC is broken.
    Storm,
}

/// One end of a link.
#[derive(Debug)]
pub(super) struct SimulatedPort {
    pub(super) node: NodeId,
    rate_bps: u64,
    pub(super) delay: Picoseconds,
    pub(super) tap: Option<TapId>,

    /// Current faults.
    pub(super) effects: Effects,

    /// End of the last frame's transmission.
    pub(super) busy_until: Picoseconds,
    /// Whether an event will send the next frame at `busy_until`.
    pub(super) look_planned: bool,
    /// PFC frames to send before everything else.
    pub(super) pauses: Fifo,
    queues: [Fifo; PRIORITIES],
    /// Which queues are not empty.
    pub(super) waiting: u8,
    pub(super) arbiter: Arbiter,

    /// Priorities whose pauses it obeys.
    pub(super) lossless: PrioritySet,
    pub(super) paused: PausedBy,
    pub(super) asks: AsksPause,
    pub(super) counters: PortCounters,
}

/// Pauses requested by the neighbour.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PausedBy {
    /// The paused priorities.
    pub(super) set: u8,
    pub(super) since: [Picoseconds; PRIORITIES],
    pub(super) until: [Picoseconds; PRIORITIES],
    /// Whether an event will check that the pause has expired.
    pub(super) end_planned: u8,
}

/// Pauses requested of the neighbour.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AsksPause {
    /// Priorities with too many bytes stored.
    pub(super) full: u8,
    /// Priorities paused by a broken NIC.
    pub(super) storm: u8,
    pub(super) since: [Picoseconds; PRIORITIES],
    /// Whether an event will repeat the request.
    pub(super) renewal_planned: u8,
}

impl AsksPause {
    /// All priorities requested to pause.
    pub(super) const fn set(&self) -> u8 {
        self.full | self.storm
    }
}

impl SimulatedPort {
    pub(super) fn new(
        link: &LinkPlan,
        node: NodeId,
        lossless: PrioritySet,
        strict: PrioritySet,
    ) -> Self {
        Self {
            node,
            rate_bps: link.rate_bps,
            delay: Picoseconds::of_nanoseconds(link.delay_ns),
            tap: None,
            effects: Effects::default(),
            busy_until: Picoseconds::default(),
            look_planned: false,
            pauses: Fifo::default(),
            queues: [Fifo::default(); PRIORITIES],
            waiting: 0,
            arbiter: Arbiter::new(strict),
            lossless,
            paused: PausedBy::default(),
            asks: AsksPause::default(),
            counters: PortCounters::default(),
        }
    }

    pub(super) const fn is_up(&self) -> bool {
        !self.effects.is_down
    }

    pub(super) const fn rate_bps(&self) -> u64 {
        self.rate_bps
    }

    /// Link bytes of a frame.
    pub(super) const fn wire_bytes(&self, frame_bytes: u16) -> u32 {
        frame_bytes as u32 + OVERHEAD_BYTES
    }

    /// Transmission time of a frame.
    pub(super) fn transmission(&self, frame_bytes: u16) -> Picoseconds {
        Picoseconds::of_bytes(self.wire_bytes(frame_bytes), self.rate_bps)
    }

    /// Time until the next frame may follow: longer if the host is slow.
    pub(super) fn occupation(&self, frame_bytes: u16) -> Picoseconds {
        let rate_bps = self.effects.slow_bps.map_or(self.rate_bps, |slow| slow.min(self.rate_bps));
        Picoseconds::of_bytes(self.wire_bytes(frame_bytes), rate_bps)
    }

    /// Duration of a pause of `quanta`.
    pub(super) fn pause(&self, quanta: u16) -> Picoseconds {
        let bits = u128::from(quanta) * 512;
        let duration = bits * 1_000_000_000_000 / u128::from(self.rate_bps.max(1));
        Picoseconds(u64::try_from(duration).unwrap_or(u64::MAX))
    }

    pub(super) const fn queue(&self, priority: u8) -> &Fifo {
        &self.queues[(priority & 7) as usize]
    }

    /// The queue of `priority`, to push to or pop from; call [`Self::queue_changed`] afterwards.
    pub(super) const fn queue_mut(&mut self, priority: u8) -> &mut Fifo {
        &mut self.queues[(priority & 7) as usize]
    }

    pub(super) const fn queue_changed(&mut self, priority: u8) {
        let bit = PrioritySet::only(priority).0;
        if self.queue(priority).is_empty() {
            self.waiting &= !bit;
        } else {
            self.waiting |= bit;
        }
    }
}
