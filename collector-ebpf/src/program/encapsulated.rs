//! Packets in tunnels and mirror sessions, and RoCE v1: they are delivered, because user space knows the
//! headers, and counts the gaps in the numbers of mirror sessions. Of RoCE the headers are delivered; of
//! TCP what is delivered without a tunnel, too; of the rest, which may have another tunnel inside, 2 KiB.

use railscope_ebpf::event::{
    ENCAPSULATED, EventHeader, HEAD_LEN, MESSAGE_ROOM, PACKET_ROOM, PIECE_ROOM, SEGMENT,
};
use railscope_ebpf::loss::Loss;

use super::headers::{self, Header, IPV4, IPV6, Link, Network, TCP, UDP};
use super::packet::{Nature, Packet};
use super::tcp::{self, Segment, Share, hand_out_piece};
use super::{clock, log, roce};

/// MPLS (RFC 3032) to one receiver, and to several.
const MPLS: u16 = 0x8847;
const MPLS_MULTICAST: u16 = 0x8848;
/// RoCE v1 (IBTA annex A16).
const ROCE_V1: u16 = 0x8915;

/// IP protocols.
const IPV4_IN_IP: u8 = 4;
const IPV6_IN_IP: u8 = 41;
const GRE: u8 = 47;

/// UDP destination ports: VXLAN (RFC 7348), the one that Linux used before, VXLAN-GPE, Geneve (RFC 8926).
const VXLAN: u16 = 4789;
const VXLAN_OF_LINUX: u16 = 8472;
const VXLAN_GPE: u16 = 4790;
const GENEVE: u16 = 6081;

/// Types of GRE's payload: Ethernet, ERSPAN II or I, ERSPAN III, SONiC's mirror header.
const ETHERNET: u16 = 0x6558;
const ERSPAN: u16 = 0x88be;
const ERSPAN_III: u16 = 0x22eb;
const SONIC_MIRROR: u16 = 0x8949;
/// GRE's checksum, key and sequence number: four bytes each.
const GRE_SEQUENCE: u16 = 0x1000;
const GRE_FIELDS: [u16; 3] = [0x8000, 0x2000, GRE_SEQUENCE];

/// GRE (RFC 2784).
#[repr(C)]
#[derive(Clone, Copy)]
struct Gre {
    flags: u16,
    protocol: u16,
}

/// The last two bytes of ERSPAN III; the lowest bit says that a sub-header follows.
#[repr(C)]
#[derive(Clone, Copy)]
struct ErspanFlags(u16);

/// UDP (RFC 768), and the first bytes of what follows.
#[repr(C)]
#[derive(Clone, Copy)]
struct UdpAndFirst {
    source_port: u16,
    dest_port: u16,
    len_and_checksum: [u16; 2],
    first: [u8; 4],
}

// SAFETY: integers only.
unsafe impl Header for Gre {}
// SAFETY: integers only.
unsafe impl Header for ErspanFlags {}
// SAFETY: integers only.
unsafe impl Header for UdpAndFirst {}

/// The header that a tunnel holds, and where.
#[derive(Clone, Copy)]
enum Inside {
    Ethernet(usize),
    Ip(u16, usize),
    Unknown,
}

/// Takes a packet without IP; `None` if it is no use.
#[inline(always)]
pub(super) fn observe_link(packet: &impl Packet, link: &Link, is_outbound: bool) -> Option<()> {
    match link.ether_type {
        ROCE_V1 => hand_out(packet, (HEAD_LEN + MESSAGE_ROOM) as u32, is_outbound),
        MPLS | MPLS_MULTICAST => {
            hand_out(packet, (HEAD_LEN + PACKET_ROOM) as u32, is_outbound);
        }
        _ => return None,
    }
    Some(())
}

/// Takes an IP packet; `None` if it is in no tunnel.
#[inline(always)]
pub(super) fn observe(
    packet: &impl Packet,
    network: &Network,
    is_outbound: bool,
) -> Option<Nature> {
    let mut nature = Nature::Other;
    let inside = match network.protocol {
        GRE => {
            let inside;
            (nature, inside) = after_gre(packet, network.transport);
            inside
        }
        IPV4_IN_IP => Inside::Ip(IPV4, network.transport),
        IPV6_IN_IP => Inside::Ip(IPV6, network.transport),
        UDP => after_udp(packet, network.transport)?,
        _ => return None,
    };
    let is_numbered = network.protocol == GRE;
    let most = most(packet, inside, is_numbered);
    if most > 0 {
        hand_out(packet, most, is_outbound);
    }
    Some(nature)
}

