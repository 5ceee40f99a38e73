//! TCP: how connections begin and end, and the first bytes that they carry, where NCCL's bootstrap
//! and PyTorch's TCPStore say who is who. What comes after is counted: of each mebibyte one segment's
//! headers are handed out, whose sequence number says how far the stream has come.

use aya_ebpf::bindings::BPF_RB_NO_WAKEUP;
use aya_ebpf::helpers::{bpf_ktime_get_ns, bpf_skb_load_bytes};
use aya_ebpf::programs::TcContext;
use railscope_ebpf::event::{EventHeader, HEAD_LEN, PAYLOAD_LEN, SegmentEvent};
use railscope_ebpf::loss::Loss;
use railscope_ebpf::stream::StreamState;
use railscope_ebpf::table::{Claim, Key};

use super::headers::{self, Header, Network};
use super::maps::{self, EVENTS};

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

/// Bytes of a stream, as a power of two, of which one segment's headers are handed out.
const MILE_BITS: u32 = 20;

/// Pieces of one packet: 64 KiB, the most that is joined from segments.
const PIECE_LIMIT: u32 = 64;

/// Takes a TCP packet; `None` when it cannot be read.
#[inline(always)]
pub(super) fn observe(context: &TcContext, network: &Network, is_outbound: bool) -> Option<()> {
    let header: Tcp = headers::load(context, network.transport)?;
    let is_edge = header.flags & EDGES != 0;
    let payload_at = network.transport as u32 + u32::from(header.header_len >> 4) * 4;
    let payload_len = context.len().saturating_sub(payload_at);
    // Ethernet pads frames to 60 bytes: a short ACK has no payload.
    if !is_edge && (payload_len == 0 || context.len() <= 60) {
        return Some(());
    }
    let skb = context.skb.skb;
    // SAFETY: the kernel's, alive while the program runs.
    let interface_index = unsafe { (*skb).ifindex };
    let ports = u32::from_be(header.ports);
    let key = Key::new(network.source, network.destination, ports, interface_index);
    let streams = maps::streams(&key)?;
    let len = u64::from(payload_len);
    let before = match streams.find(&key) {
        Some(stream) => {
            let before = if header.flags & SYN != 0 { 0 } else { stream.bytes };
            *stream = StreamState { bytes: before + len, is_used: 1 };
            before
        }
        None => {
            match streams.claim(&key, StreamState { bytes: len, is_used: 1 }, 0) {
                Claim::Kept => 0,
                // Nobody would know when it has carried enough.
                Claim::Refused => {
                    maps::count(Loss::Stream);
                    u64::MAX
                }
            }
        }
    };
    let is_wanted = before < u64::from(maps::settings().stream_limit);
    let is_milestone = before >> MILE_BITS != before.saturating_add(len) >> MILE_BITS;
    if is_edge || (is_wanted || is_milestone) && payload_len > 0 {
        let header = EventHeader {
            // SAFETY: a helper without arguments.
            time: unsafe { bpf_ktime_get_ns() },
            interface_index,
            is_outbound: u32::from(is_outbound),
            wire_len: context.len(),
            head_len: payload_at,
            vlan: headers::vlan(context),
            ..EventHeader::default()
        };
        let payload_len = if is_wanted { payload_len } else { 0 };
        hand_out(context, header, payload_at, payload_len);
    }
    Some(())
}

/// Gives the packet to user space in pieces.
#[inline(always)]
fn hand_out(context: &TcContext, mut header: EventHeader, payload_at: u32, payload_len: u32) {
    // Where a piece begins is a number for the verifier: it looks at 64 pieces, not at all the ways to
    // reach one.
    for piece in 0..PIECE_LIMIT {
        header.payload_offset = piece * PAYLOAD_LEN as u32;
        if piece > 0 && header.payload_offset >= payload_len {
            return;
        }
        if !hand_out_piece(context, &mut header, payload_at, payload_len) {
            return;
        }
    }
    if payload_len > PIECE_LIMIT * PAYLOAD_LEN as u32 {
        maps::count(Loss::Payload);
    }
}

/// Gives one piece to user space; whether there was room.
#[inline(always)]
fn hand_out_piece(
    context: &TcContext,
    header: &mut EventHeader,
    payload_at: u32,
    payload_len: u32,
) -> bool {
    let Some(mut entry) = EVENTS.reserve::<SegmentEvent>(0) else {
        maps::count(Loss::Event);
        return false;
    };
    let event = entry.as_mut_ptr();
    let skb = context.skb.skb.cast();
    let rest = payload_len.wrapping_sub(header.payload_offset);
    let len = if rest < PAYLOAD_LEN as u32 { rest } else { PAYLOAD_LEN as u32 };
    let head_len = if payload_at < HEAD_LEN as u32 { payload_at } else { HEAD_LEN as u32 };
    header.payload_len = len;
    header.head_len = head_len;
    // SAFETY: the entry is as long as the event; what is not written here is written below, or has
    // a length in the header that leaves it out.
    let is_read = unsafe {
        (&raw mut (*event).header).write(*header);
        let head = (&raw mut (*event).head).cast();
        let payload = (&raw mut (*event).payload).cast();
        let has_head = head_len > 0 && bpf_skb_load_bytes(skb, 0, head, head_len) == 0;
        let at = payload_at + header.payload_offset;
        // The compiler knows more of the length than it tells the verifier: read again, it has to
        // prove that it is not 0.
        let len = core::ptr::read_volatile(&raw const len);
        let is_sound = 0 < len && len <= PAYLOAD_LEN as u32;
        has_head && (!is_sound || bpf_skb_load_bytes(skb, at, payload, len) == 0)
    };
    if !is_read {
        entry.discard(u64::from(BPF_RB_NO_WAKEUP));
        maps::count(Loss::Header);
        return false;
    }
    entry.submit(u64::from(BPF_RB_NO_WAKEUP));
    true
}
