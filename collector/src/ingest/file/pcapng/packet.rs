//! The blocks that carry a frame: enhanced, obsolete and simple packet block.
//!
//! ```text
//! byte 0..7          8..11         12..15     16..19    20..23        24..27    28..    then
//!      type, length  interface id  time high  time low  captured len  wire len  frame   options
//!      obsolete:     id  drops
//! ```
//!
//! Enhanced and obsolete blocks are parsed here: they are the hot path, and pcap-parser allocates a list
//! of options for each (`benches/ingest.rs`).
// Cost: 22 ns a block from memory to event, the copy included; pcap-parser's function alone takes
// 23 ns (128-byte frames, AMD EPYC with AVX-512, 2026-11).

use pcap_parser::pcapng::SimplePacketBlock;

use super::super::byte_order::ByteOrder;
use super::super::event::SourceEvent;
use super::super::notices::Notices;
use super::super::problem::ProblemKind;
use super::super::record::{Record, lengths_without_fcs};
use super::interface::Interface;
use super::option::{self, EPB_DROPCOUNT, EPB_FLAGS};
use super::{PACKET_BLOCK, PcapNgReader};
use railscope_core::model::direction::Direction;

/// Where the frame starts in an enhanced and in an obsolete packet block.
const FRAME_POSITION: usize = 28;

/// Where the frame starts in a simple packet block.
const SIMPLE_FRAME_POSITION: usize = 12;

/// The block length that is repeated at the end.
const END_BYTES: usize = 4;

/// `drops_count` of an obsolete packet block if it is not known.
const DROPS_UNKNOWN: u16 = 0xffff;

impl PcapNgReader {
    /// Reads an enhanced or an obsolete packet block; positions count from the block's start.
    #[inline]
    pub(super) fn on_timed_packet(
        &mut self,
        block_type: u32,
        block: &[u8],
        record: &mut Record,
        notices: &mut Notices,
    ) -> Result<(), ProblemKind> {
        let byte_order = self.byte_order;
        let Some(&[_, _, origin, high, low, captured_len, wire_len]) =
            block.as_chunks().0.first_chunk()
        else {
            return Err(ProblemKind::FrameLength);
        };
        let captured_len = byte_order.u32(captured_len);
        // The frame is padded to a multiple of four, and the block's own length is one too.
        let options_position = FRAME_POSITION + (captured_len as usize).next_multiple_of(4);
        let Some(options) = block.get(options_position..block.len() - END_BYTES) else {
            return Err(ProblemKind::FrameLength);
        };
        let (id, drops) = origin_of(byte_order, block_type, origin);
        let Some(interface) = self.interfaces.get(id) else {
            return Err(ProblemKind::Interface(id));
        };
        let (direction, option_drops) =
            if options.is_empty() { (None, 0) } else { read_options(byte_order, options) };
        let drops = drops.saturating_add(option_drops);
        if drops > 0 {
            tell_drops(interface, drops, notices);
        }
        let count = u64::from(byte_order.u32(high)) << 32 | u64::from(byte_order.u32(low));
        let Some(time) = interface.clock.to_timestamp(count) else {
            return Err(ProblemKind::TimeRange);
        };
        self.last_time = time;
        interface.frames += 1;
        interface.last = interface.last.max(time);
        let (len, wire_len) =
            lengths_without_fcs(captured_len, byte_order.u32(wire_len), interface.fcs_bytes);
        *record = Record {
            time,
            tap: interface.tap,
            link_type: interface.link_type,
            direction,
            wire_len,
            position: FRAME_POSITION,
            len: len as usize,
        };
        Ok(())
    }

    /// Reads a simple packet block: interface 0, no time, and a captured length that follows from the
    /// interface's snap length.
    pub(super) fn on_simple_packet(
        &mut self,
        packet: &SimplePacketBlock<'_>,
    ) -> Result<Record, ProblemKind> {
        let Some(interface) = self.interfaces.get(0) else {
            return Err(ProblemKind::Interface(0));
        };
        // Bounded by the block, so no larger than a block's 32-bit length.
        let there = u32::try_from(packet.data.len()).unwrap_or(u32::MAX);
        let snapped = interface.snap_len.map_or(there, |snap_len| there.min(snap_len));
        let captured_len = snapped.min(packet.origlen);
        let (len, wire_len) =
            lengths_without_fcs(captured_len, packet.origlen, interface.fcs_bytes);
        self.untimed_frames += 1;
        Ok(Record {
            time: self.last_time,
            tap: interface.tap,
            link_type: interface.link_type,
            direction: None,
            wire_len,
            position: SIMPLE_FRAME_POSITION,
            len: len as usize,
        })
    }
}

/// The interface's number, and the drops that an obsolete packet block counts in the same word.
#[inline]
fn origin_of(byte_order: ByteOrder, block_type: u32, origin: [u8; 4]) -> (u32, u64) {
    if block_type != PACKET_BLOCK {
        return (byte_order.u32(origin), 0);
    }
    let [a, b, c, d] = origin;
    let drops = byte_order.u16([c, d]);
    let drops = if drops == DROPS_UNKNOWN { 0 } else { u64::from(drops) };
    (u32::from(byte_order.u16([a, b])), drops)
}

/// Direction and drops from a frame's options.
fn read_options(byte_order: ByteOrder, options: &[u8]) -> (Option<Direction>, u64) {
    let (mut direction, mut drops) = (None, 0);
    for (code, value) in option::iterate(byte_order, options) {
        if code == EPB_FLAGS
            && let Some(flags) = option::u32_of(byte_order, value)
        {
            direction = match flags & 0b11 {
                0b01 => Some(Direction::Received),
                0b10 => Some(Direction::Sent),
                _ => None,
            };
        } else if code == EPB_DROPCOUNT {
            drops = option::u64_of(byte_order, value).unwrap_or(0);
        }
    }
    (direction, drops)
}

#[cold]
fn tell_drops(interface: &mut Interface, frames: u64, notices: &mut Notices) {
    interface.lost_frames = interface.lost_frames.saturating_add(frames);
    notices.push(SourceEvent::Lost { tap: interface.tap, frames });
}
