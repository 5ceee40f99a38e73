//! Whole frames, built byte by byte, through every kind of header.

use proptest::prelude::*;

use super::*;
use crate::decode::frame::decode;
use crate::decode::packet::VlanTag;
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

fn roce<'a>(packet: &Packet<'a>) -> RocePacket<'a> {
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
fn truncation_by_the_sender_and_by_the_snap_length_is_distinguished() {
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

fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let [l0, l1] = (20 + payload.len() as u16).to_be_bytes();
    let header = [0x45, 3, l0, l1, 0, 0, 0, 0, 64, protocol, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2];
    [&header, payload].concat()
}

fn decode_raw_ip(bytes: &[u8]) -> Packet<'_> {
    let frame = frame(LinkType::RawIp, bytes.len(), bytes);
    decode(&frame)
}

/// The addresses and the payload are the ones of `write_only`, whatever is around them.
#[track_caller]
fn assert_is_write_only(packet: &Packet<'_>) {
    assert_eq!(packet.stop, None);
    assert_eq!(packet.ip.map(|ip| ip.source.to_string()).as_deref(), Some("10.0.0.1"));
    assert_eq!(roce(packet).payload, [1, 2, 3, 4, 5, 6, 7, 8]);
    assert!(roce(packet).whole.is_some());
}

#[test]
fn vxlan_keeps_the_outer_ip_header() {
    let inner = write_only();
    let [l0, l1] = (16 + inner.len() as u16).to_be_bytes();
    let headers = [0xc0, 0, 0x12, 0xb5, l0, l1, 0, 0, 8, 0, 0, 0, 0, 1, 2, 0];
    let bytes = ipv4(17, &[&headers, &inner[..]].concat());
    let packet = decode_raw_ip(&bytes);
    assert_is_write_only(&packet);
    assert_eq!(packet.tunnels[0], Some(Tunnel::Vxlan { network_identifier: 0x102 }));
    assert_eq!(packet.outer_ip.map(|ip| ip.traffic_class), Some(3));
    assert_eq!(packet.wire_len, bytes.len() as u32);
}

#[test]
fn mirrors_leave_nothing_of_themselves_but_their_header() {
    let inner = write_only();
    let tunnel_of = |header: &[u8]| {
        let bytes = ipv4(47, &[header, &inner].concat());
        let packet = decode_raw_ip(&bytes);
        assert_is_write_only(&packet);
        assert_eq!((packet.outer_ip, packet.wire_len), (None, inner.len() as u32));
        (packet.tunnels[0].unwrap(), packet.direction)
    };
    assert_eq!(tunnel_of(&[0, 0, 0x88, 0xbe]), (Tunnel::ErspanI, None));
    assert_eq!(tunnel_of(&[0, 0, 0x65, 0x58]), (Tunnel::Gre { protocol: 0x6558 }, None));
    assert_eq!(
        tunnel_of(&[0x10, 0, 0x88, 0xbe, 0, 0, 1, 0, 0x10, 7, 0x03, 0xff, 0, 0, 0, 0]),
        (Tunnel::ErspanII { session: 1023, sequence: 256, truncated: false }, None)
    );
    let mut iii = vec![0x10, 0, 0x22, 0xeb, 0, 0, 0, 1, 0x20, 7, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0x09];
    iii.extend([0; 8]);
    assert_eq!(
        tunnel_of(&iii),
        (
            Tunnel::ErspanIII { session: 5, sequence: Some(1), truncated: false, egress: true },
            Some(Direction::Sent)
        )
    );
}

#[test]
fn gre_with_every_field_carries_ip() {
    let inner = &write_only()[14..];
    let header = [0xb0, 0, 8, 0, 1, 1, 0, 0, 2, 2, 2, 2, 3, 3, 3, 3];
    let bytes = ipv4(47, &[&header, inner].concat());
    let packet = decode_raw_ip(&bytes);
    assert_is_write_only(&packet);
    assert_eq!(packet.outer_ip.map(|ip| ip.protocol), Some(47));
}

#[test]
fn gre_that_is_not_known_here() {
    let body = |header: [u8; 4]| {
        let bytes = ipv4(47, &header);
        let packet = decode_raw_ip(&bytes);
        (matches!(packet.body, Body::OtherIp), packet.stop.map(|stop| stop.limit))
    };
    assert_eq!(body([0, 0, 0x12, 0x34]), (true, None));
    assert_eq!(body([0x40, 0, 0x65, 0x58]), (false, Some(Limit::HeaderField)));
}

#[test]
fn tunnels_are_followed_to_the_limit() {
    let nested = |depth| {
        let mut bytes = write_only()[14..].to_vec();
        for _ in 0..depth {
            bytes = ipv4(47, &[&[0, 0, 8, 0], &bytes[..]].concat());
        }
        let packet = decode_raw_ip(&bytes);
        packet.stop.map(|stop| stop.limit)
    };
    assert_eq!(nested(4), None);
    assert_eq!(nested(5), Some(Limit::Depth));
}

