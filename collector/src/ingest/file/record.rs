//! The next item that the reader of a format finds in its file.

use super::problem::ProblemKind;
use railscope_core::model::direction::Direction;
use railscope_core::model::tap::{LinkType, TapId};
use railscope_core::model::time::Timestamp;

/// A frame in its file's buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub(super) time: Timestamp,
    pub(super) tap: TapId,
    pub(super) link_type: LinkType,
    pub(super) direction: Option<Direction>,
    pub(super) wire_len: u32,
    /// Position of its bytes in the buffer.
    pub(super) position: usize,
    pub(super) len: usize,
}

impl Record {
    /// To be overwritten.
    pub(super) const NONE: Self = Self {
        time: Timestamp::EPOCH,
        tap: TapId(0),
        link_type: LinkType::Ethernet,
        direction: None,
        wire_len: 0,
        position: 0,
        len: 0,
    };
}

/// The next item. A problem that ends the file is the `Err` of the result around this.
#[derive(Debug)]
pub(super) enum Found {
    /// The caller's record was overwritten. Returned from function to function it took a sixth of the time of a
    /// whole `analyze`.
    Frame,
    /// Another item, with a notice or without.
    Other,
    /// A problem after which reading continues, and the offset of its block in the stream.
    Problem(ProblemKind, u64),
    /// The end of the file, at the end of a record.
    End,
}

/// The captured and the original length of a frame without its frame check sequence.
///
/// Some writers set the original length to 0 or less than the captured length; the captured bytes were
/// certainly on the wire.
#[inline]
pub(super) fn lengths_without_fcs(captured_len: u32, wire_len: u32, fcs_bytes: u32) -> (u32, u32) {
    let wire_len = wire_len.max(captured_len).saturating_sub(fcs_bytes);
    (captured_len.min(wire_len), wire_len)
}
