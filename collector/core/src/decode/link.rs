//! The first header of a frame: Ethernet with its VLAN tags, Linux cooked, loopback, or none.
//!
//! Every reader consumes its header and yields the next `EtherType`.

use super::cursor::Cursor;
use super::error::{DecodeError, Layer};
use super::packet::{Ethernet, Packet, VlanTag};
use crate::model::address::MacAddress;
use crate::model::direction::Direction;
use crate::model::tap::LinkType;

pub(super) const IPV4: u16 = 0x0800;
pub(super) const IPV6: u16 = 0x86dd;
/// Transparent Ethernet bridging, in GRE and Geneve.
pub(super) const ETHERNET_BRIDGING: u16 = 0x6558;
/// RoCE v1: a global route header in place of IP.
pub(super) const ROCE_V1: u16 = 0x8915;
/// MAC control: pause frames.
pub(super) const MAC_CONTROL: u16 = 0x8808;

/// A tag of IEEE 802.1Q; of 802.1ad, its outer one; of QinQ before 802.1ad had a number.
const VLAN: [u16; 3] = [0x8100, 0x88a8, 0x9100];

/// Reads the header that `link_type` says comes first.
pub(super) fn decode<'a>(
    link_type: LinkType,
    cursor: &mut Cursor<'a>,
    packet: &mut Packet<'a>,
) -> Result<u16, DecodeError> {
    match link_type {
        LinkType::Ethernet => ethernet(cursor, packet),
        LinkType::LinuxCookedV1 => linux_cooked_v1(cursor, packet),
        LinkType::LinuxCookedV2 => linux_cooked_v2(cursor, packet),
        LinkType::RawIp => raw_ip(cursor),
        LinkType::Null => null(cursor),
        LinkType::Loopback => loopback(cursor),
        LinkType::InfiniBand | LinkType::Erf | LinkType::Unknown(_) => {
            Err(cursor.refuse(Layer::Link))
        }
    }
}

/// Reads an Ethernet header and the VLAN tags behind it.
///
/// ```text
/// byte 0..5         6..11   12..13
///      destination  source  EtherType
/// ```
#[inline(always)]
pub(super) fn ethernet<'a>(
    cursor: &mut Cursor<'a>,
    packet: &mut Packet<'a>,
) -> Result<u16, DecodeError> {
    let &[d0, d1, d2, d3, d4, d5, s0, s1, s2, s3, s4, s5, t0, t1] =
        cursor.take::<14>(Layer::Ethernet)?;
    packet.ethernet = Some(Ethernet {
        source: MacAddress([s0, s1, s2, s3, s4, s5]),
        destination: Some(MacAddress([d0, d1, d2, d3, d4, d5])),
    });
    vlan_tags(u16::from_be_bytes([t0, t1]), cursor, packet)
}

/// Reads tags for as long as there are any; the two outermost are kept.
///
/// ```text
/// byte 0..1                     2..3
///      priority(3)|DEI|ID(12)   EtherType
/// ```
#[inline(always)]
fn vlan_tags<'a>(
    mut ether_type: u16,
    cursor: &mut Cursor<'a>,
    packet: &mut Packet<'a>,
) -> Result<u16, DecodeError> {
    while VLAN.contains(&ether_type) {
        let &[c0, c1, t0, t1] = cursor.take::<4>(Layer::Vlan)?;
        if let Some(free) = packet.vlans.iter_mut().find(|tag| tag.is_none()) {
            *free = Some(VlanTag { id: u16::from_be_bytes([c0 & 0x0f, c1]), priority: c0 >> 5 });
        }
        ether_type = u16::from_be_bytes([t0, t1]);
    }
    Ok(ether_type)
}

/// `LINKTYPE_LINUX_SLL`. Not etherparse's slice, which refuses every hardware type but Ethernet,
/// among them the loopback interface's.
///
/// ```text
/// byte 0..1         2..3           4..5            6..13    14..15
///      packet type  hardware type  address length  address  EtherType
/// ```
fn linux_cooked_v1<'a>(
    cursor: &mut Cursor<'a>,
    packet: &mut Packet<'a>,
) -> Result<u16, DecodeError> {
    let &[k0, k1, _, _, l0, l1, s0, s1, s2, s3, s4, s5, _, _, t0, t1] =
        cursor.take::<16>(Layer::LinuxCooked)?;
    cooked(
        u16::from_be_bytes([k0, k1]),
        u16::from_be_bytes([l0, l1]),
        MacAddress([s0, s1, s2, s3, s4, s5]),
        packet,
    );
    vlan_tags(u16::from_be_bytes([t0, t1]), cursor, packet)
}

/// `LINKTYPE_LINUX_SLL2`.
///
/// ```text
/// byte 0..1       2..3      4..7             8..9           10           11              12..19
///      EtherType  reserved  interface index  hardware type  packet type  address length  address
/// ```
fn linux_cooked_v2<'a>(
    cursor: &mut Cursor<'a>,
    packet: &mut Packet<'a>,
) -> Result<u16, DecodeError> {
    let &[t0, t1, _, _, _, _, _, _, _, _, kind, address_len, s0, s1, s2, s3, s4, s5, _, _] =
        cursor.take::<20>(Layer::LinuxCooked)?;
    let source = MacAddress([s0, s1, s2, s3, s4, s5]);
    cooked(u16::from(kind), u16::from(address_len), source, packet);
    vlan_tags(u16::from_be_bytes([t0, t1]), cursor, packet)
}

fn cooked(packet_type: u16, address_len: u16, source: MacAddress, packet: &mut Packet<'_>) {
    // Wire: 0 to us, 1 broadcast, 2 multicast, 3 to another host, 4 sent by us.
    packet.direction = match packet_type {
        0..=2 => Some(Direction::Received),
        4 => Some(Direction::Sent),
        _ => None,
    };
    if address_len == 6 {
        packet.ethernet = Some(Ethernet { source, destination: None });
    }
}

/// No link-layer header: the IP version is the only type there is.
pub(super) fn raw_ip(cursor: &Cursor<'_>) -> Result<u16, DecodeError> {
    match cursor.peek::<1>(Layer::Link)? {
        [0x40..=0x4f] => Ok(IPV4),
        [0x60..=0x6f] => Ok(IPV6),
        _ => Err(cursor.refuse(Layer::Link)),
    }
}

/// `LINKTYPE_NULL`: an address family in the capturing host's byte order, whichever that was.
fn null(cursor: &mut Cursor<'_>) -> Result<u16, DecodeError> {
    let &family = cursor.peek(Layer::Loopback)?;
    let little = u32::from_le_bytes(family);
    // Families are small: the order that makes the smaller number is the right one.
    address_family(little.min(little.swap_bytes()), cursor)
}

/// `LINKTYPE_LOOP`: the same in network byte order.
fn loopback(cursor: &mut Cursor<'_>) -> Result<u16, DecodeError> {
    let &family = cursor.peek(Layer::Loopback)?;
    address_family(u32::from_be_bytes(family), cursor)
}

fn address_family(family: u32, cursor: &mut Cursor<'_>) -> Result<u16, DecodeError> {
    let ether_type = match family {
        2 => IPV4,
        // Wire: AF_INET6 of Linux, NetBSD and OpenBSD, FreeBSD, macOS.
        10 | 24 | 28 | 30 => IPV6,
        _ => return Err(cursor.refuse(Layer::Loopback)),
    };
    cursor.take::<4>(Layer::Loopback)?;
    Ok(ether_type)
}
