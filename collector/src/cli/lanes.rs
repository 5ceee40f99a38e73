//! Reads several captures into a pipeline, each into a lane of its own, on several threads.

use std::num::NonZeroUsize;
use std::thread;

use super::analysis::Analysis;
use super::input::{CaptureSink, Input, add_summary, warn};
use super::progress::InputProgress;
use super::time_range::{self, TimeRange};
use crate::ingest::file::apart::{Follower, Outbox};
use crate::ingest::file::event::{FileSummary, SourceEvent};
use crate::ingest::file::problem::FileProblem;
use railscope_core::flow::tracker::MessageEvent;
use railscope_core::model::direction::Direction;
use railscope_core::model::frame::Frame;
use railscope_core::model::health::event::HealthEvent;
use railscope_core::model::tap::{HostName, LinkType, Tap, TapId};
use railscope_core::model::time::Timestamp;
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
    let (files, time) = input.apart();
    let origin = files.first();
    let range = time.resolve(origin.unwrap_or(Timestamp::EPOCH));
    let readers = lanes.into_iter().map(|lane| Reader::new(lane, range)).collect::<Vec<_>>();
    let mut taps: Vec<Vec<TapId>> = readers.iter().map(|_| Vec::new()).collect();
    let mut count = 0;
    let handle = |place: usize, item: Item| {
        let Some(own) = taps.get_mut(place) else { return Ok(()) };
        match item {
            Item::Tap(tap) => {
                own.push(TapId(count));
                count += 1;
                analysis.tap(*tap);
            }
            Item::HostName(name) => analysis.host_name(name),
            Item::Frame(frame) => analysis.pipeline().handle_shared_frame(&frame.of(own)),
            Item::Message(message) => {
                let message = message.at_tap(own);
                analysis.message(&message, origin.unwrap_or(Timestamp::EPOCH))?;
            }
            Item::Problem(problem) => {
                analysis.missed(HealthEvent::CaptureFileProblems, 1);
                warn(&progress, &problem);
            }
            Item::FileEnd(summary) => add_summary(&summary, analysis),
        }
        anyhow::Ok(())
    };
    let cores = || thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let threads = threads.unwrap_or_else(cores);
    let readers = files.follow(readers, threads, handle, |read| progress.update(read))?;
    let given: u64 = readers.iter().map(|reader| reader.given).sum();
    let skipped = readers.iter().map(|reader| reader.skipped).sum();
    let last = readers.iter().map(|reader| reader.last).max().unwrap_or(Timestamp::EPOCH);
    let lanes = readers.into_iter().map(|reader| reader.lane).zip(taps);
    analysis.pipeline().join(lanes.collect());
    analysis.missed(HealthEvent::CaptureSkippedFrames, skipped);
    if let Some(first) = origin.filter(|_| given == 0) {
        warn(&progress, &time_range::outside(first, last));
    }
    progress.finish();
    Ok(origin)
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

/// What the lanes do not take.
enum Item {
    Tap(Box<Tap>),
    HostName(HostName),
    Frame(Box<OwnFrame>),
    Message(MessageEvent),
    Problem(FileProblem),
    FileEnd(FileSummary),
}

/// A frame with bytes of its own.
struct OwnFrame {
    tap: TapId,
    number: u64,
    time: Timestamp,
    wire_len: u32,
    bytes: Box<[u8]>,
    link_type: LinkType,
    direction: Option<Direction>,
}

impl OwnFrame {
    fn new(frame: &Frame<'_>) -> Self {
        let Frame { tap, number, time, wire_len, bytes, link_type, direction } = *frame;
        Self { tap, number, time, wire_len, bytes: bytes.into(), link_type, direction }
    }

    /// The frame, at the tap that is `taps[n]` of the pipeline.
    fn of(&self, taps: &[TapId]) -> Frame<'_> {
        Frame {
            tap: self.tap.among(taps),
            number: self.number,
            time: self.time,
            wire_len: self.wire_len,
            bytes: &self.bytes,
            link_type: self.link_type,
            direction: self.direction,
        }
    }
}

impl Reader {
    const fn new(lane: Lane, range: TimeRange) -> Self {
        Self { lane, range, given: 0, skipped: 0, last: Timestamp::EPOCH }
    }

    #[inline]
    fn frame(&mut self, frame: &Frame<'_>, out: &mut Outbox<Item>) {
        if !self.range.contains(frame.time) {
            self.skipped += 1;
            self.last = self.last.max(frame.time);
            return;
        }
        self.given += 1;
        if self.lane.handle_frame(frame) {
            out.push(Item::Frame(Box::new(OwnFrame::new(frame))), frame.bytes.len());
        }
        for message in self.lane.drain_messages() {
            out.push(Item::Message(message), 0);
        }
    }
}

impl Follower for Reader {
    type Item = Item;

    #[inline]
    fn event(&mut self, event: SourceEvent<'_>, out: &mut Outbox<Item>) {
        match event {
            SourceEvent::Frame(frame) => self.frame(&frame, out),
            SourceEvent::Tap(_, tap) => {
                self.lane.add_tap(tap.clone());
                out.push(Item::Tap(Box::new(tap)), size_of::<Tap>());
            }
            SourceEvent::HostName(name) => out.push(Item::HostName(name), 0),
            SourceEvent::Lost { tap, frames } => self.lane.add_lost_frames(tap, frames),
            SourceEvent::ObservedUntil { tap, time } => {
                self.lane.observe_until(tap, self.range.clamp(time));
            }
            SourceEvent::Problem(problem) => out.push(Item::Problem(problem), 0),
            SourceEvent::FileEnd(summary) => out.push(Item::FileEnd(summary), 0),
        }
    }
}
