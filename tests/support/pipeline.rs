//! A pipeline that is fed by hand.

use std::path::PathBuf;

use railscope::ingest::file::CaptureSet;
use railscope::ingest::file::event::SourceEvent;
use railscope_core::flow::tracker::FlowConfig;
use railscope_core::pipeline::{Pipeline, PipelineConfig};

/// One for small captures.
pub fn small() -> Pipeline {
    let flow = FlowConfig { flow_capacity: 1000, line_rate_bps: None, keeps_details: false };
    Pipeline::new(PipelineConfig { flow, message_capacity: Some(1 << 16) })
}

/// Hands all frames of captures to `pipeline`.
pub fn feed(pipeline: &mut Pipeline, captures: &[PathBuf]) {
    let mut captures = CaptureSet::open(captures).unwrap();
    while let Some(event) = captures.next_event() {
        match event {
            SourceEvent::Tap(_, tap) => pipeline.add_tap(tap),
            SourceEvent::Frame(frame) => pipeline.handle_frame(&frame),
            _ => {}
        }
    }
}