#[test]
fn of_many_vlan_tags_the_two_outermost_are_kept() {
    let mut bytes = write_only();
    let tags = [0x88, 0xa8, 0x20, 1, 0x91, 0, 0x40, 2, 0x81, 0, 0x6f, 0xff];
    bytes.splice(12..12, tags);
    let packet = decode(&frame(LinkType::Ethernet, bytes.len(), &bytes));
    assert_is_write_only(&packet);
    let tag = |id, priority| Some(VlanTag { id, priority });
    assert_eq!(packet.vlans, [tag(1, 1), tag(2, 2)]);
}

#[test]
fn ipv6_extension_headers_lead_to_the_transport() {
    let ipv6 = |extensions: &[u8], first: u8| {
        let udp = &write_only()[34..];
        let [l0, l1] = ((extensions.len() + udp.len()) as u16).to_be_bytes();
        let header = [&[0x60, 0, 0, 0, l0, l1, first, 64][..], &[0xfd; 32]].concat();
        [&header[..], extensions, udp].concat()
    };
    let atomic = [43, 0, 0, 0, 0, 0, 0, 0, 44, 0, 0, 0, 0, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0, 1];
    let bytes = ipv6(&atomic, 0);
    let packet = decode_raw_ip(&bytes);
    assert_eq!((packet.stop, roce(&packet).payload_len), (None, 8));
    assert_eq!(packet.ip.map(|ip| ip.protocol), Some(17));

    let bytes = ipv6(&[17, 0, 0, 8, 0, 0, 0, 1], 44);
    let stop = decode_raw_ip(&bytes).stop.unwrap();
    assert_eq!((stop.layer, stop.offset, stop.limit), (Layer::Ipv6Extension, 40, Limit::Fragment));

    let bytes = ipv6(&[17, 99, 0, 0, 0, 0, 0, 0], 60);
    let stop = decode_raw_ip(&bytes).stop.unwrap();
    assert_eq!((stop.layer, stop.need, stop.limit), (Layer::Ipv6Extension, 800, Limit::IpLength));
}

#[test]
fn lengths_that_offloading_leaves_open_reach_to_the_end() {
    let mut bytes = write_only();
    bytes[16..18].fill(0);
    bytes[38..40].fill(0);
    let packet = decode(&frame(LinkType::Ethernet, bytes.len(), &bytes));
    assert_eq!((packet.stop, roce(&packet).payload_len), (None, 8));
    assert_eq!(roce(&packet).whole, None);
}

#[test]
fn cooked_and_loopback_headers() {
    let ip = &write_only()[14..];
    let check = |link_type, header: &[u8]| {
        let bytes = [header, ip].concat();
        let frame = frame(link_type, bytes.len(), &bytes);
        let packet = decode(&frame);
        assert_is_write_only(&packet);
        (packet.ethernet.map(|ethernet| ethernet.source.to_string()), packet.direction)
    };
    let mac = Some("02:00:00:00:00:07".to_owned());
    let v1 = [0, 4, 0, 1, 0, 6, 2, 0, 0, 0, 0, 7, 0, 0, 8, 0];
    assert_eq!(check(LinkType::LinuxCookedV1, &v1), (mac.clone(), Some(Direction::Sent)));
    let v2 = [8, 0, 0, 0, 0, 0, 0, 3, 3, 4, 0, 6, 2, 0, 0, 0, 0, 7, 0, 0];
    assert_eq!(check(LinkType::LinuxCookedV2, &v2), (mac, Some(Direction::Received)));
    assert_eq!(check(LinkType::Null, &[2, 0, 0, 0]), (None, None));
    assert_eq!(check(LinkType::Null, &[0, 0, 0, 2]), (None, None));
    assert_eq!(check(LinkType::Loopback, &[0, 0, 0, 2]), (None, None));
}

#[test]
fn pause_frames() {
    let body = |control: &[u8]| {
        let bytes = [&[1, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 1, 0x88, 8], control].concat();
        match decode(&frame(LinkType::Ethernet, 60, &bytes)).body {
            Body::Pause(pause) => Some(pause),
            _ => None,
        }
    };
    let mut pfc = vec![1, 1, 0, 0x08];
    pfc.extend([0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 9]);
    let quanta = [0, 0, 0, 0xffff, 0, 0, 0, 9];
    assert_eq!(body(&pfc), Some(Pause::Pfc { enabled: 8, quanta }));
    assert_eq!(body(&[0, 1, 0x12, 0x34]), Some(Pause::Link { quanta: 0x1234 }));
    assert_eq!(body(&pfc[..19]), None);
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
