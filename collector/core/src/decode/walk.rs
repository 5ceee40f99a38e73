//! The order of headers, through tunnels, to the transport.

use super::cursor::{Cursor, saturate};
use super::error::{DecodeError, Layer, Limit};
use super::packet::{Body, Packet, Tunnel};
use super::pause::Pause;
use super::roce;
use super::roce::bth::Bth;
use super::roce::packet::RocePacket;
use super::transport::Udp;
use super::tunnel::{Inner, Unwrapped, gre, vxlan};
use super::{ip, link, transport};
use crate::model::direction::Direction;
use crate::model::frame::Frame;

/// Reads the frame's headers into `packet`; an error is why the walk stopped before the last one.
#[inline(always)]
pub(super) fn walk<'a>(frame: &Frame<'a>, packet: &mut Packet<'a>) -> Result<(), DecodeError> {
    let (ether_type, cursor) = link::decode(frame.link_type, Cursor::new(frame), packet)?;
    network(ether_type, cursor, 0, packet)
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
        other => return not_ip(other, cursor, packet),
    };
    if start > 0 {
        // A mirror may have truncated its copy; the copied packet still has its original length.
        let claimed = saturate(cursor.end_offset().saturating_sub(start));
        packet.wire_len = packet.wire_len.max(claimed);
    }
    if ip.protocol != ip::UDP {
        return not_udp(ip.protocol, cursor, start, packet);
    }
    let udp = transport::udp(&mut cursor)?;
    packet.body = Body::Udp(udp.ports);
    match udp.ports.destination {
        roce::UDP_PORT => roce_v2(udp, ip.whole, cursor, packet),
        port if vxlan::PORTS.contains(&port) => through_vxlan(cursor, start, packet),
        _ => Ok(()),
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
    packet: &mut Packet<'a>,
) -> Result<(), DecodeError> {
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
        _ => packet.body = Body::OtherIp,
    }
    Ok(())
}

#[cold]
#[inline(never)]
fn through_vxlan<'a>(
    mut cursor: Cursor<'a>,
    start: usize,
    packet: &mut Packet<'a>,
) -> Result<(), DecodeError> {
    check_depth(Layer::Vxlan, cursor, packet)?;
    let unwrapped = vxlan::unwrap(&mut cursor)?;
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
