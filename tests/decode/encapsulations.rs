//! Everything around the innermost packet: tags, tunnels, mirrors, addresses and marks.

use std::net::IpAddr;

use railscope_core::decode::packet::{DEPTH_LIMIT, Packet, Tunnel};
use railscope_core::model::address::MacAddress;
use railscope_core::model::direction::Direction;
use railscope_core::model::ecn::Ecn;

use super::opcodes::assert_fields;
use super::{decode_whole, encapsulations, roce};
use crate::support::frame::{Built, DESTINATION_MAC, SOURCE_MAC};
use crate::support::ip::{Ipv4, Ipv6};
use crate::support::roce::Roce;

/// A RoCE packet in the encapsulation `name`.
fn wrapped(name: &str, opcode: u8) -> Built {
    let (_, frame) = encapsulations().into_iter().find(|(other, _)| *other == name).unwrap();
    frame.roce(&Roce::new(opcode, 33)).finish()
}

fn tunnels(packet: &Packet<'_>) -> Vec<Tunnel> {
    packet.tunnels.iter().flatten().copied().collect()
}

fn vlans(packet: &Packet<'_>) -> Vec<(u16, u8)> {
    packet.vlans.iter().flatten().map(|tag| (tag.id, tag.priority)).collect()
}

#[test]
fn the_packet_inside_is_the_same_in_all_of_them() {
    let (v4, v6) = (Ipv4::default(), Ipv6::default());
    for (name, frame) in encapsulations() {
        for opcode in [0x0a, 0x11, 0x64, 0x81, 0xb4] {
            let written = Roce::new(opcode, 33);
            let built = frame.clone().roce(&written).finish();
            let packet = decode_whole(&built);
            assert_eq!(packet.stop, None, "{name}");
            let read = roce(&packet);
            assert_fields(&read, &written);
            assert_eq!(read.udp_source_port, 49_152, "{name}");
            assert_eq!(read.whole, Some(&built.bytes[built.ip_offset..]), "{name}");

            let ip = packet.ip.unwrap();
            let is_v4 = built.bytes[built.ip_offset] >> 4 == 4;
            let (source, destination) = if is_v4 {
                (IpAddr::from(v4.source), IpAddr::from(v4.destination))
            } else {
                (IpAddr::from(v6.source), IpAddr::from(v6.destination))
            };
            assert_eq!((ip.source, ip.destination), (source, destination), "{name}");
            assert_eq!(ip.traffic_class, if is_v4 { v4.tos } else { v6.traffic_class }, "{name}");
            assert_eq!(ip.hop_limit, if is_v4 { v4.ttl } else { v6.hop_limit }, "{name}");
            assert_eq!(ip.identification, is_v4.then_some(v4.identification), "{name}");
            assert_eq!(ip.protocol, 17, "{name}");
            assert_eq!(ip.dscp().value(), 26, "{name}");
            assert_eq!(ip.ecn(), if is_v4 { Ecn::Ect0 } else { Ecn::Ect1 }, "{name}");
        }
    }
}

#[test]
fn stations_and_direction_by_link_layer() {
    let source = MacAddress(SOURCE_MAC);
    let both = Some((source, Some(MacAddress(DESTINATION_MAC))));
    let sender_only = Some((source, None));
    for (name, expected, direction) in [
        ("ipv4", both, None),
        ("cooked v1", sender_only, Some(Direction::Received)),
        ("cooked v1 ipv6", sender_only, Some(Direction::Sent)),
        ("cooked v2", sender_only, Some(Direction::Sent)),
        ("cooked v2 vlan", sender_only, Some(Direction::Received)),
        ("raw ipv4", None, None),
        ("null little", None, None),
        ("loop", None, None),
        ("vxlan", both, None),
        ("erspan II", both, None),
        ("erspan III in", both, Some(Direction::Received)),
        ("erspan III out, sub-header", both, Some(Direction::Sent)),
    ] {
        let built = wrapped(name, 0x11);
        let packet = decode_whole(&built);
        let stations = packet.ethernet.map(|header| (header.source, header.destination));
        assert_eq!(stations, expected, "{name}");
        assert_eq!(packet.direction, direction, "{name}");
    }
}

