//! A recorded job in tunnels and mirror sessions, live: kernel programs and packet sockets see what
//! `analyze` sees in a capture.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use railscope::ingest::af_packet::{AfPacket, AfPacketConfig, WHOLE};
use railscope::ingest::file::CaptureSet;
use railscope::ingest::file::event::SourceEvent;
use railscope::ingest::live::{LiveEvent, LiveSource};
use railscope_core::model::health::event::HealthEvent;
use railscope_core::report::Report;
use serde_json::Value;

use super::ebpf::{self, Hook, IN_DRIVER, Wire};
use crate::support::clock::now;
use crate::support::frame::{Erspan, FrameBuilder};
use crate::support::ip::{DESTINATION_OPTIONS, HOP_BY_HOP, Ipv4, Ipv6};
use crate::support::recording::Recording;
use crate::support::{pcap, require};

/// What is said of an interface whose frames another program handles first.
const XDP_FIRST: &str = "far: an XDP program (bpftool prog show id ";

/// Bytes of an Ethernet header.
const ETHERNET: usize = 14;

/// Puts a frame, the `number`th, into an encapsulation.
type Wrap = fn(u32, &[u8]) -> Vec<u8>;

/// The IP header of a tunnel.
fn around() -> Ipv4 {
    Ipv4 { source: [192, 0, 2, 1], destination: [192, 0, 2, 2], ..Ipv4::default() }
}

fn outer() -> FrameBuilder {
    FrameBuilder::ethernet().ipv4(&around())
}

fn whole(headers: FrameBuilder, frame: &[u8]) -> Vec<u8> {
    headers.inner_ethernet().bytes(&frame[ETHERNET..]).finish_with(&frame[..ETHERNET])
}

fn packet(headers: FrameBuilder, frame: &[u8]) -> Vec<u8> {
    headers.bytes(&frame[ETHERNET..]).finish().bytes
}

const ENCAPSULATIONS: [(&str, Wrap); 15] = [
    ("plain", |_, frame| frame.to_vec()),
    ("erspan I", |_, frame| whole(outer().erspan(Erspan::I), frame)),
    ("erspan II", |number, frame| {
        let erspan = Erspan::Ii { session: 5, sequence: number, truncated: false };
        whole(outer().erspan(erspan), frame)
    }),
    ("erspan III", |number, frame| {
        let erspan = Erspan::Iii {
            session: 6,
            sequence: number,
            truncated: false,
            egress: number % 2 == 0,
            has_sub_header: true,
        };
        whole(outer().erspan(erspan), frame)
    }),
    ("gre", |_, frame| whole(outer().gre(0x6558, Some(9), None), frame)),
    ("vxlan", |_, frame| whole(outer().udp(50_000, 4789).vxlan(7), frame)),
    ("vxlan-gpe", |_, frame| packet(outer().udp(50_000, 4790).vxlan_gpe(7, 1), frame)),
    ("geneve", |_, frame| whole(outer().udp(50_000, 6081).geneve(7, 3), frame)),
    ("mpls", |_, frame| packet(FrameBuilder::ethernet().mpls(&[16, 17], false), frame)),
    ("ethernet over mpls", |_, frame| whole(FrameBuilder::ethernet().mpls(&[17], true), frame)),
    ("ip in ip", |_, frame| {
        let inner = Ipv4::default();
        outer().ipv4(&inner).replace_last(&frame[ETHERNET..])
    }),
    ("sonic mirror", |_, frame| whole(outer().sonic_mirror(), frame)),
    ("erspan II behind two tags", |number, frame| {
        let erspan = Erspan::Ii { session: 5, sequence: number, truncated: false };
        let tagged = FrameBuilder::ethernet().vlan(0x88a8, 3, 100).vlan(0x8100, 3, 200);
        whole(tagged.ipv4(&around()).erspan(erspan), frame)
    }),
    ("erspan II behind ipv6 extension headers", |number, frame| {
        let erspan = Erspan::Ii { session: 5, sequence: number, truncated: false };
        let padding =
            |bytes: u8| [&[1, bytes - 2], vec![0; usize::from(bytes) - 2].as_slice()].concat();
        let extensions = vec![(HOP_BY_HOP, padding(6)), (DESTINATION_OPTIONS, padding(14))];
        let around = Ipv6 { extensions, ..Ipv6::default() };
        whole(FrameBuilder::ethernet().ipv6(&around).erspan(erspan), frame)
    }),
    ("vxlan in erspan II in ipv6", |number, frame| {
        let erspan = Erspan::Ii { session: 5, sequence: number, truncated: false };
        let headers = FrameBuilder::ethernet().ipv6(&Ipv6::default()).erspan(erspan);
        whole(headers.inner_ethernet().ipv4(&around()).udp(50_000, 4789).vxlan(7), frame)
    }),
];

