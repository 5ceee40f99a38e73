//! The readable part of a frame, from its first link-layer byte to the last readable header.
//!
//! Flows are made of the innermost packet; the outermost IP header's ECN codepoint is kept too,
//! because the fabric marks that one.

use std::net::IpAddr;

use super::error::DecodeError;
use super::pause::Pause;
use super::roce::packet::RocePacket;
use crate::model::address::MacAddress;
use crate::model::direction::Direction;
use crate::model::ecn::{Dscp, Ecn};

/// Most nested tunnels; a deeper one stops the walk with `Limit::Depth`.
pub const DEPTH_LIMIT: usize = 4;

/// The readable part of a frame.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// Bytes of the frame on the wire; for a mirrored frame, of the original without the mirror's
    /// encapsulation. A VXLAN header counts, because the fabric carries it.
    pub wire_len: u32,
    /// Addresses of the innermost Ethernet header; a cooked capture has only the source.
    pub ethernet: Option<Ethernet>,
    /// VLAN tags of the innermost Ethernet header, outermost tag first.
    pub vlans: [Option<VlanTag>; 2],
    /// Direction at the interface: from an ERSPAN III header, a cooked header, or the capture file;
    /// unknown for other mirrored frames.
    pub direction: Option<Direction>,
    /// Removed tunnel headers, outermost first.
    pub tunnels: [Option<Tunnel>; DEPTH_LIMIT],
    /// The switch that mirrored the frame: source address of the outermost mirror header. `None`
    /// for a frame that was not mirrored.
    pub mirrored_by: Option<IpAddr>,
    /// The outermost IP header if it is not `ip` and belongs to the fabric (VXLAN, Geneve, GRE, IP in
    /// IP) rather than
    /// to a mirror session (ERSPAN, or Ethernet in GRE without any flag, as Spectrum switches
    /// mirror).
    pub outer_ip: Option<Ip>,
    /// The innermost IP header.
    pub ip: Option<Ip>,
    /// Content of the innermost packet.
    pub body: Body<'a>,
    /// Why the walk ended early; `None` if every header was read.
    pub stop: Option<DecodeError>,
}

/// The addresses of an Ethernet header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ethernet {
    /// MAC address of the sender on this link.
    pub source: MacAddress,
    /// Destination address; `None` in cooked captures, which do not keep it.
    pub destination: Option<MacAddress>,
}

/// An IEEE 802.1Q tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VlanTag {
    /// VLAN identifier, 0 ..= 4095.
    pub id: u16,
    /// Priority code point, 0 ..= 7.
    pub priority: u8,
}

/// The fields of an IPv4 or IPv6 header that matter here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ip {
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// IPv4 type of service or IPv6 traffic class byte: DSCP and ECN.
    pub traffic_class: u8,
    /// IPv4 identification; `None` for IPv6.
    pub identification: Option<u16>,
    /// IPv4 time to live or IPv6 hop limit.
    pub hop_limit: u8,
    /// Protocol of the payload, after IPv6 extension headers.
    pub protocol: u8,
}

/// A removed encapsulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tunnel {
    /// VXLAN (RFC 7348), UDP port 4789 or Linux's old 8472; VXLAN-GPE, 4790.
    Vxlan {
        /// VXLAN network identifier, 24 bits.
        network_identifier: u32,
    },
    /// Geneve (RFC 8926), UDP port 6081.
    Geneve {
        /// Virtual network identifier, 24 bits.
        network_identifier: u32,
    },
    /// MPLS (RFC 3032).
    Mpls {
        /// The innermost label, 20 bits.
        label: u32,
    },
    /// IPv4 or IPv6 in IP (RFC 2003, RFC 2473).
    IpInIp,
    /// A mirror session in GRE whose header has no public layout, as SONiC's (0x8949).
    Mirror {
        /// Protocol type of GRE.
        protocol: u16,
    },
    /// GRE carrying Ethernet (0x6558) or IP, without a mirror header.
    Gre {
        /// Protocol type.
        protocol: u16,
    },
    /// ERSPAN type I: GRE 0x88BE without a sequence number and without an ERSPAN header.
    ErspanI,
    /// ERSPAN type II (GRE 0x88BE with a sequence number).
    ErspanII {
        /// Session, 10 bits.
        session: u16,
        /// GRE sequence number, which counts mirrored frames of the session.
        sequence: u32,
        /// The switch truncated the frame.
        truncated: bool,
    },
    /// ERSPAN type III (GRE 0x22EB).
    ErspanIII {
        /// Session, 10 bits.
        session: u16,
        /// GRE sequence number; `None` when the header has none.
        sequence: Option<u32>,
        /// The switch truncated the frame.
        truncated: bool,
        /// The D bit: the frame was leaving the mirrored port.
        egress: bool,
    },
}

