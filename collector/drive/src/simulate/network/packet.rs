//! A packet of the simulation: its headers as values, without bytes.

use std::sync::Arc;

use super::id::NicId;

/// The ECN field of IP (RFC 3168).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecn {
    /// 00: must not be marked.
    NotEct,
    /// 01.
    Ect1,
    /// 10: what RoCE uses.
    Ect0,
    /// 11: congestion experienced.
    Ce,
}

impl Ecn {
    /// The two bits.
    pub const fn bits(self) -> u8 {
        match self {
            Self::NotEct => 0,
            Self::Ect1 => 1,
            Self::Ect0 => 2,
            Self::Ce => 3,
        }
    }

    /// Whether a switch may mark it.
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotEct)
    }
}

/// One frame on a wire. Constant fields are left to the writer: a NIC's addresses are in its plan;
/// MAC addresses are those of the link's two ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Packet {
    /// Its creator. A pause frame comes from the neighbour, whatever this says.
    pub source: NicId,
    /// The NIC that it is addressed to.
    pub destination: NicId,
    /// Content.
    pub body: Body,
    /// Chosen per queue pair: with it ECMP chooses the path.
    pub udp_source_port: u16,
    /// IPv4 identification: a counter of the NIC.
    pub ip_identification: u16,
    /// Frame size from the Ethernet header on, without FCS.
    pub frame_bytes: u16,
    /// DSCP of IP.
    pub dscp: u8,
    /// ECN of IP.
    pub ecn: Ecn,
    /// Switches passed: deducted from its TTL.
    pub hops: u8,
}

/// RoCEv2's destination port of UDP.
pub const ROCE_PORT: u16 = 4791;

/// The fields that choose a packet's path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowKey {
    /// Sending NIC.
    pub source: NicId,
    /// Receiving NIC.
    pub destination: NicId,
    /// Differs per queue pair.
    pub udp_source_port: u16,
    /// UDP destination port: [`ROCE_PORT`] for RoCE.
    pub udp_destination_port: u16,
}

impl Packet {
    /// The fields that choose its path.
    pub const fn flow(&self) -> FlowKey {
        let udp_destination_port = match self.body {
            Body::Datagram { udp_destination_port, .. } => udp_destination_port,
            _ => ROCE_PORT,
        };
        FlowKey {
            source: self.source,
            destination: self.destination,
            udp_source_port: self.udp_source_port,
            udp_destination_port,
        }
    }
}

/// Content of a packet.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// Part of an RDMA WRITE.
    Write(Write),
    /// An acknowledgement, positive or negative.
    Acknowledge {
        /// Queue pair of the requester.
        destination_qpn: u32,
        /// ACK: the last accepted packet. NAK: the missing one.
        psn: u32,
        /// AETH: kind and code.
        syndrome: Syndrome,
        /// AETH: completed messages, 24 bits.
        msn: u32,
    },
    /// Congestion notification (annex A17.9.3).
    Cnp {
        /// Queue pair that is asked to slow down.
        destination_qpn: u32,
    },
    /// A datagram of a background flow.
    Datagram {
        /// Not [`ROCE_PORT`].
        udp_destination_port: u16,
        /// UDP payload.
        payload_bytes: u16,
    },
    /// A PFC frame (IEEE 802.1Qbb); one priority each.
    Pause {
        /// The priority enabled in the class enable vector.
        priority: u8,
        /// Duration in times of 512 bits; 0: resume (XON).
        quanta: u16,
    },
}

/// One packet of an RDMA WRITE request of a reliable connection.
#[derive(Clone, Debug, PartialEq)]
pub struct Write {
    /// Queue pair of the responder.
    pub destination_qpn: u32,
    /// 24 bits.
    pub psn: u32,
    /// BTH: an ACK is requested.
    pub ack_request: bool,
    /// RETH of the message's first packet: FIRST or ONLY.
    pub first: Option<Reth>,
    /// Whether it is the message's last packet: LAST or ONLY.
    pub last: bool,
    /// Immediate of the last packet, if the message has one: `WITH_IMMEDIATE`.
    pub immediate: Option<u32>,
    /// Payload, without padding.
    pub payload_bytes: u16,
    /// First bytes of the first packet's payload; all others are zero.
    pub head: Option<Arc<[u8]>>,
}

/// RDMA extended transport header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reth {
    /// Destination address.
    pub remote_address: u64,
    /// Key of the destination.
    pub rkey: u32,
    /// Bytes of the message.
    pub bytes: u32,
}

/// The delay that a responder without a receive asks for: code 12, 0.64 ms, as NCCL sets it
/// (`src/transport/net_ib.cc`, `min_rnr_timer`; IBTA volume 1, table 45).
pub const RNR_TIMER: u8 = 12;

/// The same in nanoseconds.
pub const RNR_DELAY_NS: u64 = 640_000;

/// The meaning of an acknowledgement (IBTA volume 1, 9.7.5.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syndrome {
    /// Accepted up to here; credits are not counted.
    Ack,
    /// A packet is missing.
    NakSequence,
    /// No receive is posted.
    NotReady,
}

impl Syndrome {
    /// The byte of the AETH.
    pub const fn byte(self) -> u8 {
        match self {
            Self::Ack => 0x1f,
            Self::NakSequence => 0x60,
            Self::NotReady => 0x20 | RNR_TIMER,
        }
    }
}

impl Write {
    /// The opcode of the BTH (IBTA volume 1, table 38).
    pub const fn opcode(&self) -> u8 {
        match (self.first.is_some(), self.last, self.immediate.is_some()) {
            (true, false, _) => 0x06,
            (false, false, _) => 0x07,
            (false, true, false) => 0x08,
            (false, true, true) => 0x09,
            (true, true, false) => 0x0a,
            (true, true, true) => 0x0b,
        }
    }
}