/// The IPv4 frames of a capture, each in an encapsulation, as another capture.
fn wrapped(captures: &[PathBuf], path: &Path, wrap: Wrap) {
    let mut captures = CaptureSet::open(captures).unwrap();
    let mut file = pcap::header(1, 1 << 18);
    let mut number = 0;
    while let Some(event) = captures.next_event() {
        let SourceEvent::Frame(frame) = event else { continue };
        if frame.bytes.get(12..14) != Some(&[0x08, 0x00]) || frame.bytes.len() > 60_000 {
            continue;
        }
        // Now and then, the mirror loses a frame.
        number += if number % 100 == 0 { 2 } else { 1 };
        let bytes = wrap(number, frame.bytes);
        pcap::record(&mut file, frame.time.as_nanos(), &bytes, bytes.len());
    }
    fs::write(path, file).unwrap();
}

/// What must be the same: flows, communicators, collectives, mirror sessions.
fn facts(report: &Report) -> Value {
    let report = serde_json::to_value(report).unwrap();
    let flow = |flow: &Value| {
        ["source", "destination", "dest_qpn", "frames", "payload_bytes", "opcodes", "messages"]
            .map(|key| flow[key].clone())
    };
    let flows: Vec<_> = report["flows"].as_array().unwrap().iter().map(flow).collect();
    let communicator = |one: &Value| {
        let ranks = one["ranks"].as_array().unwrap().len();
        (one["id"].clone(), one["nranks"].clone(), ranks)
    };
    let communicators: Vec<_> =
        report["communicators"].as_array().unwrap().iter().map(communicator).collect();
    let collective = |one: &Value| ["kind", "bytes", "sequence"].map(|key| one[key].clone());
    let collectives: Vec<_> =
        report["collectives"].as_array().unwrap().iter().map(collective).collect();
    serde_json::json!({
        "flows": flows,
        "communicators": communicators,
        "collectives": collectives,
        "lost_by_the_mirror": report["health"]["mirror.lost_frames"],
    })
}

/// Packet sockets at the same interface.
fn packet_sockets(wire: &Wire) -> AfPacket {
    let config = AfPacketConfig {
        interfaces: vec!["far".to_owned()],
        namespace: Some(wire.path()),
        promiscuous: false,
        roce_bytes: 512,
        other_bytes: WHOLE,
        ring_mebibytes: 64,
    };
    AfPacket::open(&config).unwrap()
}

/// What packet sockets see of the same frames.
fn by_packet_sockets(wire: &Wire, capture: &PathBuf) -> Report {
    let mut source = packet_sockets(wire);
    let mut pipeline = ebpf::pipeline();
    wire.replay(std::slice::from_ref(capture));
    let begun = now();
    while begun.elapsed() < Duration::from_millis(300) {
        let mut take = |event: LiveEvent<'_>| match event {
            LiveEvent::Tap(tap) => pipeline.add_tap(tap),
            LiveEvent::Frame(frame) => pipeline.handle_frame(&frame),
            LiveEvent::Warning(line) if line.contains(XDP_FIRST) => {}
            other => panic!("{other:?}"),
        };
        source.poll(Duration::from_millis(20), &mut take).unwrap();
    }
    ebpf::finish(pipeline)
}

