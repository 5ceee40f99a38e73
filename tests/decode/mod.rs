//! Built frames against their decoded form: fields, cuts, the ICRC, and tshark.

mod encapsulations;
mod cuts;
mod icrc;
mod infiniband;
mod management;
mod opcodes;
mod oddities;
mod tshark;
mod nccl_cts;
mod nccl_layouts;
mod nccl_cuts;
mod nccl_hashes;

use railscope_core::decode::frame::decode;
use railscope_core::decode::packet::{Body, Packet};
use railscope_core::decode::roce::packet::RocePacket;
use railscope_core::model::frame::Frame;
use railscope_core::model::tap::{LinkType, TapId};
use railscope_core::model::time::Timestamp;

use crate::support::frame::{
    Built, Erspan, FrameBuilder, LOOPBACK_HOST_ORDER, LOOPBACK_NETWORK_ORDER,
};
use crate::support::ip::{DESTINATION_OPTIONS, FRAGMENT, HOP_BY_HOP, Ipv4, Ipv6, ROUTING};
use crate::support::roce::Roce;

const ROCE: u16 = 4791;

/// Decodes the first `kept` bytes of a frame that had `wire_bytes`.
fn decode_cut(built: &Built, kept: usize, wire_bytes: usize) -> Packet<'_> {
    decode(&Frame {
        tap: TapId(0),
        number: 1,
        time: Timestamp::EPOCH,
        wire_len: wire_bytes as u32,
        bytes: &built.bytes[..kept],
        link_type: LinkType::from_number(built.link_type),
        direction: None,
    })
}

/// Decodes a frame that was captured whole.
fn decode_whole(built: &Built) -> Packet<'_> {
    decode_cut(built, built.bytes.len(), built.bytes.len())
}

/// The RoCE packet of a frame; fails if there is none.
fn roce<'a>(packet: &Packet<'a>) -> RocePacket<'a> {
    match packet.body {
        Body::Roce(roce) => roce,
        _ => panic!("no RoCE in {packet:?}"),
    }
}

/// Ethernet over MPLS to an address that looks like the begin of IPv4.
fn intel_over_mpls() -> FrameBuilder {
    let frame = FrameBuilder::ethernet().mpls(&[17], false).inner_ethernet();
    frame.to([0x40, 0xa6, 0xb7, 0, 0, 1]).ipv4(&Ipv4::default())
}

/// A RoCE packet over untagged Ethernet and plain IPv4.
fn plain(packet: &Roce) -> Built {
    FrameBuilder::ethernet().ipv4(&Ipv4::default()).udp(49_152, ROCE).roce(packet).finish()
}

