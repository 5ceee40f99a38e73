//! Where the time of a collective went on each edge of its rings: waits, transfer, recovery, pause.

use crate::link::job::NetConnectionId;
use crate::model::time::Span;

/// The waits of one collective.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CollectiveWaits {
    /// By connection, ascending; without those of which too little was seen.
    pub edges: Vec<EdgeWaits>,
}

/// Where the time of a collective went on one connection. The parts sum to the span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EdgeWaits {
    /// The connection.
    pub connection: NetConnectionId,
    /// From when the receiver had room, or the previous collective had ended, to the last byte.
    pub span: Span,
    /// From the start of the span to the first byte.
    pub start_wait_ns: u64,
    /// The sender had the chunk and room for it, and did not send.
    pub sender_wait_ns: u64,
    /// The receiver had room free and did not offer it.
    pub receiver_wait_ns: u64,
    /// Data flowed.
    pub transfer_ns: u64,
    /// Data was sent again.
    pub recovery_ns: u64,
    /// The sender was told to pause; `None` where pause is not visible (its time is in the others).
    pub paused_ns: Option<u64>,
}
