//! A whole capture file through the pipeline, with a small flow table.

use std::io::Cursor;

use railscope::ingest::file::CaptureSet;
use railscope::ingest::file::event::SourceEvent;
use railscope_core::flow::tracker::FlowConfig;
use railscope_core::model::health::event::HealthEvent;
use railscope_core::pipeline::{Pipeline, PipelineConfig};
use railscope_core::report::{Detail, Report, ReportContext};

use super::invariants;

/// Small enough that a small capture evicts flows.
const FLOW_CAPACITY: usize = 16;

/// Panics if an invariant does not hold.
pub fn check(data: &[u8]) {
    let config = FlowConfig {
        flow_capacity: FLOW_CAPACITY,
        // Bursts and pause times need a line rate, which most files lack.
        line_rate_bps: data.last().filter(|byte| **byte & 1 == 0).map(|_| 100_000_000_000),
        keeps_details: true,
    };
    let Some(report) = report_of(data, config) else { return };
    invariants::check(&report);
    let again = report_of(data, config).map(|report| invariants::json(&report));
    assert_eq!(again, Some(invariants::json(&report)), "the same input gives the same report");
}

/// The report on a capture file; `None` if it does not begin like one.
pub fn report_of(data: &[u8], config: FlowConfig) -> Option<Report> {
    let mut captures = CaptureSet::from_reader("capture", Cursor::new(data.to_vec())).ok()?;
    let mut pipeline =
        Pipeline::new(PipelineConfig { flow: config, message_capacity: Some(4_096) });
    let (mut frames, mut messages) = (0, 0);
    while let Some(event) = captures.next_event() {
        match event {
            SourceEvent::Frame(frame) => {
                frames += 1;
                pipeline.handle_frame(&frame);
                messages += pipeline.drain_messages().count();
            }
            SourceEvent::Tap(_, tap) => pipeline.add_tap(tap),
            SourceEvent::HostName(name) => pipeline.add_host_name(name),
            SourceEvent::Lost { tap, frames } => pipeline.add_lost_frames(tap, frames),
            SourceEvent::ObservedUntil { tap, time } => pipeline.observe_until(tap, time),
            SourceEvent::Problem(_) => pipeline.add_health(HealthEvent::CaptureFileProblems, 1),
            SourceEvent::FileEnd(summary) => assert_eq!(summary.frames, frames),
        }
    }
    let report = pipeline.finish(ReportContext { detail: Detail::Full, ..Default::default() });
    assert_eq!(report.capture.frames, frames);
    assert!(messages as u64 <= frames, "a packet ends one message at most");
    Some(report)
}
