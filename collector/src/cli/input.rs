//! Reads capture files to their end: frames go to a sink, problems to standard error.

use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use clap::Args;

use super::given::Names;
use super::notice::notice;
use super::progress::InputProgress;
use super::time_range::{self, TimeRange, TimeRangeArgs};
use crate::ingest::file::CaptureSet;
use crate::ingest::file::apart::Files;
use crate::ingest::file::by_tap::ByTap;
use crate::ingest::file::event::{FileSummary, SourceEvent};
use railscope_core::model::frame::Frame;
use railscope_core::model::health::event::HealthEvent;
use railscope_core::model::tap::{HostName, Tap, TapId};
use railscope_core::model::time::Timestamp;

/// The input options, as typed.
#[derive(Args, Clone)]
pub(super) struct InputArgs {
    /// Captures in pcap or pcapng, plain, gzip or zstd; several are merged in time order; - reads
    /// standard input
    #[arg(required = true, value_name = "FILE")]
    pub(super) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) time: TimeRangeArgs,
    /// What those of a bundle are called.
    #[arg(skip)]
    pub(super) names: Names,
}

/// Receives the content of captures.
pub(super) trait CaptureSink {
    /// A tap, before its first frame; taps are numbered in this order.
    fn tap(&mut self, tap: Tap);
    /// A frame within the time range; `origin` is the time of the very first frame.
    fn frame(&mut self, frame: &Frame<'_>, origin: Timestamp) -> anyhow::Result<()>;
    /// The name of an address, from a capture.
    fn host_name(&mut self, name: HostName);
    /// The capturing host lost frames.
    fn lost_frames(&mut self, tap: TapId, frames: u64);
    /// Everything that passed a tap until then was given.
    fn observed_until(&mut self, tap: TapId, time: Timestamp);
    /// Data that did not reach the sink.
    fn missed(&mut self, event: HealthEvent, count: u64);
}

impl InputArgs {
    /// Whether `path` is one of the captures, by whatever name.
    pub(super) fn names(&self, path: &Path) -> bool {
        let Some(own) = identity(path) else { return false };
        self.files.iter().any(|file| identity(file) == Some(own))
    }

    /// Checks that all captures can be read twice.
    ///
    /// # Errors
    ///
    /// When one comes through a pipe.
    pub(super) fn check_read_twice(&self) -> anyhow::Result<()> {
        let is_other = |file: &&PathBuf| fs::metadata(file).is_ok_and(|file| !file.is_file());
        let other = self.files.iter().find(|file| *file == Path::new("-") || is_other(file));
        let Some(other) = other else { return Ok(()) };
        anyhow::bail!(
            "this filter reads the input twice, which {} cannot be: write it to a file first",
            if other == Path::new("-") { "a pipe".into() } else { other.to_string_lossy() }
        )
    }

    /// What reports call the captures, in order.
    pub(super) fn names_of_files(&self) -> Vec<String> {
        self.files.iter().map(|file| self.names.of(file).into_owned()).collect()
    }

    /// The same captures from their begin to their end.
    pub(super) fn whole(&self) -> Self {
        Self { time: TimeRangeArgs::default(), ..self.clone() }
    }
}

/// Device and number of a file; of standard input, the one behind it.
fn identity(path: &Path) -> Option<(u64, u64)> {
    let path = if path == Path::new("-") { Path::new("/dev/stdin") } else { path };
    fs::metadata(path).ok().map(|file| (file.dev(), file.ino()))
}

/// Captures that could be opened.
pub(super) struct Input<'a> {
    args: &'a InputArgs,
    captures: CaptureSet,
}

impl<'a> Input<'a> {
    /// Opens every file.
    ///
    /// # Errors
    ///
    /// When a file is not a readable capture or was given twice, or the time range is empty.
    pub(super) fn open(args: &'a InputArgs) -> anyhow::Result<Self> {
        args.time.check()?;
        let named =
            args.files.iter().map(|file| (file.as_path(), args.names.of(file).into_owned()));
        let captures = CaptureSet::open_named(&named.collect::<Vec<_>>())?;
        for (at, file) in args.files.iter().enumerate() {
            let is_named_before = args.files[..at].contains(file);
            anyhow::ensure!(
                !is_named_before,
                "capture {} was given twice: name each capture once",
                file.display()
            );
        }
        Ok(Self { args, captures })
    }

    /// How many files there are.
    pub(super) fn files(&self) -> usize {
        self.captures.files()
    }

    /// The files, to be read apart, and the time range.
    pub(super) fn apart(self) -> (Files, &'a TimeRangeArgs) {
        (Files::new(self.captures), &self.args.time)
    }

    /// The only file, to be read by tap, if it has several, and the time range.
    pub(super) fn by_tap(&self) -> Option<(ByTap, &'a TimeRangeArgs)> {
        Some((ByTap::new(&self.captures)?, &self.args.time))
    }

    /// Reads every file to its end; returns the time of the first frame, the origin of relative
    /// times.
    ///
    /// # Errors
    ///
    /// When the sink fails.
    pub(super) fn read(
        self,
        mut progress: InputProgress,
        sink: &mut impl CaptureSink,
    ) -> anyhow::Result<Option<Timestamp>> {
        let Self { args, mut captures } = self;
        let mut range: Option<(Timestamp, TimeRange)> = None;
        let (mut given, mut skipped) = (0_u64, 0);
        let mut last = Timestamp::EPOCH;
        while let Some(event) = captures.next_event() {
            match event {
                SourceEvent::Frame(frame) => {
                    let (origin, range) =
                        range.get_or_insert_with(|| (frame.time, args.time.resolve(frame.time)));
                    if range.contains(frame.time) {
                        given += 1;
                        sink.frame(&frame, *origin)?;
                    } else {
                        skipped += 1;
                        last = last.max(frame.time);
                    }
                    progress.tick(|| captures.progress());
                }
                SourceEvent::Tap(_, tap) => sink.tap(tap),
                SourceEvent::HostName(name) => sink.host_name(name),
                SourceEvent::Lost { tap, frames } => sink.lost_frames(tap, frames),
                SourceEvent::ObservedUntil { tap, time } => {
                    let end = range.map_or(time, |(_, range)| range.clamp(time));
                    sink.observed_until(tap, end);
                }
                SourceEvent::Problem(problem) => {
                    sink.missed(HealthEvent::CaptureFileProblems, 1);
                    warn(&progress, &problem);
                }
                SourceEvent::FileEnd(summary) => add_summary(&summary, sink),
            }
        }
        sink.missed(HealthEvent::CaptureSkippedFrames, skipped);
        let origin = range.map(|(origin, _)| origin);
        if let Some(first) = origin.filter(|_| given == 0) {
            warn(&progress, &time_range::outside(first, last));
        }
        progress.finish();
        Ok(origin)
    }
}

/// Prints a warning about the input.
pub(super) fn warn(progress: &InputProgress, problem: &impl fmt::Display) {
    progress.suspend(|| notice(format!("warning: {problem}")));
}

/// Adds the counters of a file.
pub(super) fn add_summary(summary: &FileSummary, sink: &mut impl CaptureSink) {
    sink.missed(HealthEvent::CaptureDroppedFrames, summary.dropped_frames);
    sink.missed(HealthEvent::CaptureUntimedFrames, summary.untimed_frames);
    sink.missed(HealthEvent::CaptureSkippedBlocks, summary.skipped_blocks);
}
