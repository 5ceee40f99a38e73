//! The position of the walk in a frame: the remaining bytes, the length given by the innermost
//! length field, and what ends them.
//!
//! ```text
//! frame  |-- headers read --|------------------- len -------------------|
//!                           |---- bytes (kept) ----|
//!        0                offset                  cut                  end
//! ```
//!
//! Kept bytes never reach past `len`. If they end with it, `end` is why nothing follows; if they
//! end earlier, `cut` is.

use super::error::{DecodeError, Layer, Limit};
use crate::model::frame::Frame;

/// The rest of a frame, from the next header on.
///
/// Rare paths get a copy: an address that never leaves the common path lets the compiler keep all
/// of it in registers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    offset: usize,
    len: usize,
    end: Limit,
    cut: Limit,
}

impl<'a> Cursor<'a> {
    /// The whole frame.
    #[inline(always)]
    pub(super) fn new(frame: &Frame<'a>) -> Self {
        let len = (frame.wire_len as usize).max(frame.bytes.len());
        Self { bytes: frame.bytes, offset: 0, len, end: Limit::Frame, cut: Limit::Snap }
    }

    /// The payload of a RoCE packet, for the layers above it: `kept` of `len` bytes.
    pub(super) fn of_payload(kept: &'a [u8], len: usize, offset: usize) -> Self {
        // Which end truncated the frame is no longer known; most often it is this one.
        let (end, cut) = (Limit::UdpLength, Limit::Snap);
        Self { bytes: kept, offset, len: len.max(kept.len()), end, cut }
    }

    /// The remaining bytes that were kept.
    #[inline(always)]
    pub(super) const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The remaining bytes, if all of them were kept.
    #[inline(always)]
    pub(super) const fn whole(&self) -> Option<&'a [u8]> {
        if self.bytes.len() == self.len { Some(self.bytes) } else { None }
    }

    /// Remaining bytes on the wire, kept or not.
    #[inline(always)]
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// Bytes before the next header.
    #[inline(always)]
    pub(super) const fn offset(&self) -> usize {
        self.offset
    }

    /// Bytes from the start of the frame to where the innermost length ends.
    #[inline(always)]
    pub(super) const fn end_offset(&self) -> usize {
        self.offset.wrapping_add(self.len)
    }

    /// Looks at the fixed part of a header.
    #[inline(always)]
    pub(super) fn peek<const N: usize>(&self, layer: Layer) -> Result<&'a [u8; N], DecodeError> {
        match self.bytes.first_chunk() {
            Some(header) => Ok(header),
            None => Err(self.too_short(layer, N)),
        }
    }

    /// Takes a header of fixed length.
    #[inline(always)]
    pub(super) fn take<const N: usize>(
        &mut self,
        layer: Layer,
    ) -> Result<&'a [u8; N], DecodeError> {
        match self.bytes.split_first_chunk() {
            Some((header, rest)) => {
                self.advance(rest, N);
                Ok(header)
            }
            None => Err(self.too_short(layer, N)),
        }
    }

    /// Takes a header whose length a field gives.
    #[inline(always)]
    pub(super) fn take_len(&mut self, len: usize, layer: Layer) -> Result<&'a [u8], DecodeError> {
        match self.bytes.split_at_checked(len) {
            Some((header, rest)) => {
                self.advance(rest, len);
                Ok(header)
            }
            None => Err(self.too_short(layer, len)),
        }
    }

    #[inline(always)]
    const fn advance(&mut self, rest: &'a [u8], taken: usize) {
        // Cannot wrap: the bytes taken were kept, and `len` is at least the number of kept bytes.
        self.bytes = rest;
        self.offset = self.offset.wrapping_add(taken);
        self.len = self.len.wrapping_sub(taken);
    }

    /// Applies a length field: `len` bytes from here on, ended by `end`.
    ///
    /// A length beyond the enclosing one is believed, because mirrors and packet brokers truncate
    /// frames without a note; the enclosing length is then what truncated it.
    #[inline(always)]
    pub(super) fn follow(&mut self, len: usize, end: Limit) {
        if let Some(bytes) = self.bytes.get(..len) {
            self.bytes = bytes;
        } else if len > self.len && self.bytes.len() == self.len {
            self.cut = self.end;
        }
        self.len = len;
        self.end = end;
    }

    /// The sender had truncated the rest already.
    pub(super) const fn mark_cut(&mut self) {
        self.end = Limit::Snap;
    }

    /// The header is longer than the remaining bytes.
    #[inline(always)]
    pub(super) fn too_short(&self, layer: Layer, need: usize) -> DecodeError {
        let limit = if self.bytes.len() < self.len { self.cut } else { self.end };
        error(layer, limit, self.offset, need, self.bytes.len())
    }

    /// The header has a value after which nothing can be read.
    #[inline(always)]
    pub(super) fn refuse(&self, layer: Layer) -> DecodeError {
        self.stop(layer, Limit::HeaderField)
    }

    /// The layer is not read, for a reason other than length.
    #[inline(always)]
    pub(super) fn stop(&self, layer: Layer, limit: Limit) -> DecodeError {
        error(layer, limit, self.offset, 0, 0)
    }
}

/// Takes numbers and no cursor, whose address would leave the common path.
#[cold]
#[inline(never)]
fn error(layer: Layer, limit: Limit, offset: usize, need: usize, have: usize) -> DecodeError {
    let [offset, need, have] = [offset, need, have].map(saturate);
    DecodeError { layer, offset, need, have, limit }
}

/// A length for a report; no frame is as long as the limit.
pub(super) fn saturate(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cursor(bytes: &[u8], len: usize) -> Cursor<'_> {
        Cursor { bytes, offset: 0, len, end: Limit::Frame, cut: Limit::Snap }
    }

    fn limit(cursor: &Cursor<'_>) -> Limit {
        cursor.too_short(Layer::Udp, 99).limit
    }

    #[test]
    fn the_innermost_length_that_is_kept_whole_ends_the_rest() {
        let mut cursor = cursor(&[0; 60], 60);
        assert_eq!(limit(&cursor), Limit::Frame);
        cursor.follow(50, Limit::IpLength);
        assert_eq!(limit(&cursor), Limit::IpLength);
        cursor.follow(40, Limit::UdpLength);
        assert_eq!(limit(&cursor), Limit::UdpLength);
        assert_eq!(cursor.bytes().len(), 40);
    }

    #[test]
    fn a_length_beyond_what_was_kept_leaves_the_snap_length_to_blame() {
        let mut cursor = cursor(&[0; 60], 1000);
        cursor.follow(900, Limit::IpLength);
        assert_eq!(limit(&cursor), Limit::Snap);
        assert_eq!((cursor.len(), cursor.whole()), (900, None));
    }

    #[test]
    fn a_length_beyond_the_enclosing_one_leaves_that_to_blame() {
        let mut cursor = cursor(&[0; 60], 60);
        cursor.follow(50, Limit::IpLength);
        cursor.follow(80, Limit::UdpLength);
        assert_eq!(limit(&cursor), Limit::IpLength);
        cursor.follow(50, Limit::UdpLength);
        assert_eq!(limit(&cursor), Limit::UdpLength);
    }
}
