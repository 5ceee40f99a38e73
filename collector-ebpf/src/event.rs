//! Events of the packet programs: a packet with new information, together with the run of packets
//! before it that had none.
//!
//! Most packets of a flow are MIDDLE packets of long messages, each following the one before, and in the
//! other direction ACKs within such a message. These are counted as a [`Run`]; every other packet is
//! delivered with its headers and the run before it. So user space sees the same sequence, messages and
//! marks as in a capture.

use bytemuck::{Pod, Zeroable};

/// Most bytes of a packet's beginning that are delivered: a connection manager's request after two VLAN tags
/// and IPv6 takes 254, NCCL's clear-to-send less.
pub const HEAD_LEN: usize = 256;

/// The same of a packet of [`DATA_LEN`] and more: the headers of a WRITE after a VLAN tag and IPv6, and the
/// 32 bytes by which messages are compared.
pub const DATA_HEAD_LEN: usize = 128;

/// Packets this long carry data.
pub const DATA_LEN: usize = 1024;

/// Bytes of payload after a [`SegmentEvent`] of a short message, as most of NCCL's bootstrap are.
pub const MESSAGE_ROOM: usize = 512;

/// The same, for a packet of an MTU of 1500.
pub const PACKET_ROOM: usize = 2 * 1024;

/// The same, for longer packets, and for a piece of a merged packet (GRO, TSO).
pub const PIECE_ROOM: usize = 16 * 1024;

/// All payload sizes after a [`SegmentEvent`]; 0 if the headers suffice.
pub const PAYLOAD_ROOMS: [usize; 4] = [0, MESSAGE_ROOM, PACKET_ROOM, PIECE_ROOM];

/// Packets of one flow that were only counted: MIDDLE packets in order, or ACKs.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct Run {
    /// When the first one passed.
    pub first_time: u64,
    /// When the last one passed.
    pub last_time: u64,
    /// When the first one with congestion experienced passed; 0 for none.
    pub first_ce_time: u64,
    /// Packets.
    pub frames: u32,
    /// Bytes of each, from the Ethernet header on, without the FCS.
    pub wire_len: u32,
    /// Packets by ECN codepoint (RFC 3168: not-ECT, ECT(1), ECT(0), CE).
    pub ecn: [u32; 4],
    /// Packet sequence number of the first one.
    pub first_psn: u32,
    /// Packets that should have been delivered, but the ring was full.
    pub lost: u32,
    /// BTH opcode of all of them; of the first lost one, if none was counted.
    pub opcode: u32,
    /// Packet sequence number of the last one.
    pub last_psn: u32,
}

impl Run {
    /// A run of no packets, after one that was delivered at this time.
    #[inline(always)]
    #[must_use]
    pub fn empty(last_time: u64) -> Self {
        // Of a constant, the compiler makes a call that writes byte after byte.
        let zero = core::hint::black_box(0);
        let none = zero as u32;
        Self {
            first_time: zero,
            last_time,
            first_ce_time: zero,
            frames: none,
            wire_len: none,
            ecn: [none; 4],
            first_psn: none,
            lost: none,
            opcode: none,
            last_psn: none,
        }
    }
}

/// The head of every event. A RoCEv2 packet follows as its [`Run`], if it has [`HAS_RUN`], and its
/// beginning; anything else as the rest of a [`SegmentEvent`], and one of [`PAYLOAD_ROOMS`].
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct EventHeader {
    /// When the packet passed.
    pub time: u64,
    /// Index of the network interface.
    pub interface_index: u32,
    /// Bytes of the packet, from the Ethernet header on, without the FCS.
    pub wire_len: u32,
    /// VLAN tag that the NIC removed: TCI, and above it the tag's protocol; 0 for none.
    pub vlan: u32,
    /// Bytes of the packet's beginning that follow; the record may have room for more.
    pub head_len: u16,
    /// Of [`OUTBOUND`], [`HAS_RUN`], [`SEGMENT`] and [`ENCAPSULATED`].
    pub marks: u16,
}

/// The packet went out; else it came in.
pub const OUTBOUND: u16 = 1;
/// A [`Run`] follows.
pub const HAS_RUN: u16 = 2;
/// The event is a [`SegmentEvent`].
pub const SEGMENT: u16 = 4;
/// A packet in a tunnel or a mirror session: the bytes of its [`SegmentEvent`] and of its payload are its
/// first ones, as they were.
pub const ENCAPSULATED: u16 = 8;

/// A TCP segment, or a piece of one, or a packet in a tunnel, followed by one of [`PAYLOAD_ROOMS`].
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct SegmentEvent {
    /// When, where, how long.
    pub header: EventHeader,
    /// Bytes of the stream between the sequence number in the header and the payload that follows:
    /// a merged segment is delivered in pieces.
    pub payload_offset: u32,
    /// Bytes of payload that follow.
    pub payload_len: u32,
    /// The packet's headers.
    pub head: [u8; HEAD_LEN],
}
