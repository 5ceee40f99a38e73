//! Training steps: which collectives belong to one, and when it began and ended.

use crate::link::job::CommunicatorId;
use crate::model::grade::Grade;
use crate::model::time::Span;

/// One training step of the job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Iteration {
    /// Number from 0, in order of time.
    pub number: u32,
    /// What the training calls it, where an anchor or a log tells: `4812`.
    pub label: Option<String>,
    /// The communicator whose collectives repeat with it.
    pub communicator: CommunicatorId,
    /// From its first data packet to the first of the next one; of the last, to its last packet.
    pub span: Span,
    /// Places of its collectives in the list of all, ascending.
    pub collectives: Vec<usize>,
    /// Nanoseconds of its span with a collective in flight.
    pub communication_ns: u64,
    /// How sure its bounds are.
    pub grade: Grade,
}

impl Iteration {
    /// Nanoseconds of its span with no collective in flight.
    #[must_use]
    pub fn idle_ns(&self) -> u64 {
        self.span.last.nanos_since(self.span.first).saturating_sub(self.communication_ns)
    }
}
