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
#[inline]
pub(super) fn walk<'a>(frame: &Frame<'a>, packet: &mut Packet<'a>) -> Result<(), DecodeError> {
    let mut cursor = Cursor::new(frame);
    let mut ether_type = link::decode(frame.link_type, &mut cursor, packet)?;
    let mut mirrored_at = None;
    loop {
        let whole = match ether_type {
            link::IPV4 => ip::v4(&mut cursor, &mut packet.ip)?,
            link::IPV6 => ip::v6(&mut cursor, &mut packet.ip)?,
            other => return not_ip(other, &mut cursor, packet),
        };
        if let Some(start) = mirrored_at {
            // A mirror may have cut its copy; the copied packet still knows how long it was.
            let claimed = saturate(cursor.end_offset().saturating_sub(start));
            packet.wire_len = packet.wire_len.max(claimed);
        }
        let unwrapped = match packet.ip.map(|ip| ip.protocol) {
            Some(ip::UDP) => {
                let udp = transport::udp(&mut cursor)?;
                packet.body = Body::Udp(udp.ports);
                match udp.ports.destination {
                    roce::UDP_PORT => return roce::packet::decode(udp, whole, cursor, packet),
                    port if vxlan::PORTS.contains(&port) => {
                        check_depth(Layer::Vxlan, &cursor, packet)?;
                        vxlan::unwrap(&mut cursor)?
                    }
                    _ => return Ok(()),
                }
            }
            Some(ip::TCP) => {
                packet.body = Body::Tcp(transport::tcp(&mut cursor)?);
                return Ok(());
            }
            Some(ip::GRE) => {
                check_depth(Layer::Gre, &cursor, packet)?;
                match gre::unwrap(&mut cursor)? {
                    Some(unwrapped) => unwrapped,
                    None => {
                        packet.body = Body::OtherIp;
                        return Ok(());
                    }
                }
            }
            _ => {
                packet.body = Body::OtherIp;
                return Ok(());
            }
        };
        if unwrapped.is_mirror {
            mirrored_at = Some(cursor.offset());
        }
        ether_type = enter(unwrapped, &mut cursor, packet)?;
    }
}

#[cold]
fn not_ip<'a>(
    ether_type: u16,
    cursor: &mut Cursor<'a>,
    packet: &mut Packet<'a>,
) -> Result<(), DecodeError> {
    let pause = if ether_type == link::MAC_CONTROL { Pause::decode(cursor)? } else { None };
    packet.body = pause.map_or(Body::Other(ether_type), Body::Pause);
    Ok(())
}

#[cold]
fn check_depth(layer: Layer, cursor: &Cursor<'_>, packet: &Packet<'_>) -> Result<(), DecodeError> {
    match packet.tunnels.last() {
        Some(Some(_)) => Err(cursor.stop(layer, Limit::Depth)),
        _ => Ok(()),
    }
}

/// Goes on inside a tunnel: what was read so far is around the packet, not of it.
#[cold]
fn enter<'a>(
    Unwrapped { tunnel, inner, is_mirror }: Unwrapped,
    cursor: &mut Cursor<'a>,
    packet: &mut Packet<'a>,
) -> Result<u16, DecodeError> {
    if let Some(free) = packet.tunnels.iter_mut().find(|tunnel| tunnel.is_none()) {
        *free = Some(tunnel);
    }
    let outer_ip = packet.ip.take();
    packet.body = Body::Unread;
    if is_mirror {
        packet.wire_len = saturate(cursor.len());
        packet.outer_ip = None;
        packet.direction = match tunnel {
            Tunnel::ErspanIII { egress: true, .. } => Some(Direction::Sent),
            Tunnel::ErspanIII { egress: false, .. } => Some(Direction::Received),
            _ => None,
        };
    } else if packet.outer_ip.is_none() {
        packet.outer_ip = outer_ip;
    }
    if is_mirror || matches!(inner, Inner::Ethernet) {
        packet.ethernet = None;
        packet.vlans = [None; 2];
    }
    match inner {
        Inner::Ethernet => link::ethernet(cursor, packet),
        Inner::EtherType(ether_type) => Ok(ether_type),
    }
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
