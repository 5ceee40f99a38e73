//! Packets that the kernel programs only count change nothing in the report.

use std::collections::HashMap;

use railscope::flow::tracker::FlowConfig;
use railscope::ingest::file::CaptureSet;
use railscope::ingest::file::event::SourceEvent;
use railscope::model::frame::Frame;
use railscope::model::opcode::Opcode;
use railscope::model::psn::Psn;
use railscope::model::run::Run;
use railscope::model::time::Timestamp;
use railscope::pipeline::{Pipeline, PipelineConfig};
use railscope::report::{Detail, ReportContext};
use railscope_ebpf::flow::{Arrival, FlowState};
use railscope_ebpf::settings::Settings;
use railscope_ebpf::table::Key;
use serde_json::Value;

use crate::support::recording::Recording;

const ETHERNET_LEN: usize = 14;
const ROCE_PORT: [u8; 2] = 4791_u16.to_be_bytes();

/// What the kernel programs keep, and what they would hand out.
#[derive(Default)]
struct Kernel {
    flows: HashMap<Key, FlowState>,
    counted: u64,
    handed_out: u64,
}

/// What is handed out of a packet.
enum Handed {
    Nothing,
    Frame,
    Behind(Run),
}

impl Kernel {
    /// IPv4 without options and tags, which is all that the recordings have.
    fn observe(&mut self, frame: &Frame<'_>) -> Handed {
        let bytes = frame.bytes;
        let is_roce = bytes.len() >= 54
            && bytes[12..15] == [0x08, 0x00, 0x45]
            && bytes[23] == 17
            && bytes[36..38] == ROCE_PORT;
        if !is_roce {
            return Handed::Frame;
        }
        let address = |at: usize| {
            let words = bytes[at..at + 4].try_into().unwrap();
            [0, 0, 0xffff_u32.to_be(), u32::from_ne_bytes(words)]
        };
        let bth = &bytes[42..];
        let [source, destination] = [ETHERNET_LEN + 12, ETHERNET_LEN + 16].map(address);
        let dest_qpn = u32::from_be_bytes([0, bth[5], bth[6], bth[7]]);
        let key = Key::new(source, destination, dest_qpn, frame.tap.0);
        let arrival = Arrival {
            time: frame.time.as_nanos(),
            wire_len: frame.wire_len,
            opcode: bth[0],
            asks_for_ack: bth[8] & 0x80 != 0,
            psn: u32::from_be_bytes([0, bth[9], bth[10], bth[11]]),
            fields: u32::from_be_bytes([bytes[34], bytes[35], bth[2], bth[3]]),
            dscp: u32::from(bytes[15] >> 2),
            ecn: u32::from(bytes[15] & 3),
        };
        let Some(flow) = self.flows.get_mut(&key) else {
            self.flows.insert(key, FlowState::new(&arrival));
            return Handed::Frame;
        };
        if flow.goes_on_with(&arrival, Settings::DEFAULT.run_limit) {
            flow.count(&arrival);
            self.counted += 1;
            return Handed::Nothing;
        }
        self.handed_out += 1;
        let record = flow.run;
        flow.handed_out(&arrival);
        if record.frames == 0 {
            return Handed::Frame;
        }
        let mark = record.first_ce_time;
        Handed::Behind(Run {
            opcode: Opcode(record.opcode as u8),
            first_psn: Psn::new(record.first_psn),
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

/// The report on a recording, of all frames or of what the kernel programs would hand out.
fn report(recording: &Recording, mut kernel: Option<&mut Kernel>) -> Value {
    let files: Vec<_> =
        recording.captures().iter().map(|name| recording.folder().join(name)).collect();
    let mut captures = CaptureSet::open(&files).unwrap();
    let flow = FlowConfig { flow_capacity: 10_000, line_rate_bps: None, keeps_details: false };
    let mut pipeline = Pipeline::new(PipelineConfig { flow, message_capacity: Some(1 << 20) });
    while let Some(event) = captures.next_event() {
        match event {
            SourceEvent::Tap(_, tap) => pipeline.add_tap(tap),
            SourceEvent::Frame(frame) => {
                match kernel.as_mut().map_or(Handed::Frame, |kernel| kernel.observe(&frame)) {
                    Handed::Nothing => {}
                    Handed::Frame => pipeline.handle_frame(&frame),
                    Handed::Behind(run) => pipeline.handle_run(&run, &frame),
                }
            }
            _ => {}
        }
    }
    let context = ReportContext { detail: Detail::Full, ..Default::default() };
    serde_json::to_value(pipeline.finish(context)).unwrap()
}

/// Removes what counting leaves open: where exactly between two frames the counted ones passed.
fn forget_places(value: &mut Value) {
    const OPEN: &[&str] = &[
        "capture.backward_time_frames",
        "bursts",
        "captured_bytes",
        "clocks",
        "cnp_reaction",
        "frame",
        "peaks",
        "taps",
    ];
    match value {
        Value::Object(members) => {
            members.retain(|key, _| !OPEN.contains(&key.as_str()));
            members.values_mut().for_each(forget_places);
        }
        Value::Array(elements) => elements.iter_mut().for_each(forget_places),
        _ => {}
    }
}

fn check(run: &str) {
    let recording = Recording::unpack(run);
    let mut kernel = Kernel::default();
    let mut counted = report(&recording, Some(&mut kernel));
    let mut whole = report(&recording, None);
    forget_places(&mut counted);
    forget_places(&mut whole);
    assert!(kernel.counted > 0, "{run}: {} handed out", kernel.handed_out);
    let (Value::Object(counted), Value::Object(whole)) = (counted, whole) else { unreachable!() };
    for (section, value) in &whole {
        if counted.get(section) != Some(value) {
            let path = difference(&counted[section], value, section);
            panic!("{run}: {path}");
        }
    }
}

/// The first place in which two values differ.
fn difference(one: &Value, other: &Value, path: &str) -> String {
    match (one, other) {
        (Value::Object(ones), Value::Object(others)) => {
            let differs = others.iter().find(|(key, value)| ones.get(*key) != Some(value));
            let (key, value) = differs.unwrap();
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
    check("ring-2.27.5");
}

#[test]
fn of_a_late_rank() {
    check("straggler-2.27.5");
}

#[test]
fn with_marks() {
    check("ce-2.27.5");
}

#[test]
fn with_loss() {
    check("loss1pct-2.27.5");
}

#[test]
fn of_two_queue_pairs_a_connection() {
    check("qps2-2.27.5");
}
