//! RoCE v1, and native InfiniBand: a BTH without UDP before it.

use railscope_core::decode::packet::Body;
use railscope_core::model::ecn::Ecn;

use super::opcodes::assert_fields;
use super::{decode_cut, decode_whole, roce};
use crate::support::frame::{Built, ERF, FrameBuilder};
use crate::support::ip::Ipv6;
use crate::support::roce::Roce;

/// The GID of an IPv4 address.
fn gid(last: u8) -> [u8; 16] {
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, last]
}

/// The packet in every form.
pub(super) fn frames(packet: &Roce) -> Vec<(&'static str, Built)> {
    // The lowest bits are those of ECN in IP, and mean nothing here.
    let grh = Ipv6 { traffic_class: 107, ..Ipv6::default() };
    let of_ipv4 = Ipv6 { source: gid(1), destination: gid(2), ..Ipv6::default() };
    let ethernet = FrameBuilder::ethernet;
    let local = FrameBuilder::infiniband(2, 4, 17).roce(packet).finish_infiniband();
    vec![
        ("roce v1", ethernet().grh(&grh).roce(packet).finish()),
        ("roce v1, tag", ethernet().vlan(0x8100, 3, 100).grh(&of_ipv4).roce(packet).finish()),
        ("local", local.clone()),
        ("global", FrameBuilder::infiniband(3, 4, 17).grh(&grh).roce(packet).finish_infiniband()),
        ("record of a probe", record(21, &[], &local)),
        ("record with extensions", record(21, &[0x83, 0x03], &local)),
        ("record of ethernet", record(2, &[], &ethernet().grh(&of_ipv4).roce(packet).finish())),
    ]
}

/// A record in the extensible record format, with extension headers of these types.
fn record(kind: u8, extensions: &[u8], frame: &Built) -> Built {
    let padding: &[u8] = if kind == 2 { &[0; 2] } else { &[] };
    let has_more = if extensions.is_empty() { 0 } else { 0x80 };
    // Probes keep the FCS of Ethernet.
    let fcs = if kind == 2 { 4 } else { 0 };
    let wire = (frame.bytes.len() as u16 + fcs).to_be_bytes();
    let length = (16 + 8 * extensions.len() + padding.len() + frame.bytes.len()) as u16 + fcs;
    let mut bytes = vec![0, 0, 0, 0, 0xef, 0x41, 0x2b, 0x48, kind | has_more, 4];
    bytes.extend(length.to_be_bytes());
    bytes.extend([0; 2]);
    bytes.extend(wire);
    for extension in extensions {
        bytes.extend([*extension, 0, 0, 0, 0, 0, 0, 0]);
    }
    bytes.extend(padding);
    bytes.extend(&frame.bytes);
    bytes.extend(vec![0; usize::from(fcs)]);
    Built { link_type: ERF, bytes, ..frame.clone() }
}

#[test]
fn the_packet_inside_is_the_same_in_all_forms() {
    for opcode in [0x04, 0x0a, 0x0b, 0x11, 0x64] {
        let written = Roce::new(opcode, 33);
        for (name, built) in frames(&written) {
            let packet = decode_whole(&built);
            assert_eq!(packet.stop, None, "{name}");
            assert_fields(&roce(&packet), &written);
            assert_eq!(roce(&packet).udp_source_port, 0, "{name}");
            let expected = if name.starts_with("record of ethernet") { "roce v1" } else { name };
            let local =
                if name.starts_with("record") && expected == name { "local" } else { expected };
            let same = frames(&written).into_iter().find(|(other, _)| *other == local).unwrap().1;
            assert_eq!(packet.wire_len as usize, same.bytes.len(), "{name}");
        }
    }
}

#[test]
fn addresses_are_gids_or_lids() {
    let ends = |name: &str| {
        let all = frames(&Roce::new(0x11, 0));
        let (_, built) = all.iter().find(|(other, _)| *other == name).unwrap();
        let ip = decode_whole(built).ip.unwrap();
        [ip.source.to_string(), ip.destination.to_string()]
    };
    assert_eq!(ends("roce v1, tag"), ["10.0.0.1", "10.0.0.2"], "GIDs of IPv4 addresses");
    assert_eq!(ends("local"), ["fe80::4", "fe80::11"], "LIDs");
    assert_eq!(ends("record of a probe"), ["fe80::4", "fe80::11"]);
    assert_eq!(ends("global"), ends("roce v1"), "GIDs, not LIDs");
}

#[test]
fn marks_are_in_the_bth() {
    let built = FrameBuilder::infiniband(2, 4, 17).roce(&Roce::new(0x0a, 0)).finish_infiniband();
    assert!(!decode_whole(&built).is_marked());
    let mut marked = built;
    let bth = marked.places.iter().find(|place| place.layer == "bth").unwrap().offset;
    marked.bytes[bth + 4] |= 0x80;
    let packet = decode_whole(&marked);
    assert!(packet.is_marked());
    assert_eq!(packet.ip.unwrap().ecn(), Ecn::NotEct);
}

#[test]
fn a_traffic_class_marks_nothing() {
    for (name, built) in frames(&Roce::new(0x0a, 0)) {
        assert!(!decode_whole(&built).is_marked(), "{name}");
    }
}

#[test]
fn cut_anywhere() {
    for (name, built) in frames(&Roce::new(0x0b, 8)) {
        for kept in 0..built.bytes.len() {
            let packet = decode_cut(&built, kept, built.bytes.len());
            let is_whole = matches!(packet.body, Body::Roce(roce) if roce.reth.is_some());
            assert!(packet.stop.is_some() || is_whole, "{name} cut to {kept}");
        }
    }
}

#[test]
fn records_of_other_kinds_are_refused() {
    let local = FrameBuilder::infiniband(2, 4, 17).roce(&Roce::new(0x0a, 0)).finish_infiniband();
    let built = record(27, &[], &local);
    assert_eq!(decode_whole(&built).stop.map(|stop| stop.layer.name()), Some("erf"));
}
