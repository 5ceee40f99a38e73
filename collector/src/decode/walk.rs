//! The order of headers: which one follows which, through tunnels, to the transport.

use super::cursor::{Cursor, saturate};
use super::error::{DecodeError, Layer, Limit};
use super::packet::{Body, Packet, Tunnel};
use super::pause::Pause;
use super::roce;
use super::tunnel::{Inner, Unwrapped, gre, vxlan};
use super::{ip, link, transport};
use crate::model::direction::Direction;
use crate::model::frame::Frame;

/// Reads the frame's headers into `packet`; an error is the reason to stop before the last one.
#[inline(always)]
pub(super) fn walk<'a>(frame: &Frame<'a>, packet: &mut Packet<'a>) -> Result<(), DecodeError> {
    let (ether_type, cursor) = link::decode(frame.link_type, Cursor::new(frame), packet)?;
    network(ether_type, cursor, 0, packet)
}

/// Reads from the network header on. `start` is where the frame itself starts: behind the headers
/// of a mirror session.
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
        // A mirror may have cut its copy; the copied packet still knows how long it was.
        let claimed = saturate(cursor.end_offset().saturating_sub(start));
        packet.wire_len = packet.wire_len.max(claimed);
    }
    if ip.protocol != ip::UDP {
        return not_udp(ip.protocol, cursor, start, packet);
    }
    let udp = transport::udp(&mut cursor)?;
    packet.body = Body::Udp(udp.ports);
    match udp.ports.destination {
        roce::UDP_PORT => roce::packet::decode(udp, ip.whole, cursor, packet),
        port if vxlan::PORTS.contains(&port) => through_vxlan(cursor, start, packet),
        _ => Ok(()),
    }
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

/// Bounds the recursion, which every tunnel is one turn of.
fn check_depth(layer: Layer, cursor: Cursor<'_>, packet: &Packet<'_>) -> Result<(), DecodeError> {
    match packet.tunnels.last() {
        Some(Some(_)) => Err(cursor.stop(layer, Limit::Depth)),
        _ => Ok(()),
    }
}

/// Goes on inside a tunnel: what was read so far is around the packet, not of it.
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
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::decode::packet::decode;
    use crate::model::tap::{LinkType, TapId};
    use crate::model::time::Timestamp;

    /// RDMA WRITE ONLY of 8 bytes from 10.0.0.1 to 10.0.0.2, as its bytes.
    fn write_only() -> Vec<u8> {
        let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
        frame.extend([0x45, 0x69, 0, 68, 0x12, 0x34, 0x40, 0, 64, 17, 0, 0]);
        frame.extend([10, 0, 0, 1, 10, 0, 0, 2]);
        frame.extend([0xc0, 0x01, 0x12, 0xb7, 0, 48, 0, 0]);
        frame.extend([0x0a, 0, 0xff, 0xff, 0, 0, 0, 0x11, 0x80, 0, 0, 7]);
        frame.extend([0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0x22, 0x22, 0, 0, 0, 8]);
        frame.extend([1, 2, 3, 4, 5, 6, 7, 8, 0xaa, 0xbb, 0xcc, 0xdd]);
        frame
    }

    fn frame(link_type: LinkType, wire_len: usize, bytes: &[u8]) -> Frame<'_> {
        let (tap, number, time) = (TapId(0), 1, Timestamp::EPOCH);
        let wire_len = wire_len as u32;
        Frame { tap, number, time, wire_len, bytes, link_type, direction: None }
    }

    fn roce<'a>(packet: &Packet<'a>) -> roce::packet::RocePacket<'a> {
        match packet.body {
            Body::Roce(roce) => roce,
            _ => panic!("no RoCE in {packet:?}"),
        }
    }

    #[test]
    fn padding_of_short_frames_is_no_payload() {
        let mut bytes = write_only();
        bytes.extend([0; 20]);
        let packet = decode(&frame(LinkType::Ethernet, bytes.len(), &bytes));
        let roce = roce(&packet);
        assert_eq!(packet.stop, None);
        assert_eq!(roce.payload, [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(roce.payload_len, 8);
        assert_eq!(roce.whole.map(<[u8]>::len), Some(68));
    }

    #[test]
    fn a_cut_extension_header_leaves_the_payload_length() {
        let bytes = write_only();
        let packet = decode(&frame(LinkType::Ethernet, bytes.len(), &bytes[..60]));
        let roce = roce(&packet);
        let stop = packet.stop.unwrap();
        assert_eq!((stop.layer, stop.limit), (Layer::Reth, Limit::Snap));
        assert_eq!((stop.offset, stop.need, stop.have), (54, 16, 6));
        assert_eq!((roce.reth, roce.payload_len, roce.whole), (None, 8, None));
    }

    #[test]
    fn a_frame_that_ends_and_one_that_was_cut_are_told_apart() {
        let bytes = write_only();
        for (wire_len, limit) in [(40, Limit::Frame), (82, Limit::Snap)] {
            let stop = decode(&frame(LinkType::Ethernet, wire_len, &bytes[..40])).stop.unwrap();
            assert_eq!((stop.layer, stop.limit), (Layer::Udp, limit));
        }
    }

    #[test]
    fn a_mirror_that_cuts_its_copy_leaves_the_length_of_the_original() {
        let copy = &write_only()[..60];
        let mut bytes = vec![0x45, 0, 0, 20 + 8 + 8 + 60, 0, 0, 0, 0, 64, 47, 0, 0];
        bytes.extend([192, 0, 2, 1, 192, 0, 2, 2]);
        bytes.extend([0x10, 0, 0x88, 0xbe, 0, 0, 0, 9, 0x10, 0, 0x04, 5, 0, 0, 0, 0]);
        bytes.extend(copy);
        let packet = decode(&frame(LinkType::RawIp, bytes.len(), &bytes));
        let tunnel = Tunnel::ErspanII { session: 5, sequence: 9, truncated: true };
        assert_eq!(packet.tunnels[0], Some(tunnel));
        assert_eq!((packet.wire_len, packet.outer_ip), (82, None));
        assert_eq!(packet.stop.unwrap().limit, Limit::Snap);
        assert_eq!(roce(&packet).payload_len, 8);
    }

    proptest! {
        #[test]
        fn any_bytes_decode(
            link in 0usize..6,
            wire_len in 0usize..4096,
            bytes in prop::collection::vec(any::<u8>(), 0..300),
        ) {
            let link = [1, 0, 12, 108, 113, 276][link];
            let packet = decode(&frame(LinkType::from_number(link), wire_len, &bytes));
            prop_assert!(packet.stop.is_none_or(|stop| stop.have <= bytes.len() as u32));
        }

        #[test]
        fn a_prefix_yields_a_prefix_of_the_layers(keep in 0usize..82, at in 0usize..82, value: u8) {
            let mut bytes = write_only();
            bytes[at] = value;
            let whole = decode(&frame(LinkType::Ethernet, 82, &bytes));
            let cut = decode(&frame(LinkType::Ethernet, 82, &bytes[..keep]));
            prop_assert!(cut.ethernet.is_none() || cut.ethernet == whole.ethernet);
            prop_assert!(cut.ip.is_none() || cut.ip == whole.ip);
            prop_assert_eq!(cut.wire_len, whole.wire_len);
            if let Body::Roce(cut) = cut.body {
                let whole = roce(&whole);
                prop_assert!(cut.bth == whole.bth && cut.payload_len == whole.payload_len);
                prop_assert!(cut.reth.is_none() || cut.reth == whole.reth);
                prop_assert!(whole.payload.starts_with(cut.payload));
                prop_assert_eq!(cut.whole, None);
            }
        }
    }
}
