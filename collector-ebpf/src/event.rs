//! Events of the packet programs: a packet with new information, together with the run of packets
//! before it that had none.
//!
//! Most packets of a flow are MIDDLE packets of long messages, each following the one before, and in the
//! other direction ACKs within such a message. These are counted as a [`Run`]; every other packet is
//! delivered with its headers and the run before it. So user space sees the same sequence, messages and
//! marks as in a capture.

use bytemuck::{Pod, Zeroable};

/// Bytes of a RoCEv2 packet that are delivered: a connection manager's request after two VLAN tags and
/// IPv6 takes 254, NCCL's clear-to-send less.
pub const HEAD_LEN: usize = 256;

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

/// The head of every event.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct EventHeader {
    /// When the packet passed.
    pub time: u64,
    /// Index of the network interface.
    pub interface_index: u32,
    /// 0 when it came in, 1 when it went out.
    pub is_outbound: u32,
    /// Bytes of the packet, from the Ethernet header on, without the FCS.
    pub wire_len: u32,
    /// Bytes in [`PacketEvent::head`] that are the packet's.
    pub head_len: u32,
    /// VLAN tag that the NIC removed: TCI, and above it the tag's protocol; 0 for none.
    pub vlan: u32,
    /// Bytes of the stream between the sequence number in the header and the payload that follows:
    /// a merged segment is delivered in pieces.
    pub payload_offset: u32,
    /// Bytes of payload that follow a [`SegmentEvent`].
    pub payload_len: u32,
    /// 1 for a packet in a tunnel or a mirror session: the bytes of a [`SegmentEvent`] and of its payload
    /// are its first ones, as they were; else 0.
    pub is_encapsulated: u32,
}

/// A RoCEv2 packet.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct PacketEvent {
    /// When, where, how long.
    pub header: EventHeader,
    /// Packets of its flow since the last event.
    pub run: Run,
    /// The packet's first bytes.
    pub head: [u8; HEAD_LEN],
}

/// A TCP segment, or a piece of one, or a packet in a tunnel, followed by one of [`PAYLOAD_ROOMS`]. So its record never has the
/// length of a [`PacketEvent`].
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct SegmentEvent {
    /// When, where, how long.
    pub header: EventHeader,
    /// The packet's headers.
    pub head: [u8; HEAD_LEN],
}

const _: () = {
    let mut room = 0;
    while room < PAYLOAD_ROOMS.len() {
        assert!(size_of::<SegmentEvent>() + PAYLOAD_ROOMS[room] != size_of::<PacketEvent>());
        room += 1;
    }
};
