//! Reads one capture of several taps, each into a lane of its own, on several threads.

use std::num::NonZeroUsize;

use super::analysis::Analysis;
use super::input::{CaptureSink, add_summary, warn};
use super::lanes::{Handed, wanted};
use super::progress::InputProgress;
use super::time_range::{self, TimeRange, TimeRangeArgs};
use crate::ingest::file::by_tap::{ByTap, TapFollower};
use crate::ingest::file::event::SourceEvent;
use crate::part::{Item, OwnFrame};
use railscope_core::decode::frame;
use railscope_core::decode::packet::Body;
use railscope_core::model::frame::Frame;
use railscope_core::model::health::event::HealthEvent;
use railscope_core::model::tap::{Tap, TapId};
use railscope_core::model::time::Timestamp;
use railscope_core::pipeline::lane::Lane;

/// Most lanes: each has tables of its own, and a file says how many interfaces it has.
const LANES_LIMIT: usize = 16;

/// Reads the capture to its end; returns the time of its first frame.
///
/// # Errors
///
/// When the message file cannot be written.
pub(super) fn read(
    (captures, time): (ByTap, &TimeRangeArgs),
    progress: &InputProgress,
    threads: Option<NonZeroUsize>,
    analysis: &mut Analysis,
) -> anyhow::Result<Option<Timestamp>> {
    let origin = captures.first();
    let range = time.resolve(origin);
    let empty = analysis.pipeline().lane(1);
    let reader = |own, of| Reader::new((own, of), empty.clone(), range);
    let deliver = |handed| {
        match handed {
            Handed::Item(Item::Tap(tap)) => analysis.tap(*tap),
            Handed::Item(Item::HostName(name)) => analysis.host_name(name),
            Handed::Item(Item::Frame(frame)) => {
                analysis.pipeline().handle_shared_frame(&frame.of(&[]));
            }
            Handed::Message(message) => {
                analysis.message(&message, origin)?;
            }
            Handed::Problem(problem) => {
                analysis.missed(HealthEvent::CaptureFileProblems, 1);
                warn(progress, &problem);
            }
            Handed::FileEnd(summary) => add_summary(&summary, analysis),
        }
        anyhow::Ok(())
    };
    let threads = wanted(threads).get().min(LANES_LIMIT);
    let readers = captures.follow(threads, reader, deliver, |read| progress.update(read))?;
    let known = readers.first().map_or(0, |one| one.taps);
    if let Some(one) = readers.first() {
        let read = |reader: &Reader| (reader.given, reader.skipped, reader.taps);
        if readers.iter().any(|other| read(other) != read(one)) {
            analysis.missed(HealthEvent::CaptureFileProblems, 1);
            warn(progress, &"the capture changed while it was read: some interfaces lack frames");
        }
        analysis.missed(HealthEvent::CaptureSkippedFrames, one.skipped);
        if one.given == 0 {
            warn(progress, &time_range::outside(origin, one.last));
        }
    }
    let mut lanes: Vec<(Lane, Vec<TapId>)> = readers.into_iter().flat_map(Reader::lanes).collect();
    // The first reader announced the taps.
    lanes.retain(|(_, taps)| taps.iter().all(|tap| tap.0 < known));
    lanes.sort_by(|(_, some), (_, others)| some.cmp(others));
    analysis.pipeline().join(lanes);
    progress.finish();
    Ok(Some(origin))
}

/// One of several readers of the same capture, which follows some of its taps.
struct Reader {
    own: usize,
    /// A lane without frames.
    empty: Lane,
    groups: Vec<Group>,
    /// Taps announced so far.
    taps: u32,
    loads: Vec<Load>,
    range: TimeRange,
    /// Frames in the range, and out of it.
    given: u64,
    skipped: u64,
    /// The last frame out of it.
    last: Timestamp,
}

/// The taps that have a lane together: one, or several if there are more than [`LANES_LIMIT`].
#[derive(Default)]
struct Group {
    /// Those that the lane does not know yet.
    taps: Vec<Tap>,
    /// The numbers of all in the capture.
    ids: Vec<TapId>,
    /// Whether a reader was chosen for it.
    has_begun: bool,
    /// `None` before that, and if another reader follows it.
    lane: Option<Lane>,
}

/// How many groups a reader follows. All readers know it of each other, as they see the same.
#[derive(Clone, Copy, Default)]
struct Load {
    /// Those that began with RoCE: they have most of the frames.
    roce: usize,
    others: usize,
}

