//! A frame as a source hands it over: bytes, when, where, and how long it was on the wire.

use super::direction::Direction;
use super::tap::{LinkType, TapId};
use super::time::Timestamp;

/// One captured frame. `bytes` may be shorter than `wire_len` (the snap length cut it).
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
    /// The bytes that were kept, from the first link-layer byte.
    pub bytes: &'a [u8],
    /// What the first byte belongs to.
    pub link_type: LinkType,
    /// Which way it passed the interface; `None` when the capture does not say.
    pub direction: Option<Direction>,
}
