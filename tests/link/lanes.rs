//! Lanes: captures followed apart from each other give the report of one pipeline.

use std::path::PathBuf;

use railscope::ingest::file::CaptureSet;
use railscope::ingest::file::event::SourceEvent;
use railscope_core::flow::tracker::FlowConfig;
use railscope_core::model::frame::Frame;
use railscope_core::model::tap::TapId;
use railscope_core::pipeline::{Pipeline, PipelineConfig};
use railscope_core::report::ReportContext;
use serde_json::Value;

use crate::support::recording::Recording;

const JOBS: &[&str] =
    &["loss1pct-2.27.5", "rails-2n2g2nic-2.27.5", "async-straggler-4n2g-r4-2.27.5"];

fn pipeline(message_capacity: Option<usize>) -> Pipeline {
    let flow = FlowConfig { flow_capacity: 10_000, line_rate_bps: None, keeps_details: false };
    Pipeline::new(PipelineConfig { flow, message_capacity })
}

fn report(pipeline: Pipeline) -> Value {
    serde_json::to_value(pipeline.finish(ReportContext::default())).unwrap()
}

fn together(files: &[PathBuf], message_capacity: Option<usize>) -> Value {
    let mut pipeline = pipeline(message_capacity);
    let mut captures = CaptureSet::open(files).unwrap();
    while let Some(event) = captures.next_event() {
        match event {
            SourceEvent::Tap(_, tap) => pipeline.add_tap(tap),
            SourceEvent::Frame(frame) => pipeline.handle_frame(&frame),
            _ => {}
        }
    }
    report(pipeline)
}

/// Frame by frame in the same order, but each file's into a lane of its own.
fn apart(files: &[PathBuf], message_capacity: Option<usize>) -> Value {
    let mut pipeline = pipeline(message_capacity);
    let mut lanes = pipeline.lanes(files.len());
    let mut taps: Vec<Vec<TapId>> = files.iter().map(|_| Vec::new()).collect();
    let mut own = Vec::new();
    let mut captures = CaptureSet::open(files).unwrap();
    while let Some(event) = captures.next_event() {
        match event {
            SourceEvent::Tap(id, tap) => {
                let file =
                    files.iter().position(|file| tap.file == file.to_string_lossy()).unwrap();
                own.push((file, TapId(taps[file].len() as u32)));
                taps[file].push(id);
                lanes[file].add_tap(tap.clone());
                pipeline.add_tap(tap);
            }
            SourceEvent::Frame(frame) => {
                let (file, tap) = own[frame.tap.0 as usize];
                if lanes[file].handle_frame(&Frame { tap, ..frame }) {
                    pipeline.handle_shared_frame(&frame);
                }
            }
            _ => {}
        }
    }
    pipeline.join(lanes.into_iter().zip(taps).collect());
    report(pipeline)
}

fn check(job: &str, message_capacity: Option<usize>) -> Value {
    let recording = Recording::unpack(job);
    let files: Vec<PathBuf> =
        recording.captures().iter().map(|name| recording.folder().join(name)).collect();
    assert!(files.len() > 1, "{job}");
    let (one, other) = (together(&files, message_capacity), apart(&files, message_capacity));
    for (key, section) in one.as_object().unwrap() {
        assert_eq!(&other[key], section, "{job}: {key}");
    }
    one
}

#[test]
fn lanes_give_the_report_of_one_pipeline() {
    for job in JOBS {
        check(job, Some(1 << 20));
        check(job, None);
    }
}

/// Of all lanes together, the earliest messages are kept.
#[test]
fn a_limit_of_messages_keeps_the_same_ones() {
    let all = check(JOBS[0], Some(1 << 20));
    let mut dropped = Vec::new();
    for capacity in [0, 1, 100, 1_000] {
        let some = check(JOBS[0], Some(capacity));
        dropped.push(some["health"]["link.messages_dropped"].as_u64().unwrap_or(0));
    }
    assert!(all["health"].get("link.messages_dropped").is_none());
    assert!(dropped.is_sorted_by(|more, less| more > less && *less > 0), "{dropped:?}");
}
