//! The training steps of a job, before their ends and figures are known.

use super::timeline::Timeline;
use crate::link::job::CommunicatorId;

/// The position of a training step among the collectives of the leading communicator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Places in the timeline, ascending.
    pub(super) slots: Vec<usize>,
    pub(super) is_whole: bool,
    /// It directly follows the previous one: no other collective of the communicator is between
    /// them.
    pub(super) is_adjacent: bool,
}

/// The training steps of a job, before their ends and figures are known.
#[derive(Clone, Debug)]
pub(super) struct Rhythm {
    pub(super) communicator: CommunicatorId,
    pub(super) pieces: Vec<Piece>,
}

impl Piece {
    /// Nanoseconds before it with no collective in flight.
    pub(super) fn silence_ns(&self, timeline: &Timeline) -> u64 {
        self.slots.first().map_or(0, |at| timeline.slots[*at].silence_ns)
    }
}