#[test]
fn every_encapsulation_live_is_what_it_is_offline() {
    let test = "every_encapsulation_live_is_what_it_is_offline";
    if !require::root(test) || !require::has(test, "ip") {
        return;
    }
    let recording = Recording::unpack("fullsnap-2.27.5");
    let names = recording.captures();
    let of_one_host = names.iter().filter(|name| name.starts_with("node01"));
    let captures: Vec<_> = of_one_host.map(|name| recording.folder().join(name)).collect();
    let folder = tempfile::tempdir().unwrap();
    for (name, wrap) in ENCAPSULATIONS {
        let capture = folder.path().join("wrapped.pcap");
        wrapped(&captures, &capture, wrap);
        let expected = facts(&ebpf::offline(std::slice::from_ref(&capture)));
        assert!(!expected["collectives"].as_array().unwrap().is_empty(), "{name}");
        let wire = Wire::new("mirror");
        for hook in [Hook::TrafficControl, Hook::Driver] {
            let (live, ..) = ebpf::live(&wire, hook, std::slice::from_ref(&capture));
            assert_eq!(facts(&live), expected, "{name}, kernel programs, {hook:?}");
        }
        assert_eq!(facts(&by_packet_sockets(&wire, &capture)), expected, "{name}, packet sockets");
    }
}

/// The driver of a mirror port drops copies, and passes on what is for this host, or for all. The program sees
/// both.
#[test]
fn only_copies_are_dropped_at_a_mirror_port() {
    let test = "only_copies_are_dropped_at_a_mirror_port";
    if !require::root(test) || !require::has(test, "ip") {
        return;
    }
    let wire = Wire::new("copies");
    let (own, other, all) = (wire.address("far"), [2, 0, 0, 0, 0, 9], [0xff; 6]);
    let roce = || {
        let bth = [4, 0x40, 0xff, 0xff, 0, 0, 0, 7, 0, 0, 0, 1];
        outer().udp(50_000, 4791).bytes(&bth).bytes(&[7; 60]).finish().bytes
    };
    let session = |erspan| whole(outer().erspan(erspan), &roce());
    let numbered = Erspan::Ii { session: 5, sequence: 1, truncated: false };
    let third = Erspan::Iii {
        session: 6,
        sequence: 1,
        truncated: false,
        egress: false,
        has_sub_header: true,
    };
    let tagged = || {
        let bth = [4, 0x40, 0xff, 0xff, 0, 0, 0, 7, 0, 0, 0, 1];
        let headers = FrameBuilder::ethernet().vlan(0x8100, 3, 200).ipv4(&around());
        headers.udp(50_000, 4791).bytes(&bth).bytes(&[7; 60]).finish().bytes
    };
    let plain = || FrameBuilder::ethernet().bytes(&[0x5a; 60]).finish().bytes;
    let tunnel = || whole(outer().gre(0x6558, Some(9), None), &roce());
    let cases = [
        ("RoCEv2 to another host", other, roce(), false),
        ("RoCEv2 to this host", own, roce(), true),
        ("RoCEv2 to all", all, roce(), true),
        ("RoCEv2 to many", [1, 0, 0x5e, 0, 0, 1], roce(), true),
        ("RoCEv2 to another host, behind a tag", other, tagged(), false),
        ("RoCEv2 to this host, behind a tag", own, tagged(), true),
        ("another protocol to another host", other, plain(), false),
        ("another protocol to this host", own, plain(), true),
        ("a mirror session to this host", own, session(numbered), false),
        ("a mirror session without numbers", own, session(Erspan::I), false),
        ("a mirror session of type III", own, session(third), false),
        ("a mirror session of SONiC", own, whole(outer().sonic_mirror(), &roce()), false),
        ("a tunnel to this host", own, tunnel(), true),
    ];
    let folder = tempfile::tempdir().unwrap();
    let capture = folder.path().join("frame.pcap");
    let goes_on = |frame: &[u8], is_mirror: bool| {
        let mut file = pcap::header(1, 1 << 18);
        pcap::record(&mut file, 1, frame, frame.len());
        fs::write(&capture, file).unwrap();
        let hook = if is_mirror { Hook::Driver } else { Hook::TrafficControl };
        let mut programs = wire.observe_at(hook);
        let passed = by_packet_sockets(&wire, &capture).taps[0].frames;
        let (mut seen, mut unused) = (0, 0);
        programs
            .poll(Duration::ZERO, &mut |event| match event {
                LiveEvent::Frame(_) => seen += 1,
                LiveEvent::Missed { event: HealthEvent::EbpfUnusedFrames, count } => {
                    unused += count;
                }
                LiveEvent::Tap(_) => {}
                LiveEvent::Warning(line) if is_mirror && line.contains(IN_DRIVER) => {}
                other => panic!("{other:?}"),
            })
            .unwrap();
        assert_eq!(seen + unused, 1);
        passed == 1
    };
    for (name, address, frame, expected) in cases {
        let frame = [&address, &frame[6..]].concat();
        assert_eq!(goes_on(&frame, true), expected, "{name}");
        assert!(goes_on(&frame, false), "{name}, no mirror port");
    }
}

