//! Every fixture in tshark and in railscope's report: the same frames, flows and counts.
#![expect(non_snake_case, reason = "tests are named after their files")]

mod psn_classes;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::support::fixture::{self, Fixture};
use crate::support::roce::meaning;
use crate::support::{railscope, require, tshark};

/// One test per fixture, so that they run in parallel and tshark reads each file once.
macro_rules! fixtures {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                check(stringify!($name));
            }
        )*

        #[test]
        fn every_fixture_is_compared() {
            let compared: BTreeSet<String> =
                [$(stringify!($name)),*].iter().map(|name| format!("{name}.pcap.gz")).collect();
            let described = fixture::all().into_iter().map(|row| row.file).collect();
            assert_eq!(compared, described);
        }
    };
}

fixtures! {
    atomic_cmp_swp
    ecn_netem_write_bw_post
    ecn_netem_write_bw_pre
    ipv6_write_bw
    loss1_send_bw_post
    loss1_send_bw_pre
    rc_pingpong
    rdmacm_rping
    reorder_write_bw_post
    reorder_write_bw_pre
    ring4_allreduce_pA
    ring4_allreduce_pB
    ring4_allreduce_pC
    ring4_allreduce_pD
    rnr_send_bw
    send_bw_ud
    write_bw_rc_s128
    write_lat
}

/// A frame as tshark decodes it.
struct Frame {
    number: u64,
    time_ns: u64,
    wire_bytes: u64,
    captured_bytes: u64,
    source: String,
    destination: String,
    identification: String,
    dscp: u64,
    ecn: u64,
    udp_source_port: u64,
    opcode: u8,
    dest_qpn: u64,
    psn: u64,
    partition_key: u64,
    syndrome: Option<u64>,
}

/// Source, destination and destination QPN.
type FlowKey = (String, String, u64);

fn frames(file: &str) -> Vec<Frame> {
    let fields = [
        "frame.number",
        "frame.time_epoch",
        "frame.len",
        "frame.cap_len",
        "ip.src",
        "ipv6.src",
        "ip.dst",
        "ipv6.dst",
        "ip.id",
        "ip.dsfield.dscp",
        "ipv6.tclass.dscp",
        "ip.dsfield.ecn",
        "ipv6.tclass.ecn",
        "udp.srcport",
        "infiniband.bth.opcode",
        "infiniband.bth.destqp",
        "infiniband.bth.psn",
        "infiniband.bth.p_key",
        "infiniband.aeth.syndrome",
    ];
    let rows = tshark::fields(&fixture::path(file), &fields);
    rows.into_iter()
        .map(|row| {
            let text = |name: &str| &row[fields.iter().position(|field| *field == name).unwrap()];
            let number = |name| tshark::number(text(name));
            // Either the IPv4 or the IPv6 field is there.
            let either = |four: &str, six: &str| format!("{}{}", text(four), text(six));
            Frame {
                number: number("frame.number").unwrap(),
                time_ns: tshark::nanoseconds(text("frame.time_epoch")),
                wire_bytes: number("frame.len").unwrap(),
                captured_bytes: number("frame.cap_len").unwrap(),
                source: either("ip.src", "ipv6.src"),
                destination: either("ip.dst", "ipv6.dst"),
                identification: text("ip.id").clone(),
                dscp: tshark::number(&either("ip.dsfield.dscp", "ipv6.tclass.dscp")).unwrap(),
                ecn: tshark::number(&either("ip.dsfield.ecn", "ipv6.tclass.ecn")).unwrap(),
                udp_source_port: number("udp.srcport").unwrap(),
                opcode: u8::try_from(number("infiniband.bth.opcode").unwrap()).unwrap(),
                dest_qpn: number("infiniband.bth.destqp").unwrap(),
                psn: number("infiniband.bth.psn").unwrap(),
                partition_key: number("infiniband.bth.p_key").unwrap(),
                syndrome: number("infiniband.aeth.syndrome"),
            }
        })
        .collect()
}