#[test]
fn tags_are_those_of_the_innermost_ethernet_header_outermost_first() {
    for (name, expected) in [
        ("ipv4", vec![]),
        ("vlan", vec![(100, 3)]),
        ("qinq", vec![(4095, 5), (100, 3)]),
        ("three tags", vec![(1, 7), (2, 6)]),
        ("cooked v2 vlan", vec![(100, 3)]),
        ("vxlan in ipv6, tags on both sides", vec![(100, 3)]),
        ("erspan II of a tag", vec![(100, 3)]),
    ] {
        let built = wrapped(name, 0x11);
        assert_eq!(vlans(&decode_whole(&built)), expected, "{name}");
    }
}

#[test]
fn tunnels_are_kept_with_their_fields_outermost_first() {
    let vxlan = Tunnel::Vxlan { network_identifier: 0x12_3456 };
    let erspan_ii = Tunnel::ErspanII { session: 0x155, sequence: 7, truncated: false };
    let erspan_iii =
        |egress| Tunnel::ErspanIII { session: 0x2aa, sequence: Some(8), truncated: false, egress };
    for (name, expected) in [
        ("ipv4", vec![]),
        ("vxlan", vec![vxlan]),
        ("vxlan linux port", vec![vxlan]),
        ("vxlan in ipv6, tags on both sides", vec![vxlan]),
        ("erspan I", vec![Tunnel::ErspanI]),
        ("erspan II", vec![erspan_ii]),
        ("erspan III in", vec![erspan_iii(false)]),
        ("erspan III out, sub-header", vec![erspan_iii(true)]),
        ("erspan II of vxlan", vec![erspan_ii, vxlan]),
        ("gre ethernet, plain", vec![Tunnel::Gre { protocol: 0x6558 }]),
        ("gre ethernet, key", vec![Tunnel::Gre { protocol: 0x6558 }]),
        ("gre ipv4", vec![Tunnel::Gre { protocol: 0x0800 }]),
        ("vxlan-gpe of ipv6", vec![vxlan]),
        ("geneve of ipv6, options", vec![Tunnel::Geneve { network_identifier: 0x12_3456 }]),
        ("mpls", vec![Tunnel::Mpls { label: 17 }]),
        ("mpls of ethernet", vec![Tunnel::Mpls { label: 17 }]),
        ("gre of mpls", vec![Tunnel::Mpls { label: 17 }]),
        ("ipv4 in ipv6", vec![Tunnel::IpInIp]),
        ("sonic mirror", vec![Tunnel::Mirror { protocol: 0x8949 }]),
        ("gre ipv6, sequence", vec![Tunnel::Gre { protocol: 0x86dd }]),
    ] {
        let built = wrapped(name, 0x11);
        assert_eq!(tunnels(&decode_whole(&built)), expected, "{name}");
    }
    assert_eq!(DEPTH_LIMIT, 4);
}

#[test]
fn the_fabric_marks_the_outer_header_of_a_tunnel_and_not_that_of_a_mirror() {
    for (name, outer) in [
        ("ipv4", None),
        ("vxlan", Some(Ecn::Ce)),
        ("vxlan in ipv6, tags on both sides", Some(Ecn::Ce)),
        ("gre ipv4", Some(Ecn::Ce)),
        ("erspan I", None),
        ("erspan II", None),
        ("erspan III in", None),
        ("gre ethernet, plain", None),
        ("gre ethernet, key", Some(Ecn::Ce)),
        ("erspan II of vxlan", Some(Ecn::Ce)),
        ("geneve of ethernet", Some(Ecn::Ce)),
        ("ipv4 in ipv6", Some(Ecn::Ce)),
        ("mpls", None),
        ("sonic mirror", None),
        ("sonic mirror of vxlan", Some(Ecn::Ce)),
    ] {
        let built = wrapped(name, 0x11);
        assert_eq!(decode_whole(&built).outer_ip.map(|ip| ip.ecn()), outer, "{name}");
    }
}

#[test]
fn a_mirrored_frame_has_its_own_length_and_a_tunnelled_one_the_tunnel_s() {
    for name in ["ipv4", "vlan", "vxlan", "gre ipv4", "gre ethernet, key", "cooked v2"] {
        let built = wrapped(name, 0x0a);
        assert_eq!(decode_whole(&built).wire_len as usize, built.bytes.len(), "{name}");
    }
    for name in [
        "erspan I",
        "erspan II",
        "erspan III out, sub-header",
        "gre ethernet, plain",
        "erspan II of vxlan",
        "sonic mirror",
    ] {
        let built = wrapped(name, 0x0a);
        let mirrored = built.places.iter().filter(|place| place.layer == "ethernet").nth(1);
        let expected = built.bytes.len() - mirrored.unwrap().offset;
        assert_eq!(decode_whole(&built).wire_len as usize, expected, "{name}");
    }
}