#[inline(always)]
fn after_gre(packet: &impl Packet, at: usize) -> (Nature, Inside) {
    let Some(header) = headers::load::<Gre>(packet, at) else {
        return (Nature::Other, Inside::Unknown);
    };
    let (flags, protocol) = (u16::from_be(header.flags), u16::from_be(header.protocol));
    let mut inner = at + size_of::<Gre>();
    for field in GRE_FIELDS {
        if flags & field != 0 {
            inner += 4;
        }
    }
    let nature = match protocol {
        ERSPAN | ERSPAN_III | SONIC_MIRROR => Nature::MirrorSession,
        _ => Nature::Other,
    };
    let inside = match protocol {
        ETHERNET => Inside::Ethernet(inner),
        // Type I has no header of its own.
        ERSPAN if flags & GRE_SEQUENCE == 0 => Inside::Ethernet(inner),
        ERSPAN => Inside::Ethernet(inner + 8),
        ERSPAN_III => match headers::load::<ErspanFlags>(packet, inner + 10) {
            Some(ErspanFlags(flags)) if u16::from_be(flags) & 1 != 0 => {
                Inside::Ethernet(inner + 20)
            }
            _ => Inside::Ethernet(inner + 12),
        },
        SONIC_MIRROR => Inside::Ethernet(inner + 22),
        IPV4 | IPV6 => Inside::Ip(protocol, inner),
        _ => Inside::Unknown,
    };
    (nature, inside)
}

/// `None` if it is no tunnel.
#[inline(always)]
fn after_udp(packet: &impl Packet, at: usize) -> Option<Inside> {
    let header: UdpAndFirst = headers::load(packet, at)?;
    let inner = at + 16;
    Some(match u16::from_be(header.dest_port) {
        VXLAN | VXLAN_OF_LINUX => Inside::Ethernet(inner),
        VXLAN_GPE => match header.first[3] {
            1 => Inside::Ip(IPV4, inner),
            2 => Inside::Ip(IPV6, inner),
            _ => Inside::Ethernet(inner),
        },
        GENEVE => Inside::Ethernet(inner + usize::from(header.first[0] & 0x3f) * 4),
        _ => return None,
    })
}

/// Most bytes of the packet that are delivered; 0 for none. Packets of mirror sessions are numbered: at
/// least their headers are.
#[inline(always)]
fn most(packet: &impl Packet, inside: Inside, is_numbered: bool) -> u32 {
    let of_unknown = (HEAD_LEN + PACKET_ROOM) as u32;
    let of_roce = (HEAD_LEN + MESSAGE_ROOM) as u32;
    let link = match inside {
        Inside::Ethernet(at) => headers::link(packet, at),
        Inside::Ip(ether_type, network) => Some(Link { ether_type, network }),
        Inside::Unknown => None,
    };
    let Some(link) = link else { return of_unknown };
    if link.ether_type == ROCE_V1 {
        return of_roce;
    }
    let Some(network) = headers::network(packet, &link) else { return of_unknown };
    if roce::is_one(packet, &network) {
        return of_roce;
    }
    if network.protocol != TCP {
        return of_unknown;
    }
    match tcp::share(packet, &network) {
        Some(Share { payload_at, payload_len, is_any: true }) => payload_at + payload_len,
        Some(_) if !is_numbered => 0,
        _ => HEAD_LEN as u32,
    }
}

/// Delivers at most so many bytes of the packet.
#[inline(always)]
fn hand_out(packet: &impl Packet, most: u32, is_outbound: bool) {
    let len = packet.len();
    let header = EventHeader {
        time: clock::now(),
        interface_index: packet.interface_index(),
        wire_len: len,
        vlan: packet.vlan(),
        head_len: 0,
        marks: SEGMENT | ENCAPSULATED | u16::from(is_outbound),
    };
    let len = len.min(most);
    let payload_at = len.min(HEAD_LEN as u32);
    let payload_len = len - payload_at;
    let segment = Segment { header, payload_at, payload_len };
    if payload_len == 0 {
        hand_out_piece::<0>(packet, &segment, 0);
    } else if payload_len <= MESSAGE_ROOM as u32 {
        hand_out_piece::<MESSAGE_ROOM>(packet, &segment, 0);
    } else if payload_len <= PACKET_ROOM as u32 {
        hand_out_piece::<PACKET_ROOM>(packet, &segment, 0);
    } else if hand_out_piece::<PIECE_ROOM>(packet, &segment, 0) && payload_len > PIECE_ROOM as u32 {
        log::lost(Loss::Payload);
    }
}
