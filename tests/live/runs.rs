//! Packets that the kernel programs only count do not change the report.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

use railscope::ingest::file::CaptureSet;
use railscope::ingest::file::event::SourceEvent;
use railscope_core::flow::tracker::FlowConfig;
use railscope_core::model::frame::Frame;
use railscope_core::model::opcode::Opcode;
use railscope_core::model::psn::Psn;
use railscope_core::model::run::Run;
use railscope_core::model::time::Timestamp;
use railscope_core::pipeline::{Pipeline, PipelineConfig};
use railscope_core::report::{Detail, ReportContext};
use railscope_drive::simulate::run::run as simulate;
use railscope_drive::simulate::scenario::Scenario;
use railscope_drive::simulate::scenario::gallery;
use railscope_ebpf::event::{DATA_HEAD_LEN, DATA_LEN, HEAD_LEN};
use railscope_ebpf::flow::{Arrival, Clock, FlowState, NONE, is_ack};
use railscope_ebpf::settings::Settings;
use railscope_ebpf::table::Key;
use serde_json::Value;

use crate::support::recording::Recording;

const ETHERNET_LEN: usize = 14;
const ROCE_PORT: [u8; 2] = 4791_u16.to_be_bytes();

/// A kernel with 250 ticks per second.
const TICK_NS: u64 = 4_000_000;

/// The state of the kernel programs, and what they would deliver.
#[derive(Default)]
struct Kernel {
    flows: HashMap<Key, FlowState>,
    middles: u64,
    acks: u64,
    handed_out: u64,
}

/// What is delivered of a packet.
enum Handed {
    Nothing,
    /// The whole packet, as for TCP.
    Whole,
    Head,
    Behind(Run),
}

impl Kernel {
    fn count(&mut self, arrival: &Arrival) {
        *if is_ack(arrival.opcode) { &mut self.acks } else { &mut self.middles } += 1;
    }

    /// IPv4 without options and tags: the recordings have nothing else.
    fn observe(&mut self, frame: &Frame<'_>) -> Handed {
        let bytes = frame.bytes;
        let is_roce = bytes.len() >= 54
            && bytes[12..15] == [0x08, 0x00, 0x45]
            && bytes[23] == 17
            && bytes[36..38] == ROCE_PORT;
        if !is_roce {
            return Handed::Whole;
        }
        let address = |at: usize| {
            let words = bytes[at..at + 4].try_into().unwrap();
            [0, 0, 0xffff_u32.to_be(), u32::from_ne_bytes(words)]
        };
        let bth = &bytes[42..];
        let [source, destination] = [ETHERNET_LEN + 12, ETHERNET_LEN + 16].map(address);
        let dest_qpn = u32::from_be_bytes([0, bth[5], bth[6], bth[7]]);
        let key = Key::new(source, destination, dest_qpn, frame.tap.0);
        let word = |at: usize| u32::from_be_bytes(bth[at..at + 4].try_into().unwrap());
        let arrival = Arrival {
            wire_len: frame.wire_len,
            opcode: bth[0],
            asks_for_ack: bth[8] & 0x80 != 0,
            psn: u32::from_be_bytes([0, bth[9], bth[10], bth[11]]),
            aeth: if is_ack(bth[0]) { word(12) } else { NONE },
            fields: u32::from_be_bytes([bytes[34], bytes[35], bth[2], bth[3]]),
            dscp: bytes[15] >> 2,
            ecn: bytes[15] & 3,
        };
        let time = frame.time.as_nanos();
        let clock = Clock { time, tick: (time / TICK_NS) as u32 };
        let Some(flow) = self.flows.get_mut(&key) else {
            self.flows.insert(key, FlowState::new(&arrival, clock));
            return Handed::Head;
        };
        if flow.goes_on_with(&arrival) {
            if flow.needs_no_time(&arrival, clock.tick) {
                flow.count(&arrival);
                self.count(&arrival);
                return Handed::Nothing;
            }
            if flow.is_open(&arrival, time, Settings::DEFAULT.run_limit) {
                flow.count_timed(&arrival, clock);
                self.count(&arrival);
                return Handed::Nothing;
            }
        }
        self.handed_out += 1;
        flow.end_run(time);
        let record = flow.run;
        flow.handed_out(&arrival, clock);
        if record.frames == 0 {
            return Handed::Head;
        }
        let mark = record.first_ce_time;
        Handed::Behind(Run {
            opcode: Opcode(record.opcode as u8),
            first_psn: Psn::new(record.first_psn),
            last_psn: Psn::new(record.last_psn),
            frames: record.frames,
            wire_len: record.wire_len,
            first_time: Timestamp::from_nanos(record.first_time),
            last_time: Timestamp::from_nanos(record.last_time),
            ecn: record.ecn,
            first_ce_time: (mark > 0).then(|| Timestamp::from_nanos(mark)),
            lost: record.lost,
        })
    }
}