/// What a source says at its first poll.
fn said(source: &mut dyn LiveSource) -> Vec<String> {
    let mut said = Vec::new();
    let mut take = |event: LiveEvent<'_>| {
        if let LiveEvent::Warning(line) = event {
            said.push(line);
        }
    };
    source.poll(Duration::ZERO, &mut take).unwrap();
    said
}

#[test]
fn a_program_that_may_hide_frames_is_named() {
    let test = "a_program_that_may_hide_frames_is_named";
    if !require::root(test) || !require::has(test, "ip") {
        return;
    }
    let wire = Wire::new("hidden");
    let nothing: [String; 0] = [];
    assert_eq!(said(&mut wire.observe()), nothing);
    assert_eq!(said(&mut packet_sockets(&wire)), nothing);

    let mut first = wire.observe_at(Hook::Driver);
    assert!(matches!(&said(&mut first)[..], [one] if one.contains(IN_DRIVER)));
    for source in [&mut wire.observe() as &mut dyn LiveSource, &mut packet_sockets(&wire)] {
        assert!(matches!(&said(source)[..], [one] if one.starts_with(XDP_FIRST)));
    }
    // Where one program is, there is no room for a second one.
    let second = said(&mut wire.observe_at(Hook::Driver));
    let [why, hidden] = &second[..] else { panic!("{second:?}") };
    assert!(why.ends_with("another program is there already"), "{why}");
    assert!(hidden.starts_with(XDP_FIRST), "{hidden}");

    drop(first);
    assert_eq!(said(&mut wire.observe()), nothing);
}

/// Frames of other protocols are counted, not silently ignored.
#[test]
fn frames_of_no_use_are_counted() {
    let test = "frames_of_no_use_are_counted";
    if !require::root(test) || !require::has(test, "ip") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let capture = folder.path().join("other.pcap");
    let mut file = pcap::header(1, 1 << 18);
    for at in 0..100 {
        let frame = match at % 2 {
            0 => outer().udp(50_000, 53).bytes(&[7; 40]).finish().bytes,
            _ => FrameBuilder::ethernet().bytes(&[0x5a; 60]).finish().bytes,
        };
        pcap::record(&mut file, at, &frame, frame.len());
    }
    fs::write(&capture, file).unwrap();
    let wire = Wire::new("unused");
    let mut source = wire.observe();
    let mut unused = 0;
    ebpf::replay(&wire, &mut source, std::slice::from_ref(&capture), &mut |event| match event {
        LiveEvent::Missed { event: HealthEvent::EbpfUnusedFrames, count } => unused += count,
        LiveEvent::Tap(_) => {}
        other => panic!("{other:?}"),
    });
    source
        .poll(Duration::ZERO, &mut |event| {
            if let LiveEvent::Missed { event: HealthEvent::EbpfUnusedFrames, count } = event {
                unused += count;
            }
        })
        .unwrap();
    assert_eq!(unused, 100);
}
