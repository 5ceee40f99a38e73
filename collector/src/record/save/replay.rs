//! Reads segments one after the other, as if they were one capture.

use std::path::Path;

use crate::ingest::file::CaptureSet;
use crate::ingest::file::event::SourceEvent;
use crate::record::writer::Segments;
use railscope_core::model::frame::Frame;
use railscope_core::model::tap::{Tap, TapId};
use railscope_core::model::time::{Span, Timestamp};

/// Segments that can be read several times.
pub(super) struct Replay<'a> {
    segments: &'a Segments,
}

/// An event of the replay.
pub(super) enum Replayed<'a> {
    /// The next tap; all come before the first frame.
    Tap(Tap),
    /// A frame, numbered as in the file that is saved, and whether it is from the time that was asked for.
    Frame(Frame<'a>, bool),
    /// Frames that were lost.
    Lost(TapId, u64),
}

/// Takes events, and may fail.
type Sink<'s> = dyn FnMut(Replayed<'_>) -> anyhow::Result<()> + 's;

impl<'a> Replay<'a> {
    pub(super) fn new(segments: &'a Segments) -> Self {
        Self { segments }
    }

    /// Until when no other frame passed.
    pub(super) fn quiet_until(&self) -> Timestamp {
        self.segments.quiet_until
    }

    /// Reads everything. A segment that is gone or damaged is passed over: the ring may have been too small.
    pub(super) fn read(&self, sink: &mut Sink<'_>) -> anyhow::Result<()> {
        let Segments { control, recent, span, .. } = self.segments;
        let begin = self.begin().unwrap_or(span.last);
        let mut state = State { taps: 0, frames: 0 };
        // A bootstrap's frame that is recent is in the ring, too.
        let before = Span {
            first: Timestamp::EPOCH,
            last: Timestamp::from_nanos(begin.as_nanos().saturating_sub(1)),
        };
        for path in control {
            state.read(path, before, false, sink)?;
        }
        for path in recent {
            state.read(path, *span, true, sink)?;
        }
        Ok(())
    }

    /// Time of the first recent frame.
    fn begin(&self) -> Option<Timestamp> {
        let span = self.segments.span;
        let mut paths = self.segments.recent.iter();
        paths.find_map(|path| {
            let mut captures = CaptureSet::open(&[path]).ok()?;
            while let Some(event) = captures.next_event() {
                if let SourceEvent::Frame(frame) = event
                    && (span.first..=span.last).contains(&frame.time)
                {
                    return Some(frame.time);
                }
            }
            None
        })
    }
}

/// What was read so far.
struct State {
    taps: usize,
    frames: u64,
}

impl State {
    fn read(
        &mut self,
        path: &Path,
        within: Span,
        is_recent: bool,
        sink: &mut Sink<'_>,
    ) -> anyhow::Result<()> {
        let Ok(mut captures) = CaptureSet::open(&[path]) else { return Ok(()) };
        while let Some(event) = captures.next_event() {
            match event {
                // Each segment names all.
                SourceEvent::Tap(id, tap) if id.0 as usize >= self.taps => {
                    self.taps += 1;
                    // The segment's name would mislead.
                    let file = tap.interface.clone().unwrap_or_default();
                    sink(Replayed::Tap(Tap { file, ..tap }))?;
                }
                SourceEvent::Frame(frame) if (within.first..=within.last).contains(&frame.time) => {
                    self.frames += 1;
                    sink(Replayed::Frame(Frame { number: self.frames, ..frame }, is_recent))?;
                }
                SourceEvent::Lost { tap, frames } if is_recent => {
                    sink(Replayed::Lost(tap, frames))?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}
