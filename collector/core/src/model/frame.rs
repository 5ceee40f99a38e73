//! A frame from a source: bytes, time, tap and wire length.

use super::direction::Direction;
use super::tap::{LinkType, TapId};
use super::time::Timestamp;

/// One captured frame. `bytes` may be shorter than `wire_len` (snap length).
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// The observation point that saw it.
    pub tap: TapId,
    /// Number of the frame in its file, from 1, as Wireshark counts.
    pub number: u64,
    /// When the tap saw it.
    pub time: Timestamp,
    /// Bytes it had on the wire, without FCS.
    pub wire_len: u32,
    /// The captured bytes, from the first link-layer byte.
    pub bytes: &'a [u8],
    /// Format of the first bytes.
    pub link_type: LinkType,
    /// Direction at the interface, if the capture has it.
    pub direction: Option<Direction>,
}
