//! A packet of the simulation: what its headers say, without bytes.

use std::sync::Arc;

use super::plan::NicId;

/// The ECN field of IP (RFC 3168).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecn {
    /// 00: no switch may mark it.
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

/// One frame on a wire. What is the same in every frame is left to who writes it: a NIC's
/// addresses are in its plan; the MAC addresses are those of the link's two ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Packet {
    /// Who made it. A pause frame is its neighbour's, whatever this says.
    pub source: NicId,
    /// Whom it is for.
    pub destination: NicId,
    /// What it is.
    pub body: Body,
    /// Source port of UDP.
    pub udp_source_port: u16,
    /// Identification of IPv4: a counter of the NIC.
    pub ip_identification: u16,
    /// Bytes of the frame from the Ethernet header to the FCS, without the FCS.
    pub frame_bytes: u16,
    /// DSCP of IP.
    pub dscp: u8,
    /// ECN of IP.
    pub ecn: Ecn,
    /// Switches that it has passed: what is missing from its TTL.
    pub hops: u8,
}

/// RoCEv2's destination port of UDP.
pub const ROCE_PORT: u16 = 4791;

/// What chooses a packet's path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowKey {
    /// Who sends.
    pub source: NicId,
    /// Who receives.
    pub destination: NicId,
    /// Source port of UDP.
    pub udp_source_port: u16,
    /// Destination port of UDP: [`ROCE_PORT`] for RoCE.
    pub udp_destination_port: u16,
}

impl Packet {
    /// What chooses its path.
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

/// What a packet carries.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// Part of an RDMA WRITE.
    Write(Write),
    /// An acknowledgement, positive or negative.
    Acknowledge {
        /// Queue pair of the requester.
        destination_qpn: u32,
        /// ACK: the last packet that was taken. NAK: the one that is missing.
        psn: u32,
        /// AETH: kind and code.
        syndrome: Syndrome,
        /// AETH: messages completed, 24 bits.
        msn: u32,
    },
    /// Congestion notification (annex A17.9.3).
    Cnp {
        /// Queue pair that is asked to send more slowly.
        destination_qpn: u32,
    },
    /// A datagram of a background flow.
    Datagram {
        /// Destination port of UDP.
        udp_destination_port: u16,
        /// Payload of UDP.
        payload_bytes: u16,
    },
    /// A PFC frame (IEEE 802.1Qbb); one priority each.
    Pause {
        /// The one that is enabled in the class enable vector.
        priority: u8,
        /// How long, in times of 512 bits; 0: go on (XON).
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
    /// BTH: an ACK is asked for.
    pub ack_request: bool,
    /// Whether it begins its message: FIRST or ONLY, and has a RETH.
    pub first: Option<Reth>,
    /// Whether it ends its message: LAST or ONLY.
    pub last: bool,
    /// Of the last packet, if the message has one: `WITH_IMMEDIATE`.
    pub immediate: Option<u32>,
    /// Payload, without padding.
    pub payload_bytes: u16,
    /// The first bytes of the payload, of the first packet; all others are zero.
    pub head: Option<Arc<[u8]>>,
}

/// RDMA extended transport header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reth {
    /// Where the message goes.
    pub remote_address: u64,
    /// With which right.
    pub rkey: u32,
    /// Bytes of the message.
    pub bytes: u32,
}

/// What an acknowledgement says (IBTA volume 1, 9.7.5.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syndrome {
    /// Taken up to here; no credits are counted.
    Ack,
    /// A packet is missing.
    NakSequence,
}

impl Syndrome {
    /// The byte of the AETH.
    pub const fn byte(self) -> u8 {
        match self {
            Self::Ack => 0x1f,
            Self::NakSequence => 0x60,
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
