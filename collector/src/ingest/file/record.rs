//! What the reader of a format finds next in its file.

use super::problem::ProblemKind;
use railscope_core::model::direction::Direction;
use railscope_core::model::tap::{LinkType, TapId};
use railscope_core::model::time::Timestamp;

/// A frame that still lies in its file's buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub(super) time: Timestamp,
    pub(super) tap: TapId,
    pub(super) link_type: LinkType,
    pub(super) direction: Option<Direction>,
    pub(super) wire_len: u32,
    /// Where its bytes lie in the buffer.
    pub(super) position: usize,
    pub(super) len: usize,
}

/// What a reader found next. A problem that ends the file is the `Err` of the result around this.
#[derive(Debug)]
pub(super) enum Found {
    Frame(Record),
    /// Something else, told through the notices or not worth telling.
    Other,
    /// A problem that lets reading go on, and where in the stream its block starts.
    Problem(ProblemKind, u64),
    /// The end of the file, at the end of a record.
    End,
}

/// The captured and the original length of a frame without its frame check sequence.
///
/// Some writers leave the original length 0 or shorter than what they kept; the bytes that are
/// there were on the wire.
#[inline]
pub(super) fn lengths_without_fcs(captured_len: u32, wire_len: u32, fcs_bytes: u32) -> (u32, u32) {
    let wire_len = wire_len.max(captured_len).saturating_sub(fcs_bytes);
    (captured_len.min(wire_len), wire_len)
}