impl Reader {
    fn new((own, of): (usize, usize), empty: Lane, range: TimeRange) -> Self {
        let last = Timestamp::EPOCH;
        let (groups, loads) = (Vec::new(), vec![Load::default(); of]);
        Self { own, empty, groups, taps: 0, loads, range, given: 0, skipped: 0, last }
    }

    /// The lanes that it filled, and their taps.
    fn lanes(self) -> impl Iterator<Item = (Lane, Vec<TapId>)> {
        self.groups.into_iter().filter_map(|group| Some((group.lane?, group.ids)))
    }

    fn add_tap(&mut self, id: TapId, tap: Tap) {
        let place = id.0 as usize % LANES_LIMIT;
        if place >= self.groups.len() {
            self.groups.resize_with(place + 1, Group::default);
        }
        let group = &mut self.groups[place];
        group.ids.push(id);
        self.taps += 1;
        match &mut group.lane {
            Some(lane) => lane.add_tap(tap),
            None if group.has_begun => {}
            None => group.taps.push(tap),
        }
    }

    /// The lane of a tap and its number there, if this reader follows it.
    #[inline]
    fn lane(
        &mut self,
        tap: TapId,
        frame: Option<&Frame<'_>>,
    ) -> Option<(&mut Lane, TapId, &[TapId])> {
        let group = self.groups.get_mut(tap.0 as usize % LANES_LIMIT)?;
        if !group.has_begun {
            group.begin(frame, &mut self.loads, self.own, &self.empty);
        }
        Some((group.lane.as_mut()?, TapId(tap.0 / LANES_LIMIT as u32), &group.ids))
    }

    #[inline(always)]
    fn frame(&mut self, mut frame: Frame<'_>, out: &mut Vec<Handed>) {
        if !self.range.contains(frame.time) {
            self.skipped += 1;
            self.last = self.last.max(frame.time);
            return;
        }
        self.given += 1;
        let id = frame.tap;
        let Some((lane, tap, ids)) = self.lane(id, Some(&frame)) else { return };
        frame.tap = tap;
        if lane.handle_frame(&frame) {
            out.push(Handed::Item(Item::Frame(OwnFrame::new(&Frame { tap: id, ..frame }))));
        }
        for message in lane.drain_messages() {
            out.push(Handed::Message(Box::new(message.at_tap(ids))));
        }
    }
}

impl Group {
    /// Chooses the reader that follows the fewest of its kind, as its first frame shows it.
    #[cold]
    fn begin(&mut self, first: Option<&Frame<'_>>, loads: &mut [Load], own: usize, empty: &Lane) {
        self.has_begun = true;
        let is_roce = first.is_some_and(|first| matches!(frame::decode(first).body, Body::Roce(_)));
        let fewest = |load: &Load| match is_roce {
            true => (load.roce, load.others),
            false => (load.others, load.roce),
        };
        let reader = loads.iter_mut().enumerate().min_by_key(|(_, load)| fewest(load));
        let Some((reader, load)) = reader else { return };
        match is_roce {
            true => load.roce += 1,
            false => load.others += 1,
        }
        let taps = std::mem::take(&mut self.taps);
        if reader == own {
            self.lane = Some(empty.clone());
        }
        if let Some(lane) = &mut self.lane {
            taps.into_iter().for_each(|tap| lane.add_tap(tap));
        }
    }
}

impl TapFollower for Reader {
    type Item = Handed;

    #[inline(always)]
    fn event(&mut self, event: SourceEvent<'_>, out: &mut Vec<Handed>) {
        let for_caller = match event {
            SourceEvent::Frame(frame) => return self.frame(frame, out),
            SourceEvent::Lost { tap, frames } => {
                if let Some((lane, tap, _)) = self.lane(tap, None) {
                    lane.add_lost_frames(tap, frames);
                }
                return;
            }
            SourceEvent::ObservedUntil { tap, time } => {
                let end = self.range.clamp(time);
                if let Some((lane, tap, _)) = self.lane(tap, None) {
                    lane.observe_until(tap, end);
                }
                return;
            }
            SourceEvent::Tap(id, tap) => {
                self.add_tap(id, tap.clone());
                Handed::Item(Item::Tap(Box::new(tap)))
            }
            SourceEvent::HostName(name) => Handed::Item(Item::HostName(name)),
            SourceEvent::Problem(problem) => Handed::Problem(Box::new(problem)),
            SourceEvent::FileEnd(summary) => Handed::FileEnd(Box::new(summary)),
        };
        // Every reader sees it; the first one hands it on.
        if self.own == 0 {
            out.push(for_caller);
        }
    }
}