fn check(name: &str) {
    if !require::has(name, "tshark") {
        return;
    }
    let file = format!("{name}.pcap.gz");
    let row = fixture::all().into_iter().find(|row| row.file == file).unwrap();
    let frames = frames(&file);
    check_manifest(&row, &frames);
    let report = railscope::analyze(&[fixture::path(&file)]);
    check_capture(&report, &frames);
    check_flows(&report, &frames);
    psn_classes::check(&report, &frames, &row);
    check_packets(&row, &frames);
}

fn flows_of(frames: &[Frame]) -> BTreeMap<FlowKey, Vec<&Frame>> {
    let mut flows = BTreeMap::<FlowKey, Vec<&Frame>>::new();
    for frame in frames {
        let key = (frame.source.clone(), frame.destination.clone(), frame.dest_qpn);
        flows.entry(key).or_default().push(frame);
    }
    flows
}

fn flows_in(report: &Value) -> BTreeMap<FlowKey, &Value> {
    let mut flows = BTreeMap::new();
    for flow in report["flows"].as_array().unwrap() {
        let end = |key: &str| flow[key].as_str().unwrap().to_owned();
        let key = (end("src"), end("dst"), flow["dest_qpn"].as_u64().unwrap());
        assert!(flows.insert(key, flow).is_none(), "no fixture reuses a queue pair: {flow}");
    }
    flows
}

/// How often each value occurs, by its text.
fn histogram<'a>(
    frames: impl IntoIterator<Item = &'a Frame>,
    value: impl Fn(&Frame) -> String,
) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for frame in frames {
        *counts.entry(value(frame)).or_insert(0) += 1;
    }
    counts
}

fn opcode_name(frame: &Frame) -> String {
    meaning(frame.opcode).name.map_or_else(|| format!("{:#04x}", frame.opcode), str::to_owned)
}

fn ecn_name(frame: &Frame) -> String {
    ["not_ect", "ect1", "ect0", "ce"][frame.ecn as usize].to_owned()
}

/// ACK or kind of NAK, by the AETH's top bits.
fn answer_name(frame: &Frame) -> Option<&'static str> {
    let syndrome = frame.syndrome?;
    match (syndrome >> 5, syndrome & 0x1f) {
        (0b000, _) => Some("ack"),
        (0b001, _) => Some("rnr"),
        (0b011, 0) => Some("psn_sequence_error"),
        (0b011, 1) => Some("invalid_request"),
        (0b011, 2) => Some("remote_access_error"),
        (0b011, 3) => Some("remote_operational_error"),
        (0b011, 4) => Some("invalid_rd_request"),
        _ => Some("reserved"),
    }
}

fn check_manifest(row: &Fixture, frames: &[Frame]) {
    let opcode =
        |frame: &Frame| format!("{}_{}", meaning(frame.opcode).transport, opcode_name(frame));
    assert_eq!(frames.len() as u64, row.finds.frames);
    assert_eq!(histogram(frames, opcode), row.finds.opcodes);
    assert_eq!(histogram(frames, ecn_name), row.finds.ecn);
    let answers = frames.iter().filter(|frame| answer_name(frame).is_some_and(|a| a != "ack"));
    assert_eq!(histogram(answers, |frame| answer_name(frame).unwrap().to_owned()), row.finds.naks);
    let mut seen = BTreeSet::new();
    let requests = frames.iter().filter(|frame| meaning(frame.opcode).is_request);
    let repeated = requests
        .filter(|frame| {
            !seen.insert((&frame.source, &frame.destination, frame.dest_qpn, frame.psn))
        })
        .count();
    assert_eq!(repeated as u64, row.finds.repeated_packets);
}

