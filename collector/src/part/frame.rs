//! A frame with bytes of its own.

use serde::{Deserialize, Serialize};

use railscope_core::model::direction::Direction;
use railscope_core::model::frame::Frame;
use railscope_core::model::tap::{LinkType, TapId};
use railscope_core::model::time::Timestamp;

/// A frame with bytes of its own.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OwnFrame {
    tap: TapId,
    number: u64,
    time: Timestamp,
    wire_len: u32,
    bytes: Box<[u8]>,
    link_type: LinkType,
    direction: Option<Direction>,
}

impl OwnFrame {
    /// A copy.
    #[must_use]
    pub fn new(frame: &Frame<'_>) -> Self {
        let Frame { tap, number, time, wire_len, bytes, link_type, direction } = *frame;
        Self { tap, number, time, wire_len, bytes: bytes.into(), link_type, direction }
    }

    /// The frame, where tap n is `taps[n]`.
    #[must_use]
    pub fn of(&self, taps: &[TapId]) -> Frame<'_> {
        Frame {
            tap: self.tap.among(taps),
            number: self.number,
            time: self.time,
            wire_len: self.wire_len,
            bytes: &self.bytes,
            link_type: self.link_type,
            direction: self.direction,
        }
    }
}
