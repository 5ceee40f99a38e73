//! Capture files read to their end: frames to a sink, problems to standard error.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::progress::InputProgress;
use super::time_range::{TimeRange, TimeRangeArgs};
use crate::ingest::file::CaptureSet;
use crate::ingest::file::event::{FileSummary, SourceEvent};
use crate::model::frame::Frame;
use crate::model::tap::{HostName, Tap, TapId};
use crate::model::time::Timestamp;

/// The input options, as typed.
#[derive(Args)]
pub(super) struct InputArgs {
    /// Captures: pcap or pcapng, also gzip or zstd; several are merged in time order; - is standard
    /// input
    #[arg(required = true, value_name = "FILE")]
    pub(super) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) time: TimeRangeArgs,
}

/// What is done with the content of captures.
pub(super) trait CaptureSink {
    /// A tap, before its first frame; taps are numbered in this order.
    fn tap(&mut self, tap: Tap);
    /// A frame inside the time range; `origin` is the time of the first frame of all.
    fn frame(&mut self, frame: &Frame<'_>, origin: Timestamp) -> anyhow::Result<()>;
    /// A name that a capture gives to an address.
    fn host_name(&mut self, name: HostName);
    /// The capturing side lost frames.
    fn lost_frames(&mut self, tap: TapId, frames: u64);
    /// Something did not reach the sink.
    fn missed(&mut self, counter: &'static str, count: u64);
}

/// Reads every file to its end.
///
/// # Errors
///
/// When a file cannot be opened as a capture, or the sink fails.
pub(super) fn read(args: &InputArgs, sink: &mut impl CaptureSink) -> anyhow::Result<()> {
    let mut captures = CaptureSet::open(&args.files)?;
    let mut progress = InputProgress::new();
    let mut range: Option<(Timestamp, TimeRange)> = None;
    let mut skipped = 0;
    while let Some(event) = captures.next_event() {
        match event {
            SourceEvent::Frame(frame) => {
                let (origin, range) =
                    range.get_or_insert_with(|| (frame.time, args.time.resolve(frame.time)));
                if range.contains(frame.time) {
                    sink.frame(&frame, *origin)?;
                } else {
                    skipped += 1;
                }
                progress.tick(|| captures.progress());
            }
            SourceEvent::Tap(_, tap) => sink.tap(tap),
            SourceEvent::HostName(name) => sink.host_name(name),
            SourceEvent::Lost { tap, frames } => sink.lost_frames(tap, frames),
            SourceEvent::Problem(problem) => {
                sink.missed("capture.file_problems", 1);
                progress.suspend(|| {
                    // Nothing is left to tell a failing standard error to.
                    let _ = writeln!(anstream::stderr(), "warning: {problem}");
                });
            }
            SourceEvent::FileEnd(summary) => add_summary(&summary, sink),
        }
    }
    sink.missed("capture.skipped_frames", skipped);
    progress.finish();
    Ok(())
}

fn add_summary(summary: &FileSummary, sink: &mut impl CaptureSink) {
    sink.missed("capture.dropped_frames", summary.dropped_frames);
    sink.missed("capture.untimed_frames", summary.untimed_frames);
    sink.missed("capture.skipped_blocks", summary.skipped_blocks);
}
