//! Reads several captures, each into a lane of its own, on several threads: into a pipeline, or into a
//! part.

use std::num::NonZeroUsize;
use std::path::Path;
use std::thread;

use anyhow::Context;

use super::analysis::Analysis;
use super::input::{CaptureSink, Input, add_summary, warn};
use super::progress::InputProgress;
use super::time_range::{self, TimeRange};
use crate::ingest::file::apart::{Files, Follower, Outbox};
use crate::ingest::file::event::{FileSummary, SourceEvent};
use crate::ingest::file::problem::FileProblem;
use crate::part::{Head, Item, Missed, OwnFrame, PartWriter, Turn};
use railscope_core::flow::tracker::MessageEvent;
use railscope_core::model::frame::Frame;
use railscope_core::model::health::event::HealthEvent;
use railscope_core::model::tap::{Tap, TapId};
use railscope_core::model::time::Timestamp;
use railscope_core::pipeline::Pipeline;
use railscope_core::pipeline::lane::Lane;

/// Reads all files to their ends; returns the time of the first frame.
///
/// # Errors
///
/// When the message file cannot be written.
pub(super) fn read(
    input: Input<'_>,
    progress: InputProgress,
    threads: Option<NonZeroUsize>,
    analysis: &mut Analysis,
) -> anyhow::Result<Option<Timestamp>> {
    let lanes = analysis.pipeline().lanes(input.files());
    let mut taps = Taps::new(analysis, lanes.len());
    let (files, time) = input.apart();
    let origin = files.first();
    let range = time.resolve(origin.unwrap_or(Timestamp::EPOCH));
    let readers = lanes.into_iter().map(|lane| Reader::new(lane, range)).collect();
    let handle = |(_, place): Turn, handed: Handed| {
        match handed {
            Handed::Item(item) => taps.handle(analysis, place, item),
            Handed::Message(message) => {
                let message = message.at_tap(taps.of(place));
                analysis.message(&message, origin.unwrap_or(Timestamp::EPOCH))?;
            }
            Handed::Problem(problem) => {
                analysis.missed(HealthEvent::CaptureFileProblems, 1);
                warn(&progress, &problem);
            }
            Handed::FileEnd(summary) => add_summary(&summary, analysis),
        }
        anyhow::Ok(())
    };
    let readers = follow(files, readers, threads, handle, &progress)?;
    analysis.missed(HealthEvent::CaptureSkippedFrames, skipped(&readers, origin, &progress));
    let lanes = readers.into_iter().map(|reader| reader.lane);
    taps.join(analysis, lanes);
    progress.finish();
    Ok(origin)
}

/// Reads all files to their ends into the part at `place`; `head` names no origin yet. Returns the bytes of
/// the captures, as far as they were read, and those of the part.
///
/// # Errors
///
/// When the part cannot be written.
pub(super) fn reduce(
    input: Input<'_>,
    progress: InputProgress,
    threads: Option<NonZeroUsize>,
    pipeline: &Pipeline,
    (place, head): (&Path, Head),
) -> anyhow::Result<(u64, u64)> {
    let lanes = pipeline.lanes(input.files());
    let (files, time) = input.apart();
    let origin = files.first();
    let range = time.resolve(origin.unwrap_or(Timestamp::EPOCH));
    let readers = lanes.into_iter().map(|lane| Reader::new(lane, range)).collect();
    let task = || format!("write {}", place.display());
    let mut part = PartWriter::create(place, Head { origin, ..head }).with_context(task)?;
    let mut missed = Missed::default();
    let mut bytes = 0;
    let handle = |turn: Turn, handed: Handed| {
        match handed {
            Handed::Item(item) => part.item(turn, item).with_context(task)?,
            // Parts have no single messages.
            Handed::Message(_) => {}
            Handed::Problem(problem) => {
                missed.problems += 1;
                warn(&progress, &problem);
            }
            Handed::FileEnd(summary) => {
                missed.dropped_frames += summary.dropped_frames;
                missed.untimed_frames += summary.untimed_frames;
                missed.skipped_blocks += summary.skipped_blocks;
                bytes += summary.bytes;
            }
        }
        anyhow::Ok(())
    };
    let readers = follow(files, readers, threads, handle, &progress)?;
    missed.skipped_frames = skipped(&readers, origin, &progress);
    let lanes = readers.into_iter().map(|reader| reader.lane);
    let written = part.finish(lanes, missed).with_context(task)?;
    progress.finish();
    Ok((bytes, written))
}

/// How many threads may read: the user's number, or one a core.
pub(super) fn wanted(threads: Option<NonZeroUsize>) -> NonZeroUsize {
    threads.unwrap_or_else(|| thread::available_parallelism().unwrap_or(NonZeroUsize::MIN))
}