/// The report on captures: on all frames, or on those that the kernel programs would deliver.
fn report(files: &[PathBuf], mut kernel: Option<&mut Kernel>) -> Value {
    let mut captures = CaptureSet::open(files).unwrap();
    let flow = FlowConfig { flow_capacity: 10_000, line_rate_bps: None, keeps_details: false };
    let mut pipeline = Pipeline::new(PipelineConfig { flow, message_capacity: Some(1 << 20) });
    while let Some(event) = captures.next_event() {
        match event {
            SourceEvent::Tap(_, tap) => pipeline.add_tap(tap),
            SourceEvent::Frame(frame) => {
                let handed = kernel.as_mut().map_or(Handed::Whole, |kernel| kernel.observe(&frame));
                let is_data = frame.wire_len as usize >= DATA_LEN;
                let most = if is_data { DATA_HEAD_LEN } else { HEAD_LEN };
                let head = &frame.bytes[..frame.bytes.len().min(most)];
                match handed {
                    Handed::Nothing => {}
                    Handed::Whole => pipeline.handle_frame(&frame),
                    Handed::Head => pipeline.handle_frame(&Frame { bytes: head, ..frame }),
                    Handed::Behind(run) => {
                        pipeline.handle_run(&run, &Frame { bytes: head, ..frame });
                    }
                }
            }
            _ => {}
        }
    }
    let context = ReportContext { detail: Detail::Full, ..Default::default() };
    serde_json::to_value(pipeline.finish(context)).unwrap()
}

/// Removes what counting loses: the exact place of counted frames between two others, and the
/// content of counted ACKs (round trips of middles that asked for them, and their ICRCs). `also` is
/// removed too.
fn forget_places(value: &mut Value, also: &str) {
    const OPEN: &[&str] = &[
        "ack_rtt_ns",
        "ack_rtt_p50_ns",
        "capture.backward_time_frames",
        "capture.truncated_frames",
        "bursts",
        "captured_bytes",
        "clocks",
        "cnp_reaction",
        "frame",
        "icrc",
        "peaks",
        "taps",
        "truncated_frames",
    ];
    match value {
        Value::Object(members) => {
            members.retain(|key, _| !OPEN.contains(&key.as_str()) && key != also);
            members.values_mut().for_each(|value| forget_places(value, also));
        }
        Value::Array(elements) => elements.iter_mut().for_each(|value| forget_places(value, also)),
        _ => {}
    }
}

fn check_recording(run: &str) {
    let recording = Recording::unpack(run);
    let files = recording.captures().into_iter().map(|name| recording.folder().join(name));
    let kernel = check(run, &files.collect::<Vec<_>>(), "");
    assert!(kernel.middles > 0, "{} delivered", kernel.handed_out);
}

/// The simulation's NICs answer packets that arrive together with one ACK, also within a message.
fn check_scenario(name: &str) {
    let job = "[[job]]\nbuckets = [\"8MiB\"]\niterations = 4";
    let toml = gallery::exhibit(name).unwrap().toml.replace("[[job]]", job);
    let scenario = Scenario::parse(&toml).unwrap();
    let folder = tempfile::tempdir().unwrap();
    simulate(&scenario, folder.path(), &mut |_| {}).unwrap();
    let entries = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries
        .filter(|path| path.extension().is_some_and(|extension| extension == "pcapng"))
        .collect();
    files.sort();
    // Its hosts have clocks of their own, which are compared by frames that two taps saw.
    let kernel = check(name, &files, "late_ns");
    assert!(kernel.acks > kernel.middles / 100, "{} ACKs counted", kernel.acks);
}

fn check(run: &str, files: &[PathBuf], also: &str) -> Kernel {
    let mut kernel = Kernel::default();
    let mut counted = report(files, Some(&mut kernel));
    let mut whole = report(files, None);
    forget_places(&mut counted, also);
    forget_places(&mut whole, also);
    let (Value::Object(counted), Value::Object(whole)) = (counted, whole) else { unreachable!() };
    for (section, value) in &whole {
        if counted.get(section) != Some(value) {
            let path = difference(&counted[section], value, section);
            panic!("{run}: {path}");
        }
    }
    kernel
}

/// The first difference between two values.
fn difference(one: &Value, other: &Value, path: &str) -> String {
    match (one, other) {
        (Value::Object(ones), Value::Object(others)) => {
            let differs = others.iter().find(|(key, value)| ones.get(*key) != Some(value));
            let Some((key, value)) = differs else {
                return format!("{path}: {one:.200} instead of {other:.200}");
            };
            difference(&ones[key], value, &format!("{path}.{key}"))
        }
        (Value::Array(ones), Value::Array(others)) if ones.len() == others.len() => {
            let at = (0..ones.len()).find(|at| ones[*at] != others[*at]).unwrap();
            difference(&ones[at], &others[at], &format!("{path}[{at}]"))
        }
        _ => format!("{path}: {one:.200} instead of {other:.200}"),
    }
}

#[test]
fn of_a_ring() {
    check_recording("ring-2.27.5");
}

#[test]
fn of_a_late_rank() {
    check_recording("straggler-2.27.5");
}

#[test]
fn with_marks() {
    check_recording("ce-2.27.5");
}

#[test]
fn with_loss() {
    check_recording("loss1pct-2.27.5");
}

#[test]
fn of_two_queue_pairs_a_connection() {
    check_recording("qps2-2.27.5");
}

/// The connection manager's messages are the longest that are decoded.
#[test]
fn with_a_connection_manager() {
    let capture = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/rdmacm_rping.pcap.gz");
    let kernel = check("rping", &[capture.into()], "");
    assert!(kernel.handed_out > 0);
}

#[test]
fn of_a_simulated_ring() {
    check_scenario("clean");
}

#[test]
fn of_a_simulated_ring_with_loss() {
    check_scenario("loss");
}
