//! What the packet programs hand out: a packet that says something new, behind the run of packets
//! that did not.
//!
//! Most packets of a flow are the middles of long messages, each the successor of the one before, and on
//! the way back ACKs of more of such a message. These are counted as a [`Run`]; every other packet is
//! handed out with its headers, together with the run before it. So user space sees the same sequence,
//! messages and marks as in a capture.

use bytemuck::{Pod, Zeroable};

/// Bytes of a RoCEv2 packet that are handed out: a connection manager's request behind two VLAN tags and
/// IPv6 takes 254, a clear-to-send of NCCL less.
pub const HEAD_LEN: usize = 256;

/// Bytes of payload behind a [`SegmentEvent`] of a short message, as most of NCCL's bootstrap are.
pub const MESSAGE_ROOM: usize = 512;

/// The same, of a packet of an MTU of 1500.
pub const PACKET_ROOM: usize = 2 * 1024;

/// The same, of longer packets, and of a piece of what the kernel joined from several.
pub const PIECE_ROOM: usize = 16 * 1024;

/// All rooms for payload behind a [`SegmentEvent`]: none where headers say it all.
pub const PAYLOAD_ROOMS: [usize; 4] = [0, MESSAGE_ROOM, PACKET_ROOM, PIECE_ROOM];

/// Packets of one flow that were only counted: middles of messages in order, or ACKs.
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
    /// Bytes of each, from the Ethernet header on, without its check sequence.
    pub wire_len: u32,
    /// Packets by ECN codepoint (RFC 3168: not-ECT, ECT(1), ECT(0), CE).
    pub ecn: [u32; 4],
    /// Packet sequence number of the first one.
    pub first_psn: u32,
    /// Packets that were to be handed out and found no room.
    pub lost: u32,
    /// BTH opcode of all of them; of the first one that was lost, where none was counted.
    pub opcode: u32,
    /// Packet sequence number of the last one.
    pub last_psn: u32,
}

/// What every event begins with.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct EventHeader {
    /// When the packet passed.
    pub time: u64,
    /// Index of the network interface.
    pub interface_index: u32,
    /// 0 when it came in, 1 when it went out.
    pub is_outbound: u32,
    /// Bytes of the packet, from the Ethernet header on, without its check sequence.
    pub wire_len: u32,
    /// Bytes in [`PacketEvent::head`] that are the packet's.
    pub head_len: u32,
    /// VLAN tag that the NIC took off: TCI and above it the tag's protocol; 0 for none.
    pub vlan: u32,
    /// Bytes of the stream between the sequence number in the header and the payload that follows:
    /// a segment that was joined from several is handed out in pieces.
    pub payload_offset: u32,
    /// Bytes of payload that follow a [`SegmentEvent`].
    pub payload_len: u32,
    /// Always 0.
    pub reserved: u32,
}

/// A RoCEv2 packet.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct PacketEvent {
    /// When, where, how long.
    pub header: EventHeader,
    /// What its flow carried since the last event.
    pub run: Run,
    /// The packet's first bytes.
    pub head: [u8; HEAD_LEN],
}

/// A TCP segment, or a piece of one; one of [`PAYLOAD_ROOMS`] follows. So no record of one is as long as
/// a [`PacketEvent`].
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
