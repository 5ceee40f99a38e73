//! Feeds recorded jobs to a pipeline.

use std::path::PathBuf;

use railscope::ingest::file::CaptureSet;
use railscope::ingest::file::event::SourceEvent;
use railscope_core::flow::tracker::FlowConfig;
use railscope_core::model::time::Timestamp;
use railscope_core::pipeline::{Pipeline, PipelineConfig};
use railscope_core::report::{Report, ReportContext};

use crate::support::recording::Recording;

/// A pipeline that keeps at most `messages` messages.
pub(super) fn pipeline(messages: usize) -> Pipeline {
    let flow = FlowConfig {
        flow_capacity: 4096,
        line_rate_bps: Some(1_000_000_000),
        keeps_details: false,
    };
    Pipeline::new(PipelineConfig { flow, message_capacity: Some(messages) })
}

/// The captures of a recorded job.
pub(super) fn captures(job: &Recording) -> Vec<PathBuf> {
    job.captures().iter().map(|name| job.folder().join(name)).collect()
}

/// Reads captures into a pipeline; calls `beside` after each frame, with the time of the first
/// frame.
pub(super) fn read(
    files: &[PathBuf],
    pipeline: &mut Pipeline,
    mut beside: impl FnMut(&mut Pipeline, Timestamp, Timestamp),
) -> Option<Timestamp> {
    let mut captures = CaptureSet::open(files).unwrap();
    let mut origin = None;
    while let Some(event) = captures.next_event() {
        match event {
            SourceEvent::Frame(frame) => {
                let origin = *origin.get_or_insert(frame.time);
                pipeline.handle_frame(&frame);
                let time = frame.time;
                beside(pipeline, origin, time);
            }
            SourceEvent::Tap(_, mut tap) => {
                tap.file = tap.file.rsplit('/').next().unwrap().to_owned();
                pipeline.add_tap(tap);
            }
            SourceEvent::Lost { tap, frames } => pipeline.add_lost_frames(tap, frames),
            SourceEvent::HostName(name) => pipeline.add_host_name(name),
            SourceEvent::ObservedUntil { .. }
            | SourceEvent::Problem(_)
            | SourceEvent::FileEnd(_) => {}
        }
    }
    origin
}

/// The report on whole captures.
pub(super) fn report(files: &[PathBuf]) -> Report {
    let mut pipeline = pipeline(1 << 20);
    let origin = read(files, &mut pipeline, |_, _, _| {});
    pipeline.finish(ReportContext { origin, ..ReportContext::default() })
}
