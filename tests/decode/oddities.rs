//! Complete frames that are not plain RoCE: fragments, other protocols, wrong lengths, pauses.

use railscope_core::decode::error::{Layer, Limit};
use railscope_core::decode::packet::{Body, Packet, Ports};
use railscope_core::decode::pause::Pause;

use super::{ROCE, decode_whole, plain, roce};
use crate::support::frame::{Built, Erspan, FrameBuilder};
use crate::support::ip::{FRAGMENT, Ipv4, Ipv6};
use crate::support::roce::Roce;

fn ethernet_v4(ip: &Ipv4) -> FrameBuilder {
    FrameBuilder::ethernet().ipv4(ip)
}

fn stop(built: &Built) -> (Layer, Limit) {
    let stop = decode_whole(built).stop.unwrap();
    (stop.layer, stop.limit)
}

/// A plain frame with the bytes at `offset` overwritten.
fn overwritten(offset: usize, bytes: &[u8]) -> Built {
    let mut built = plain(&Roce::new(0x0a, 32));
    built.bytes[offset..offset + bytes.len()].copy_from_slice(bytes);
    built
}

#[test]
fn later_fragments_have_no_transport_header() {
    let ip = Ipv4 { fragment_offset: 3, more_fragments: true, ..Ipv4::default() };
    let built = ethernet_v4(&ip).udp(49_152, ROCE).roce(&Roce::new(0x0a, 32)).finish();
    assert_eq!(stop(&built), (Layer::Ipv4, Limit::Fragment));
    let packet = decode_whole(&built);
    assert!(matches!(packet.body, Body::Unread));
    assert!(packet.ip.is_some());

    // Offset 2, in units of eight bytes.
    let extensions = vec![(FRAGMENT, vec![0, 2 << 3, 0, 0, 0, 9])];
    let ip = Ipv6 { extensions, ..Ipv6::default() };
    let v6 = FrameBuilder::ethernet().ipv6(&ip).udp(49_152, ROCE).roce(&Roce::new(0x0a, 32));
    assert_eq!(stop(&v6.finish()), (Layer::Ipv6Extension, Limit::Fragment));
}

#[test]
fn a_first_fragment_is_read_and_is_not_whole() {
    let ip = Ipv4 { more_fragments: true, ..Ipv4::default() };
    let mut built = ethernet_v4(&ip).udp(49_152, ROCE).roce(&Roce::new(0x0a, 32)).finish();
    // The datagram continues in the next fragment: its length exceeds this packet's.
    built.bytes[38..40].copy_from_slice(&4000_u16.to_be_bytes());
    let packet = decode_whole(&built);
    let read = roce(&packet);
    assert_eq!((read.bth.opcode.0, read.whole), (0x0a, None));
    assert!(read.reth.is_some());
}

#[test]
fn tunnels_beyond_the_depth_limit_stop_the_walk() {
    let gre = |frame: FrameBuilder| frame.ipv4(&Ipv4::default()).gre(0x0800, None, None);
    let four = (0..4).fold(FrameBuilder::ethernet(), |frame, _| gre(frame));
    let wrap = |frame: FrameBuilder| {
        frame.ipv4(&Ipv4::default()).udp(49_152, ROCE).roce(&Roce::new(0x11, 0)).finish()
    };
    assert_eq!(decode_whole(&wrap(four.clone())).stop, None);
    assert_eq!(stop(&wrap(gre(four))), (Layer::Gre, Limit::Depth));
}

#[test]
fn a_mirror_says_when_it_cut_the_frame() {
    let erspan = Erspan::Ii { session: 1, sequence: 2, truncated: true };
    let frame = ethernet_v4(&Ipv4::default()).erspan(erspan).inner_ethernet();
    let written = Roce::new(0x0a, 200);
    let mut built = frame.ipv4(&Ipv4::default()).udp(49_152, ROCE).roce(&written).finish();
    // The switch kept 70 bytes of the frame and set the outer length to match.
    let mirrored = built.places.iter().filter(|place| place.layer == "ethernet").nth(1).unwrap();
    let (start, original) = (mirrored.offset, built.bytes.len() - mirrored.offset);
    built.bytes.truncate(start + 70);
    let outer_len = (start + 70 - 14) as u16;
    built.bytes[16..18].copy_from_slice(&outer_len.to_be_bytes());
    let packet = decode_whole(&built);
    assert_eq!(packet.wire_len as usize, original);
    let read = roce(&packet);
    assert_eq!((read.payload_len, read.payload.len()), (200, 0));
    assert_eq!(read.whole, None);
}