fn check_capture(report: &Value, frames: &[Frame]) {
    let (first, last) = (&frames[0], &frames[frames.len() - 1]);
    let duration_ns = last.time_ns - first.time_ns;
    let capture = &report["capture"];
    assert_eq!(capture["frames"], frames.len());
    assert_eq!(capture["roce_frames"], frames.len());
    assert_eq!(capture["wire_bytes"], frames.iter().map(|frame| frame.wire_bytes).sum::<u64>());
    assert_eq!(
        capture["captured_bytes"],
        frames.iter().map(|frame| frame.captured_bytes).sum::<u64>()
    );
    assert_eq!(capture["origin_ns"], first.time_ns.to_string());
    assert_eq!(capture["duration_ns"], duration_ns);
    let taps = report["taps"].as_array().unwrap();
    assert_eq!(taps.len(), 1);
    assert_eq!(taps[0]["frames"], frames.len());
    assert_eq!((&taps[0]["first_ns"], &taps[0]["last_ns"]), (&json!(0), &json!(duration_ns)));
}

fn check_flows(report: &Value, frames: &[Frame]) {
    let expected = flows_of(frames);
    let reported = flows_in(report);
    assert_eq!(reported.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    for (key, frames) in &expected {
        check_flow(reported[key], frames);
    }
}

fn check_flow(flow: &Value, frames: &[&Frame]) {
    let all = || frames.iter().copied();
    assert_eq!(flow["frames"], frames.len(), "{flow}");
    assert_eq!(flow["wire_bytes"], all().map(|frame| frame.wire_bytes).sum::<u64>(), "{flow}");
    assert_eq!(flow["transport"], meaning(frames[0].opcode).transport, "{flow}");
    assert_eq!(flow["opcodes"], json!(histogram(all(), opcode_name)), "{flow}");
    assert_eq!(flow["dscp"], json!(histogram(all(), |frame| frame.dscp.to_string())), "{flow}");
    let ports = histogram(all(), |frame| frame.udp_source_port.to_string());
    assert_eq!(flow["udp_src_ports"], json!(ports), "{flow}");
    let keys = histogram(all(), |frame| format!("{:#06x}", frame.partition_key));
    assert_eq!(flow["partition_keys"], json!(keys), "{flow}");

    let ecn = histogram(all(), ecn_name);
    for name in ["not_ect", "ect1", "ect0", "ce"] {
        // A mark that this tap cannot see is null in the report and absent on the wire.
        let reported = flow["ecn"][name].as_u64().unwrap_or(0);
        assert_eq!(reported, ecn.get(name).copied().unwrap_or(0), "{flow}");
    }

    let answered = |wanted| all().filter(|frame| answer_name(frame) == Some(wanted)).count();
    assert_eq!(flow["acks"], answered("ack"), "{flow}");
    assert_eq!(flow["rnr_naks"], answered("rnr"), "{flow}");
    for (code, count) in flow["naks"].as_object().unwrap() {
        let wanted: &str = code;
        let seen = all().filter(|frame| answer_name(frame) == Some(wanted)).count();
        assert_eq!(*count, seen, "{flow}");
    }
    assert_eq!(flow["cnps"], all().filter(|frame| frame.opcode == 0x81).count(), "{flow}");

    // A flow without requests has the PSNs of its answers.
    let asks = all().any(|frame| meaning(frame.opcode).is_request);
    let mut psns = all().filter(|frame| meaning(frame.opcode).is_request == asks);
    let first = psns.next();
    let last = psns.next_back().or(first);
    assert_eq!(flow["psn"]["first"], json!(first.map(|frame| frame.psn)), "{flow}");
    assert_eq!(flow["psn"]["last"], json!(last.map(|frame| frame.psn)), "{flow}");
}

fn check_packets(row: &Fixture, frames: &[Frame]) {
    let file = fixture::path(&row.file);
    assert_eq!(railscope::packet_lines(&file).len(), frames.len());
    let packets = railscope::packets(&file);
    assert_eq!(packets.len(), frames.len());
    for (packet, frame) in packets.iter().zip(frames) {
        assert_eq!(packet["frame"], frame.number, "{packet}");
        assert_eq!(packet["src"], frame.source, "{packet}");
        assert_eq!(packet["dst"], frame.destination, "{packet}");
        assert_eq!(packet["opcode"], opcode_name(frame), "{packet}");
        assert_eq!(packet["dest_qpn"], frame.dest_qpn, "{packet}");
        assert_eq!(packet["psn"], frame.psn, "{packet}");
    }
}