/// Content of the innermost packet.
#[derive(Clone, Copy, Debug)]
pub enum Body<'a> {
    /// Nothing could be read.
    Unread,
    /// RoCEv2 (UDP destination port 4791), RoCE v1 or InfiniBand, with a complete BTH at least.
    Roce(RocePacket<'a>),
    /// A PFC or 802.3x pause frame.
    Pause(Pause),
    /// A TCP segment, undecoded beyond its header.
    Tcp(TcpSegment<'a>),
    /// A datagram to a collector of sFlow (UDP port 6343). What switches sampled is never a packet of this tap.
    Sflow(SflowDatagram<'a>),
    /// UDP other than RoCEv2, sFlow and tunnels.
    Udp(Ports),
    /// Another IP protocol; its number is in [`Ip::protocol`].
    OtherIp,
    /// Not IP: the `EtherType`.
    Other(u16),
}

/// A TCP header and its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpSegment<'a> {
    /// Source and destination port.
    pub ports: Ports,
    /// Sequence number of the first payload byte, or of the SYN.
    pub sequence: u32,
    /// The next sequence number that the sender expects; valid with [`TcpFlags::ACK`].
    pub acknowledgment: u32,
    /// Control bits.
    pub flags: TcpFlags,
    /// The receive window that its sender offers, not scaled (RFC 7323); 0: it takes no more data.
    pub window: u16,
    /// The captured payload bytes.
    pub payload: &'a [u8],
    /// Payload bytes on the wire.
    pub payload_len: u32,
}

/// A UDP datagram to a collector of sFlow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SflowDatagram<'a> {
    /// Source and destination port.
    pub ports: Ports,
    /// The captured bytes of its payload.
    pub payload: &'a [u8],
}

/// Control bits of a TCP header (RFC 9293, section 3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpFlags(pub u8);

impl TcpFlags {
    /// No more data from the sender.
    pub const FIN: Self = Self(0x01);
    /// Synchronise sequence numbers.
    pub const SYN: Self = Self(0x02);
    /// Reset the connection.
    pub const RST: Self = Self(0x04);
    /// The acknowledgment field is significant.
    pub const ACK: Self = Self(0x10);

    /// Whether all bits of `other` are set.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// Source and destination port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports {
    /// Source port.
    pub source: u16,
    /// Destination port.
    pub destination: u16,
}

impl Packet<'_> {
    /// Whether an IP header carries a CE mark: in a tunnel, switches mark the outer one. Without UDP,
    /// the BTH has the mark (FECN).
    #[inline]
    #[must_use]
    pub fn is_marked(&self) -> bool {
        let is_ce = |ip: &Option<Ip>| ip.as_ref().is_some_and(|ip| ip.ecn() == Ecn::Ce);
        let has_fecn = || match &self.body {
            Body::Roce(roce) => roce.udp_source_port == 0 && roce.bth.fecn,
            _ => false,
        };
        is_ce(&self.ip) || is_ce(&self.outer_ip) || has_fecn()
    }
}

impl Ip {
    /// The ECN codepoint.
    #[must_use]
    pub const fn ecn(&self) -> Ecn {
        Ecn::from_traffic_class(self.traffic_class)
    }

    /// The differentiated services codepoint.
    #[must_use]
    pub const fn dscp(&self) -> Dscp {
        Dscp::from_traffic_class(self.traffic_class)
    }
}