/// Every encapsulation of a RoCEv2 packet, up to its UDP header, by name.
fn encapsulations() -> Vec<(&'static str, FrameBuilder)> {
    let (v4, v6) = (Ipv4::default(), Ipv6::default());
    let ethernet = FrameBuilder::ethernet;
    // The outer header of a tunnel: other addresses and marks than the inner packet's.
    let outer_v4 = Ipv4 {
        source: [192, 0, 2, 1],
        destination: [192, 0, 2, 2],
        tos: 0b11,
        identification: 0x5678,
        ..Ipv4::default()
    };
    let outer_v6 = Ipv6 { traffic_class: 0b11, ..Ipv6::default() };
    let mirror = |erspan| ethernet().ipv4(&outer_v4).erspan(erspan).inner_ethernet();
    let erspan_ii = Erspan::Ii { session: 0x155, sequence: 7, truncated: false };
    let erspan_iii = |egress, has_sub_header| Erspan::Iii {
        session: 0x2aa,
        sequence: 8,
        truncated: false,
        egress,
        has_sub_header,
    };
    let options = |bytes| Ipv4 { options: vec![1; bytes], ..Ipv4::default() };
    let extended = |extensions: &[(u8, usize)]| Ipv6 {
        // Zeros are a Pad1 option, and a routing header of type 0 with no segments left.
        extensions: extensions.iter().map(|&(number, bytes)| (number, vec![0; bytes])).collect(),
        ..Ipv6::default()
    };
    let vxlan = |frame: FrameBuilder, port| frame.udp(50_000, port).vxlan(0x12_3456);
    let gpe =
        |protocol| ethernet().ipv4(&outer_v4).udp(50_000, 4790).vxlan_gpe(0x12_3456, protocol);
    let geneve = |words| ethernet().ipv4(&outer_v4).udp(50_000, 6081).geneve(0x12_3456, words);

    let before_udp = vec![
        ("ipv4", ethernet().ipv4(&v4)),
        ("ipv4 options 4", ethernet().ipv4(&options(4))),
        ("ipv4 options 40", ethernet().ipv4(&options(40))),
        ("ipv6", ethernet().ipv6(&v6)),
        ("ipv6 hop-by-hop", ethernet().ipv6(&extended(&[(HOP_BY_HOP, 6)]))),
        (
            "ipv6 routing, destination",
            ethernet().ipv6(&extended(&[(ROUTING, 22), (DESTINATION_OPTIONS, 14)])),
        ),
        ("ipv6 atomic fragment", ethernet().ipv6(&extended(&[(FRAGMENT, 6)]))),
        ("vlan", ethernet().vlan(0x8100, 3, 100).ipv4(&v4)),
        ("vlan ipv6", ethernet().vlan(0x8100, 3, 100).ipv6(&v6)),
        ("qinq", ethernet().vlan(0x88a8, 5, 4095).vlan(0x8100, 3, 100).ipv4(&v4)),
        (
            "three tags",
            ethernet().vlan(0x9100, 7, 1).vlan(0x9100, 6, 2).vlan(0x8100, 5, 3).ipv4(&v4),
        ),
        ("cooked v1", FrameBuilder::cooked_v1(0).ipv4(&v4)),
        ("cooked v1 ipv6", FrameBuilder::cooked_v1(4).ipv6(&v6)),
        ("cooked v2", FrameBuilder::cooked_v2(4).ipv4(&v4)),
        ("cooked v2 vlan", FrameBuilder::cooked_v2(0).vlan(0x8100, 3, 100).ipv6(&v6)),
        ("raw ipv4", FrameBuilder::raw_ip().ipv4(&v4)),
        ("raw ipv6", FrameBuilder::raw_ip().ipv6(&v6)),
        ("null little", FrameBuilder::loopback(LOOPBACK_HOST_ORDER, false).ipv4(&v4)),
        ("null big", FrameBuilder::loopback(LOOPBACK_HOST_ORDER, true).ipv6(&v6)),
        ("loop", FrameBuilder::loopback(LOOPBACK_NETWORK_ORDER, true).ipv4(&v4)),
        ("loop ipv6", FrameBuilder::loopback(LOOPBACK_NETWORK_ORDER, true).ipv6(&v6)),
        ("vxlan", vxlan(ethernet().ipv4(&outer_v4), 4789).inner_ethernet().ipv4(&v4)),
        ("vxlan linux port", vxlan(ethernet().ipv4(&outer_v4), 8472).inner_ethernet().ipv6(&v6)),
        (
            "vxlan in ipv6, tags on both sides",
            vxlan(ethernet().vlan(0x8100, 1, 9).ipv6(&outer_v6), 4789)
                .inner_ethernet()
                .vlan(0x8100, 3, 100)
                .ipv4(&v4),
        ),
        ("erspan I", mirror(Erspan::I).ipv4(&v4)),
        ("erspan II", mirror(erspan_ii).ipv4(&v4)),
        ("erspan II of a tag", mirror(erspan_ii).vlan(0x8100, 3, 100).ipv6(&v6)),
        ("erspan III in", mirror(erspan_iii(false, false)).ipv4(&v4)),
        ("erspan III out, sub-header", mirror(erspan_iii(true, true)).ipv4(&v4)),
        (
            "erspan II of vxlan",
            vxlan(mirror(erspan_ii).ipv4(&outer_v4), 4789).inner_ethernet().ipv4(&v4),
        ),
        // Spectrum switches mirror with a GRE header without options.
        (
            "gre ethernet, plain",
            ethernet().ipv4(&outer_v4).gre(0x6558, None, None).inner_ethernet().ipv4(&v4),
        ),
        (
            "gre ethernet, key",
            ethernet().ipv4(&outer_v4).gre(0x6558, Some(9), None).inner_ethernet().ipv4(&v4),
        ),
        ("vxlan-gpe of ethernet", gpe(3).inner_ethernet().ipv4(&v4)),
        ("vxlan-gpe of ipv4", gpe(1).ipv4(&v4)),
        ("vxlan-gpe of ipv6", gpe(2).ipv6(&v6)),
        ("geneve of ethernet", geneve(0).inner_ethernet().ipv4(&v4)),
        ("geneve of ipv6, options", geneve(3).ipv6(&v6)),
        ("mpls", ethernet().mpls(&[16, 17], false).ipv4(&v4)),
        ("mpls of ipv6", ethernet().mpls(&[17], false).ipv6(&v6)),
        ("mpls of ethernet", ethernet().mpls(&[17], true).inner_ethernet().ipv4(&v4)),
        ("mpls of ethernet, no control word", intel_over_mpls()),
        (
            "gre of mpls",
            ethernet().ipv4(&outer_v4).gre(0x8847, None, None).mpls(&[17], false).ipv4(&v4),
        ),
        ("ipv4 in ipv4", ethernet().ipv4(&outer_v4).ipv4(&v4)),
        ("ipv6 in ipv4", ethernet().ipv4(&outer_v4).ipv6(&v6)),
        ("ipv4 in ipv6", ethernet().ipv6(&outer_v6).ipv4(&v4)),
        ("sonic mirror", ethernet().ipv4(&outer_v4).sonic_mirror().inner_ethernet().ipv4(&v4)),
        (
            "sonic mirror of vxlan",
            vxlan(ethernet().ipv4(&outer_v4).sonic_mirror().inner_ethernet().ipv4(&outer_v4), 4789)
                .inner_ethernet()
                .ipv4(&v4),
        ),
        ("gre ipv4", ethernet().ipv4(&outer_v4).gre(0x0800, None, None).ipv4(&v4)),
        ("gre ipv6, sequence", ethernet().ipv4(&outer_v4).gre(0x86dd, None, Some(1)).ipv6(&v6)),
    ];
    before_udp.into_iter().map(|(name, frame)| (name, frame.udp(49_152, ROCE))).collect()
}
