//! The order of headers, through tunnels, to the transport.

use super::cursor::{Cursor, saturate};
use super::error::{DecodeError, Layer, Limit};
use super::packet::{Body, Packet, SflowDatagram, Tunnel};
use super::pause::Pause;
use super::roce;
use super::roce::bth::Bth;
use super::roce::packet::RocePacket;
use super::transport::Udp;
use super::tunnel::{Inner, Unwrapped, geneve, gre, mpls, vxlan};
use super::{erf, grh, ip, link, lrh, sflow, transport};
use crate::model::direction::Direction;
use crate::model::frame::Frame;
use crate::model::tap::LinkType;

/// Reads the frame's headers into `packet`; an error is why the walk stopped before the last one.
#[inline(always)]
pub(super) fn walk<'a>(frame: &Frame<'a>, packet: &mut Packet<'a>) -> Result<(), DecodeError> {
    let mut cursor = Cursor::new(frame);
    if frame.link_type != LinkType::Ethernet {
        return not_ethernet(frame.link_type, cursor, packet);
    }
    let ether_type = link::ethernet(&mut cursor, packet)?;
    network(ether_type, cursor, 0, packet)
}

#[cold]
#[inline(never)]
fn not_ethernet<'a>(
    link_type: LinkType,
    mut cursor: Cursor<'a>,
    packet: &mut Packet<'a>,
) -> Result<(), DecodeError> {
    match link_type {
        LinkType::InfiniBand => infiniband(cursor, packet),
        LinkType::Erf => record(cursor, packet),
        link_type => {
            let ether_type = link::decode(link_type, &mut cursor, packet)?;
            network(ether_type, cursor, 0, packet)
        }
    }
}

/// Reads a record of a probe; its own header is not part of the frame.
fn record<'a>(mut cursor: Cursor<'a>, packet: &mut Packet<'a>) -> Result<(), DecodeError> {
    let record = erf::decode(&mut cursor)?;
    packet.wire_len = saturate(cursor.len());
    match record {
        erf::Record::InfiniBand => infiniband(cursor, packet),
        erf::Record::Ethernet => {
            let ether_type = link::ethernet(&mut cursor, packet)?;
            network(ether_type, cursor, 0, packet)
        }
    }
}

/// Reads from InfiniBand's local route header on.
#[cold]
#[inline(never)]
fn infiniband<'a>(mut cursor: Cursor<'a>, packet: &mut Packet<'a>) -> Result<(), DecodeError> {
    match lrh::decode(&mut cursor, &mut packet.ip)? {
        lrh::Next::Bth => base_transport(cursor, packet),
        lrh::Next::Grh => roce_v1(cursor, 0, packet),
        lrh::Next::Raw => {
            packet.body = Body::OtherIp;
            Ok(())
        }
    }
}

/// Reads from the global route header of RoCE v1 and InfiniBand on.
#[cold]
#[inline(never)]
fn roce_v1<'a>(
    mut cursor: Cursor<'a>,
    start: usize,
    packet: &mut Packet<'a>,
) -> Result<(), DecodeError> {
    let is_bth = grh::decode(&mut cursor, &mut packet.ip)?;
    believe_length(&cursor, start, packet);
    if is_bth {
        return base_transport(cursor, packet);
    }
    packet.body = Body::OtherIp;
    Ok(())
}

/// Reads from a BTH on that no UDP header precedes. Its ICRC covers other headers than that of RoCEv2,
/// and is not checked.
fn base_transport<'a>(mut cursor: Cursor<'a>, packet: &mut Packet<'a>) -> Result<(), DecodeError> {
    let datagram = cursor.bytes();
    let bth = Bth::decode(cursor.take(Layer::Bth)?);
    packet.body = Body::Roce(RocePacket::with_bth(bth, 0, datagram, None));
    let Body::Roce(roce) = &mut packet.body else { return Ok(()) };
    roce.read_rest(&mut cursor)
}

/// Reads from the network header on. `start` is where the frame itself starts, after the headers of
/// a mirror session.
#[inline(always)]
fn network<'a>(
    ether_type: u16,
    mut cursor: Cursor<'a>,
    start: usize,
    packet: &mut Packet<'a>,
) -> Result<(), DecodeError> {
    let ip = match ether_type {
        link::IPV4 => ip::v4(&mut cursor, &mut packet.ip)?,
        link::IPV6 => ip::v6(&mut cursor, &mut packet.ip)?,
        other => return not_ip(other, cursor, start, packet),
    };
    believe_length(&cursor, start, packet);
    if ip.protocol != ip::UDP {
        return not_udp(ip.protocol, cursor, start, packet);
    }
    let udp = transport::udp(&mut cursor)?;
    packet.body = Body::Udp(udp.ports);
    match udp.ports.destination {
        roce::UDP_PORT => roce_v2(udp, ip.whole, cursor, packet),
        port if vxlan::PORTS.contains(&port) => {
            through_udp(Layer::Vxlan, vxlan::unwrap, cursor, start, packet)
        }
        vxlan::GPE_PORT => through_udp(Layer::Vxlan, vxlan::unwrap_gpe, cursor, start, packet),
        geneve::PORT => through_udp(Layer::Geneve, geneve::unwrap, cursor, start, packet),
        sflow::UDP_PORT => {
            let payload = cursor.bytes();
            packet.body = Body::Sflow(SflowDatagram { ports: udp.ports, payload });
            Ok(())
        }
        _ => Ok(()),
    }
}

