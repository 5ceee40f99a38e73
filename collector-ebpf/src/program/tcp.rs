//! TCP: the begin and end of connections, and their first bytes, in which NCCL's bootstrap and
//! PyTorch's TCPStore identify the ranks. Later bytes are counted. Headers are delivered of one segment per
//! mebibyte, of a packet every 100 ms, and where a window closes or opens: they show how far a stream has
//! come, what is sent again after timeouts, and who takes no data.

use aya_ebpf::bindings::BPF_RB_NO_WAKEUP;
use railscope_ebpf::event::{
    EventHeader, HEAD_LEN, MESSAGE_ROOM, PACKET_ROOM, PIECE_ROOM, SEGMENT, SegmentEvent,
};
use railscope_ebpf::loss::Loss;
use railscope_ebpf::stream::{Passage, StreamState, all_if, is_less};
use railscope_ebpf::table::{Claim, Key};

use super::headers::{self, Header, Network};
use super::maps::{self, EVENTS};
use super::packet::Packet;
use super::{clock, log};

/// TCP (RFC 9293, section 3.1).
#[repr(C)]
#[derive(Clone, Copy)]
struct Tcp {
    ports: u32,
    sequence: u32,
    acknowledgement: u32,
    /// In 32-bit words, in the upper four bits.
    header_len: u8,
    flags: u8,
    window: u16,
    checksum: u16,
    urgent: u16,
}

// SAFETY: integers only.
unsafe impl Header for Tcp {}

const SYN: u8 = 0x02;
/// FIN, SYN and RST.
const EDGES: u8 = 0x07;

/// One segment's headers are delivered per this many bytes of a stream, as a power of two.
const MILE_BITS: u32 = 20;

/// Bytes before a packet of which nothing is known: more than are wanted, and no mebibyte ends soon.
const UNKNOWN: u64 = 1 << 62;
const _: () = assert!(UNKNOWN >> MILE_BITS == (UNKNOWN + (1 << MILE_BITS) - 1) >> MILE_BITS);

/// Pieces of one packet: 64 KiB, the largest merged segment (except with BIG TCP, whose rest is counted).
const PIECES: usize = 4;

/// An event in the ring's layout.
#[repr(C)]
struct Handed<const ROOM: usize> {
    event: SegmentEvent,
    payload: [u8; ROOM],
}

/// A segment to deliver, and the bytes of its payload to deliver.
pub(super) struct Segment {
    pub(super) header: EventHeader,
    pub(super) payload_at: u32,
    pub(super) payload_len: u32,
}

/// What is delivered of a segment.
pub(super) struct Share {
    pub(super) payload_at: u32,
    /// Bytes of payload; 0 for the headers alone.
    pub(super) payload_len: u32,
    /// Nothing at all, if false.
    pub(super) is_any: bool,
}

/// Takes a TCP packet; `None` when it cannot be read.
#[inline(always)]
pub(super) fn observe(packet: &impl Packet, network: &Network, is_outbound: bool) -> Option<()> {
    let share = share(packet, network)?;
    if share.is_any {
        let header = EventHeader {
            time: clock::now(),
            interface_index: packet.interface_index(),
            wire_len: packet.len(),
            vlan: packet.vlan(),
            head_len: 0,
            marks: SEGMENT | u16::from(is_outbound),
        };
        let Share { payload_at, payload_len, .. } = share;
        hand_out(packet, &Segment { header, payload_at, payload_len });
    }
    Some(())
}