fn follow(
    files: Files,
    readers: Vec<Reader>,
    threads: Option<NonZeroUsize>,
    handle: impl FnMut(Turn, Handed) -> anyhow::Result<()>,
    progress: &InputProgress,
) -> anyhow::Result<Vec<Reader>> {
    files.follow(readers, wanted(threads), handle, |read| progress.update(read))
}

/// How many frames were out of the time range; says so if all were.
fn skipped(readers: &[Reader], origin: Option<Timestamp>, progress: &InputProgress) -> u64 {
    let given: u64 = readers.iter().map(|reader| reader.given).sum();
    let last = readers.iter().map(|reader| reader.last).max().unwrap_or(Timestamp::EPOCH);
    if let Some(first) = origin.filter(|_| given == 0) {
        warn(progress, &time_range::outside(first, last));
    }
    readers.iter().map(|reader| reader.skipped).sum()
}

/// The taps of each capture, as the pipeline numbers them.
pub(super) struct Taps {
    of: Vec<Vec<TapId>>,
    count: u32,
}

impl Taps {
    /// Taps of so many captures, for which the pipeline gets room.
    pub(super) fn new(analysis: &mut Analysis, captures: usize) -> Self {
        analysis.pipeline().allow_for(captures);
        Self { of: vec![Vec::new(); captures], count: 0 }
    }

    fn of(&self, place: usize) -> &[TapId] {
        self.of.get(place).map(Vec::as_slice).unwrap_or_default()
    }

    /// Hands an item of the capture at `place` to the pipeline.
    pub(super) fn handle(&mut self, analysis: &mut Analysis, place: usize, item: Item) {
        match item {
            Item::Tap(tap) => {
                let Some(own) = self.of.get_mut(place) else { return };
                own.push(TapId(self.count));
                self.count += 1;
                analysis.tap(*tap);
            }
            Item::HostName(name) => analysis.host_name(name),
            Item::Frame(frame) => {
                analysis.pipeline().handle_shared_frame(&frame.of(self.of(place)));
            }
        }
    }

    /// Joins the lanes of all captures.
    pub(super) fn join(self, analysis: &mut Analysis, lanes: impl Iterator<Item = Lane>) {
        analysis.pipeline().join(lanes.zip(self.of).collect());
    }
}

/// Reads one file into its lane.
struct Reader {
    lane: Lane,
    range: TimeRange,
    /// Frames in the range, and out of it.
    given: u64,
    skipped: u64,
    /// The last frame out of it.
    last: Timestamp,
}

/// What the lanes do not take. Many wait for their turn: none is larger than a frame.
pub(super) enum Handed {
    Item(Item),
    Message(Box<MessageEvent>),
    Problem(Box<FileProblem>),
    FileEnd(Box<FileSummary>),
}

impl Reader {
    const fn new(lane: Lane, range: TimeRange) -> Self {
        Self { lane, range, given: 0, skipped: 0, last: Timestamp::EPOCH }
    }

    #[inline]
    fn frame(&mut self, frame: &Frame<'_>, out: &mut Outbox<Handed>) {
        if !self.range.contains(frame.time) {
            self.skipped += 1;
            self.last = self.last.max(frame.time);
            return;
        }
        self.given += 1;
        if self.lane.handle_frame(frame) {
            let item = Item::Frame(OwnFrame::new(frame));
            out.push(Handed::Item(item), frame.bytes.len());
        }
        for message in self.lane.drain_messages() {
            out.push(Handed::Message(Box::new(message)), size_of::<MessageEvent>());
        }
    }
}

impl Follower for Reader {
    type Item = Handed;

    #[inline]
    fn event(&mut self, event: SourceEvent<'_>, out: &mut Outbox<Handed>) {
        match event {
            SourceEvent::Frame(frame) => self.frame(&frame, out),
            SourceEvent::Tap(_, tap) => {
                self.lane.add_tap(tap.clone());
                out.push(Handed::Item(Item::Tap(Box::new(tap))), size_of::<Tap>());
            }
            SourceEvent::HostName(name) => out.push(Handed::Item(Item::HostName(name)), 0),
            SourceEvent::Lost { tap, frames } => self.lane.add_lost_frames(tap, frames),
            SourceEvent::ObservedUntil { tap, time } => {
                self.lane.observe_until(tap, self.range.clamp(time));
            }
            SourceEvent::Problem(problem) => out.push(Handed::Problem(Box::new(problem)), 0),
            SourceEvent::FileEnd(summary) => out.push(Handed::FileEnd(Box::new(summary)), 0),
        }
    }
}