/// A mirror may have truncated its copy; the copied packet still has its original length.
#[inline(always)]
fn believe_length(cursor: &Cursor<'_>, start: usize, packet: &mut Packet<'_>) {
    if start > 0 {
        let claimed = saturate(cursor.end_offset().saturating_sub(start));
        packet.wire_len = packet.wire_len.max(claimed);
    }
}

/// Reads what follows the UDP header of RoCEv2.
#[inline(always)]
fn roce_v2<'a>(
    udp: Udp<'a>,
    whole_packet: Option<&'a [u8]>,
    mut cursor: Cursor<'a>,
    packet: &mut Packet<'a>,
) -> Result<(), DecodeError> {
    let bth = Bth::decode(cursor.take(Layer::Bth)?);
    let whole = if udp.fills_packet { whole_packet } else { None };
    packet.body = Body::Roce(RocePacket::with_bth(bth, udp.ports.source, udp.datagram, whole));
    // Filled in place: the packet is too large to be moved for every frame.
    let Body::Roce(roce) = &mut packet.body else { return Ok(()) };
    roce.read_rest(&mut cursor)
}

#[cold]
#[inline(never)]
fn not_ip<'a>(
    ether_type: u16,
    mut cursor: Cursor<'a>,
    start: usize,
    packet: &mut Packet<'a>,
) -> Result<(), DecodeError> {
    if ether_type == link::ROCE_V1 {
        return roce_v1(cursor, start, packet);
    }
    if mpls::ETHER_TYPES.contains(&ether_type) {
        check_depth(Layer::Mpls, cursor, packet)?;
        let unwrapped = mpls::unwrap(&mut cursor)?;
        return enter(unwrapped, cursor, start, packet);
    }
    let pause = if ether_type == link::MAC_CONTROL { Pause::decode(&mut cursor)? } else { None };
    packet.body = pause.map_or(Body::Other(ether_type), Body::Pause);
    Ok(())
}

#[cold]
#[inline(never)]
fn not_udp<'a>(
    protocol: u8,
    mut cursor: Cursor<'a>,
    start: usize,
    packet: &mut Packet<'a>,
) -> Result<(), DecodeError> {
    match protocol {
        ip::TCP => packet.body = Body::Tcp(transport::tcp(&mut cursor)?),
        ip::GRE => {
            check_depth(Layer::Gre, cursor, packet)?;
            if let Some(unwrapped) = gre::unwrap(&mut cursor)? {
                return enter(unwrapped, cursor, start, packet);
            }
            packet.body = Body::OtherIp;
        }
        ip::IPV4_IN_IP | ip::IPV6_IN_IP => {
            let is_v4 = protocol == ip::IPV4_IN_IP;
            let (layer, ether_type) =
                if is_v4 { (Layer::Ipv4, link::IPV4) } else { (Layer::Ipv6, link::IPV6) };
            check_depth(layer, cursor, packet)?;
            let inner = Inner::EtherType(ether_type);
            let unwrapped = Unwrapped { tunnel: Tunnel::IpInIp, inner, is_mirror: false };
            return enter(unwrapped, cursor, start, packet);
        }
        _ => packet.body = Body::OtherIp,
    }
    Ok(())
}

#[cold]
#[inline(never)]
fn through_udp<'a>(
    layer: Layer,
    unwrap: fn(&mut Cursor<'_>) -> Result<Unwrapped, DecodeError>,
    mut cursor: Cursor<'a>,
    start: usize,
    packet: &mut Packet<'a>,
) -> Result<(), DecodeError> {
    check_depth(layer, cursor, packet)?;
    let unwrapped = unwrap(&mut cursor)?;
    enter(unwrapped, cursor, start, packet)
}

/// Bounds the recursion, one level per tunnel.
fn check_depth(layer: Layer, cursor: Cursor<'_>, packet: &Packet<'_>) -> Result<(), DecodeError> {
    match packet.tunnels.last() {
        Some(Some(_)) => Err(cursor.stop(layer, Limit::Depth)),
        _ => Ok(()),
    }
}

/// Continues inside a tunnel: the headers so far are outer ones.
fn enter<'a>(
    Unwrapped { tunnel, inner, is_mirror }: Unwrapped,
    mut cursor: Cursor<'a>,
    start: usize,
    packet: &mut Packet<'a>,
) -> Result<(), DecodeError> {
    if let Some(free) = packet.tunnels.iter_mut().find(|tunnel| tunnel.is_none()) {
        *free = Some(tunnel);
    }
    let around = packet.ip.take();
    packet.body = Body::Unread;
    let start = if is_mirror { cursor.offset() } else { start };
    if is_mirror {
        packet.wire_len = saturate(cursor.len());
        packet.mirrored_by = packet.mirrored_by.or(around.map(|ip| ip.source));
        packet.outer_ip = None;
        packet.direction = match tunnel {
            Tunnel::ErspanIII { egress: true, .. } => Some(Direction::Sent),
            Tunnel::ErspanIII { egress: false, .. } => Some(Direction::Received),
            _ => None,
        };
    } else {
        packet.outer_ip = packet.outer_ip.or(around);
    }
    if is_mirror || matches!(inner, Inner::Ethernet) {
        packet.ethernet = None;
        packet.vlans = [None; 2];
    }
    let ether_type = match inner {
        Inner::Ethernet => link::ethernet(&mut cursor, packet)?,
        Inner::EtherType(ether_type) => ether_type,
    };
    network(ether_type, cursor, start, packet)
}

#[cfg(test)]
mod tests;
