//! Metrics: the totals of reports, and their text.

mod activity;
mod catalogue;
mod cuts;
mod figures;
mod made_up;
mod ports;
mod prometheus;
mod registry;
mod rules;

use std::path::PathBuf;

use railscope::ingest::file::CaptureSet;
use railscope::ingest::file::event::SourceEvent;
use railscope_core::analysis::understanding::Understanding;
use railscope_core::pipeline::{Pipeline, PipelineConfig};

/// What captures mean.
pub(crate) fn understand(config: PipelineConfig, files: &[PathBuf]) -> Understanding {
    let mut pipeline = Pipeline::new(config);
    let mut captures = CaptureSet::open(files).unwrap();
    while let Some(event) = captures.next_event() {
        match event {
            SourceEvent::Tap(_, tap) => pipeline.add_tap(tap.clone()),
            SourceEvent::Frame(frame) => pipeline.handle_frame(&frame),
            _ => {}
        }
    }
    pipeline.understand()
}