/// Counts the bytes of the packet's stream, and says what of it is delivered; `None` when the header
/// cannot be read.
#[inline(always)]
pub(super) fn share(packet: &impl Packet, network: &Network) -> Option<Share> {
    let header: Tcp = headers::load(packet, network.transport)?;
    let payload_at = network.transport as u32 + u32::from(header.header_len >> 4) * 4;
    let len = u64::from(packet.len());
    let is_edge = is_less(0, u64::from(header.flags & EDGES));
    let has_payload = is_less(payload_at.into(), len);
    // Ethernet pads frames to 60 bytes: a short ACK has no payload.
    let is_bare = (is_edge ^ 1) & ((has_payload & is_less(60, len)) ^ 1);
    let payload_len = len.wrapping_sub(payload_at.into()) & all_if(has_payload & (is_bare ^ 1));
    let ports = u32::from_be(header.ports);
    let key = Key::new(network.source, network.destination, ports, packet.interface_index());
    let streams = maps::streams(&key)?;
    let passage = Passage {
        tick: clock::tick(),
        payload_len,
        is_syn: is_less(0, u64::from(header.flags & SYN)),
        // A reset has no window.
        is_closed: is_less(u64::from(header.window), 1) & (is_edge ^ 1),
    };
    let (before, is_news) = match streams.find(&key) {
        Some(stream) => stream.take(&passage, clock::now),
        // The other end alone sends data.
        None if is_bare != 0 => (UNKNOWN, 0),
        None => match streams.claim(&key, StreamState::new(&passage, clock::now()), 0) {
            Claim::Kept => (0, 0),
            // Without an entry, there is no count of what it carried.
            Claim::Refused => {
                log::lost(Loss::Stream);
                (UNKNOWN, 0)
            }
        },
    };
    let is_wanted = is_less(before, maps::settings().stream_limit.into());
    let is_milestone = is_less(before >> MILE_BITS, (before + payload_len) >> MILE_BITS);
    let is_any = is_edge | is_news | ((is_wanted | is_milestone) & is_less(0, payload_len));
    let payload_len = (payload_len & all_if(is_wanted)) as u32;
    Some(Share { payload_at, payload_len, is_any: is_any != 0 })
}

/// Delivers the packet to user space, in pieces if it is long.
#[inline(always)]
fn hand_out(packet: &impl Packet, segment: &Segment) {
    let len = segment.payload_len;
    if len == 0 {
        hand_out_piece::<0>(packet, segment, 0);
    } else if len <= MESSAGE_ROOM as u32 {
        hand_out_piece::<MESSAGE_ROOM>(packet, segment, 0);
    } else if len <= PACKET_ROOM as u32 {
        hand_out_piece::<PACKET_ROOM>(packet, segment, 0);
    } else {
        // The verifier follows each piece's start as a number, in its own copy of the code: older ones
        // (seen: Linux 6.1) reject a loop whose rounds start at different offsets.
        let is_handed_out = hand_out_piece::<PIECE_ROOM>(packet, segment, 0)
            && hand_out_piece::<PIECE_ROOM>(packet, segment, 1)
            && hand_out_piece::<PIECE_ROOM>(packet, segment, 2)
            && hand_out_piece::<PIECE_ROOM>(packet, segment, 3);
        if is_handed_out && len > (PIECES * PIECE_ROOM) as u32 {
            log::lost(Loss::Payload);
        }
    }
}

/// Delivers one piece to user space; returns whether it did.
#[inline(always)]
pub(super) fn hand_out_piece<const ROOM: usize>(
    packet: &impl Packet,
    segment: &Segment,
    piece: usize,
) -> bool {
    let &Segment { mut header, payload_at, payload_len } = segment;
    let payload_offset = (piece * ROOM) as u32;
    if piece > 0 && payload_len <= payload_offset {
        return false;
    }
    let Some(mut entry) = EVENTS.reserve::<Handed<ROOM>>(0) else {
        log::lost(Loss::Event);
        return false;
    };
    let handed = entry.as_mut_ptr();
    header.head_len = payload_at.min(HEAD_LEN as u32) as u16;
    let payload_len = (payload_len - payload_offset).min(ROOM as u32);
    // SAFETY: the entry is as long as what is delivered; what is not written here is written below, or
    // has a length in the header that leaves it out.
    let is_read = unsafe {
        let event = &raw mut (*handed).event;
        (&raw mut (*event).header).write(header);
        (&raw mut (*event).payload_offset).write(payload_offset);
        (&raw mut (*event).payload_len).write(payload_len);
        let (head_len, len) =
            (&raw const (*event).header.head_len, &raw const (*event).payload_len);
        let at = payload_at + payload_offset;
        headers::copy(packet, 0, head_len, &raw mut (*event).head)
            && headers::copy(packet, at, len, &raw mut (*handed).payload)
    };
    if !is_read {
        entry.discard(u64::from(BPF_RB_NO_WAKEUP));
        log::lost(Loss::Header);
        return false;
    }
    entry.submit(u64::from(BPF_RB_NO_WAKEUP));
    true
}