#[test]
fn values_that_leave_nothing_to_read_are_refused() {
    for (offset, bytes, layer) in [
        (14, &[0x55_u8][..], Layer::Ipv4), // version 5
        (14, &[0x44], Layer::Ipv4),        // header of 16 bytes
        (16, &[0, 19], Layer::Ipv4),       // total length below the header's
        (38, &[0, 7], Layer::Udp),         // datagram shorter than its header
    ] {
        let built = overwritten(offset, bytes);
        assert_eq!(stop(&built), (layer, Limit::HeaderField), "{bytes:?} at {offset}");
    }
    let built = FrameBuilder::raw_ip().bytes(&[0x70; 60]).finish();
    assert_eq!(stop(&built), (Layer::Link, Limit::HeaderField));
}

#[test]
fn lengths_inside_the_frame_end_the_packet() {
    // The IP packet ends inside the RETH.
    let built = overwritten(16, &50_u16.to_be_bytes());
    assert_eq!(stop(&built), (Layer::Reth, Limit::IpLength));
    // The UDP datagram ends inside the RETH.
    let built = overwritten(38, &30_u16.to_be_bytes());
    assert_eq!(stop(&built), (Layer::Reth, Limit::UdpLength));
    // It ends between the headers and the place of the ICRC.
    let built = overwritten(38, &38_u16.to_be_bytes());
    assert_eq!(stop(&built), (Layer::Icrc, Limit::UdpLength));
}

#[test]
fn other_traffic_is_named() {
    let body = |frame: FrameBuilder| format!("{:?}", decode_whole(&frame.finish()).body);
    let ports = |source, destination| Ports { source, destination };
    let udp = ethernet_v4(&Ipv4::default()).udp(4791, 53).bytes(&[0; 30]);
    assert_eq!(body(udp), format!("{:?}", Body::Udp(ports(4791, 53))));
    let mut tcp =
        vec![0x9c, 0x40, 0x00, 0x50, 0, 0, 0, 1, 0, 0, 0, 2, 0x50, 0x10, 1, 0, 0, 0, 0, 0];
    tcp.extend([1, 2, 3]);
    let mut built = ethernet_v4(&Ipv4::default()).bytes(&tcp).finish();
    built.bytes[23] = 6;
    let packet = decode_whole(&built);
    assert!(
        matches!(packet.body, Body::Tcp(seen) if seen.ports == ports(40_000, 80)),
        "{packet:?}"
    );
    built.bytes[23] = 1;
    assert!(matches!(decode_whole(&built).body, Body::OtherIp));
    let mut arp = FrameBuilder::ethernet().bytes(&[0; 46]).finish();
    arp.bytes[12..14].copy_from_slice(&[0x08, 0x06]);
    assert!(matches!(decode_whole(&arp).body, Body::Other(0x0806)));
}

#[test]
fn pause_frames() {
    fn pause(packet: &Packet<'_>) -> Pause {
        match packet.body {
            Body::Pause(pause) => pause,
            _ => panic!("no pause in {packet:?}"),
        }
    }
    let quanta = [0, 1, 2, 0xffff, 0x1234, 5, 6, 7];
    let built = FrameBuilder::ethernet().pfc(0b0101_1010, quanta).finish();
    assert_eq!(built.bytes.len(), 60);
    assert_eq!(pause(&decode_whole(&built)), Pause::Pfc { enabled: 0b0101_1010, quanta });
    let built = FrameBuilder::ethernet().vlan(0x8100, 7, 0).link_pause(0xabcd).finish();
    assert_eq!(pause(&decode_whole(&built)), Pause::Link { quanta: 0xabcd });
}
