//! What one frame of real captures costs from its bytes to the state of its flow, with and without
//! reading the capture file around it; files lie in memory, uncompressed. The state is new for each
//! run, so flows are met and pairs are made as often as in the captures.

#![expect(clippy::expect_used, reason = "a bench that cannot be set up has nothing to measure")]

use std::fs::File;
use std::io::Read;
use std::path::Path;

use divan::Bencher;
use divan::counter::ItemsCount;
use flate2::read::GzDecoder;
use railscope::ingest::file::CaptureSet;
use railscope::ingest::file::event::SourceEvent;
use railscope_core::flow::tracker::FlowConfig;
use railscope_core::model::direction::Direction;
use railscope_core::model::frame::Frame;
use railscope_core::model::tap::{LinkType, Tap, TapFormat, TapId};
use railscope_core::model::time::Timestamp;
use railscope_core::pipeline::{MESSAGE_CAPACITY, Pipeline, PipelineConfig};

/// One queue pair at a time that WRITEs; four hosts in a ring, as one of their ports sees it.
const CAPTURES: [&str; 2] = ["write_bw_rc_s128", "ring4_allreduce_pA"];

fn main() {
    divan::main();
}

/// A fixture as it was before it was compressed. Leaked: readers outlive every borrow.
fn capture(name: &str) -> &'static [u8] {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures");
    let file = File::open(folder.join(format!("{name}.pcap.gz"))).expect("the fixture is there");
    let mut bytes = Vec::new();
    GzDecoder::new(file).read_to_end(&mut bytes).expect("the fixture is whole");
    bytes.leak()
}

fn pipeline() -> Pipeline {
    let flow_capacity = 262_144;
    let flow = FlowConfig { flow_capacity, line_rate_bps: None, keeps_details: false };
    Pipeline::new(PipelineConfig { flow, message_capacity: Some(MESSAGE_CAPACITY as usize) })
}

/// A frame that owns its bytes.
struct OwnedFrame {
    time: Timestamp,
    wire_len: u32,
    bytes: Vec<u8>,
    link_type: LinkType,
    direction: Option<Direction>,
}

fn frames(capture: &'static [u8]) -> Vec<OwnedFrame> {
    let mut captures = CaptureSet::from_reader("memory", capture).expect("it starts well");
    let mut frames = Vec::new();
    while let Some(event) = captures.next_event() {
        if let SourceEvent::Frame(Frame { time, wire_len, bytes, link_type, direction, .. }) = event
        {
            let bytes = bytes.to_vec();
            frames.push(OwnedFrame { time, wire_len, bytes, link_type, direction });
        }
    }
    frames
}

/// Frames that were read already: decoding and flow state.
#[divan::bench(args = CAPTURES)]
fn decode_and_flow(bencher: Bencher<'_, '_>, name: &str) {
    let frames = frames(capture(name));
    let tap = Tap {
        file: name.to_owned(),
        format: TapFormat::Pcap,
        interface: None,
        link_type: LinkType::Ethernet,
        snap_len: None,
        line_rate_bps: None,
    };
    let ready = || {
        let mut pipeline = pipeline();
        pipeline.add_tap(tap.clone());
        pipeline
    };
    bencher.counter(ItemsCount::new(frames.len())).with_inputs(ready).bench_local_values(
        |mut pipeline| {
            for (number, frame) in (1..).zip(&frames) {
                pipeline.handle_frame(&Frame {
                    tap: TapId(0),
                    number,
                    time: frame.time,
                    wire_len: frame.wire_len,
                    bytes: &frame.bytes,
                    link_type: frame.link_type,
                    direction: frame.direction,
                });
            }
            pipeline
        },
    );
}

/// The whole capture file in memory: reading, decoding and flow state.
#[divan::bench(args = CAPTURES)]
fn read_decode_and_flow(bencher: Bencher<'_, '_>, name: &str) {
    let capture = capture(name);
    let count = frames(capture).len();
    let ready =
        || (CaptureSet::from_reader("memory", capture).expect("it starts well"), pipeline());
    bencher.counter(ItemsCount::new(count)).with_inputs(ready).bench_local_values(
        |(mut captures, mut pipeline)| {
            while let Some(event) = captures.next_event() {
                match event {
                    SourceEvent::Frame(frame) => pipeline.handle_frame(&frame),
                    SourceEvent::Tap(_, tap) => pipeline.add_tap(tap),
                    _ => {}
                }
            }
            pipeline
        },
    );
}
