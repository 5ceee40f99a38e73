//! The thread that writes: chunks into the ring or into one file, at a level of compression that keeps up.

use std::io;
use std::path::PathBuf;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::capture::Delivery;
use super::chunk::{Chunk, Head};
use super::queue::Queue;
use super::ring::{Folder, Ring, USUAL_LEVEL};
use super::single::Single;
use super::tally::Tally;
use crate::filter::{Filter, Subject};
use crate::ingest::live::LiveEvent;
use railscope_core::decode::frame;
use railscope_core::model::tap::TapId;
use railscope_core::model::time::{Span, Timestamp};
use railscope_core::report::packets::PacketContext;

/// Longest wait for chunks before looking after the ring.
const PATIENCE: Duration = Duration::from_millis(200);

/// Frames may reach the writer this long after their time: the kernel holds back a block that is not full,
/// frames of several interfaces are sorted, and chunks are handed over at intervals.
const LATENESS: Duration = Duration::from_millis(400);

/// Levels of compression when the queue is half full, and when it is nearly full.
const FAST_LEVEL: i32 = -5;
const FASTEST_LEVEL: i32 = -50;

/// What the writer is asked to do.
pub(super) enum Order {
    /// Write these.
    Frames(Delivery),
    /// Hand out segments.
    Segments(SegmentsOrder),
    /// Segments since this time are no longer read.
    Release(Timestamp),
}

/// Asks for the segments of a time.
pub(super) struct SegmentsOrder {
    /// From this time on.
    pub(super) since: Timestamp,
    /// To this time, which may be in the future; shared, so that it can be brought forward.
    pub(super) until: Arc<Mutex<Timestamp>>,
    /// Takes them.
    pub(super) reply: Sender<Segments>,
}

/// Segments that hold still until they are released.
#[derive(Debug)]
pub(super) struct Segments {
    /// Of the bootstraps of jobs.
    pub(super) control: Vec<PathBuf>,
    /// Of the time that was asked for.
    pub(super) recent: Vec<PathBuf>,
    pub(super) span: Span,
    /// Until when, of that time, it is known that no other frame passed.
    pub(super) quiet_until: Timestamp,
}

/// Where frames are written.
pub(super) enum Target {
    /// The recent ones, and those of bootstraps, which are kept longer.
    Ring(Box<Rings>),
    File(Box<Single>),
}

pub(super) struct Rings {
    pub(super) recent: Ring,
    pub(super) control: Ring,
    /// Last: it is unlocked after its segments were removed.
    pub(super) folder: Folder,
}

impl Rings {
    /// Leaves the segments on disk when they end; returns where.
    pub(super) fn keep(&mut self) -> PathBuf {
        self.recent.keep();
        self.control.keep();
        self.folder.path().to_owned()
    }
}

/// The running thread.
pub(super) struct Writer {
    thread: JoinHandle<(io::Result<()>, Option<Box<Rings>>)>,
}

impl Writer {
    pub(super) fn start(
        queue: Arc<Queue<Order>>,
        target: Target,
        filter: Option<Filter>,
        tally: Arc<Tally>,
    ) -> io::Result<Self> {
        let (blocks, taps) = (Vec::new(), Vec::new());
        let waiting = Vec::new();
        let mut desk = Desk { queue, target, filter, tally, origin: None, blocks, taps, waiting };
        let work = move || {
            let result = desk.run();
            // Whoever pushes must not wait for a writer that has ended.
            desk.queue.close();
            match desk.target {
                Target::Ring(rings) => (result, Some(rings)),
                Target::File(file) => (result.and(file.finish(desk.tally.quiet_until())), None),
            }
        };
        Ok(Self { thread: thread::Builder::new().name("writer".to_owned()).spawn(work)? })
    }

    /// Whether it has ended: the file is as large as it may be, or cannot be written.
    pub(super) fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }

    /// Waits until everything is written, which needs a closed queue. The segments of a ring last until it
    /// is dropped.
    pub(super) fn finish(self) -> (io::Result<()>, Option<Box<Rings>>) {
        let failed = |_| (Err(io::Error::other("the writer ended unexpectedly")), None);
        self.thread.join().unwrap_or_else(failed)
    }
}

/// The thread's state.
struct Desk {
    queue: Arc<Queue<Order>>,
    target: Target,
    filter: Option<Filter>,
    tally: Arc<Tally>,
    origin: Option<Timestamp>,
    /// Selected blocks; their memory is reused.
    blocks: Vec<u8>,
    /// The tap of each.
    taps: Vec<TapId>,
    /// Orders whose time has not come.
    waiting: Vec<SegmentsOrder>,
}

impl Desk {
    fn run(&mut self) -> io::Result<()> {
        loop {
            match self.queue.pop(PATIENCE) {
                Some(Order::Frames(delivery)) => self.write(&delivery)?,
                Some(Order::Segments(order)) => self.hold(order),
                Some(Order::Release(since)) => {
                    if let Target::Ring(rings) = &mut self.target {
                        rings.recent.release(since);
                        rings.control.release(Timestamp::EPOCH);
                    }
                }
                None if self.queue.is_over() => {
                    self.hand_out(true);
                    return Ok(());
                }
                None => {}
            }
            self.look_after();
            if matches!(&self.target, Target::File(file) if file.is_full()) {
                return Ok(());
            }
        }
    }

    fn write(&mut self, delivery: &Delivery) -> io::Result<()> {
        let Delivery { chunk, missed } = delivery;
        let lost = chunk.events.iter().filter_map(|event| match event {
            LiveEvent::Lost { tap, frames } => Some((*tap, *frames)),
            _ => None,
        });
        let lost: Vec<_> = lost.chain(missed.iter().copied()).collect();
        self.select(chunk);
        let Some(span) = chunk.span() else {
            self.add_lost(&lost);
            return Ok(());
        };
        let blocks = if self.filter.is_some() { &self.blocks[..] } else { chunk.blocks() };
        match &mut self.target {
            Target::File(file) => {
                let is_any = !self.taps.is_empty();
                let added = if is_any { file.add(blocks, &self.taps, span) } else { Ok(()) };
                self.add_lost(&lost);
                added
            }
            Target::Ring(rings) => {
                let level = match self.queue.fill() {
                    0..40 => USUAL_LEVEL,
                    40..75 => FAST_LEVEL,
                    _ => FASTEST_LEVEL,
                };
                rings.recent.set_level(level);
                if !self.taps.is_empty() && rings.recent.add(blocks, &self.taps, span).is_err() {
                    self.tally.write_errors.add(1);
                    self.tally.queue_lost.add(self.taps.len() as u64);
                    self.taps.iter().for_each(|tap| rings.recent.add_lost(*tap, 1));
                }
                self.add_lost(&lost);
                self.keep_control(chunk);
                Ok(())
            }
        }
    }

    fn add_lost(&mut self, lost: &[(TapId, u64)]) {
        for (tap, frames) in lost {
            match &mut self.target {
                Target::File(file) => file.add_lost(*tap, *frames),
                Target::Ring(rings) => rings.recent.add_lost(*tap, *frames),
            }
        }
    }

    /// Notes the taps of the frames to write, and with a filter their blocks.
    fn select(&mut self, chunk: &Chunk) {
        self.blocks.clear();
        self.taps.clear();
        let Some(filter) = &self.filter else {
            self.taps.extend(chunk.heads().iter().map(|head| head.tap));
            return;
        };
        for head in chunk.heads() {
            let frame = chunk.frame(head);
            let origin = *self.origin.get_or_insert(frame.time);
            let packet = frame::decode(&frame);
            let context = PacketContext::default();
            if filter.selects(&Subject { frame: &frame, packet: &packet, origin, context }) {
                self.blocks.extend_from_slice(chunk.block(head));
                self.taps.push(head.tap);
            } else {
                self.tally.filtered.add(1);
            }
        }
    }

    /// Keeps the frames of bootstraps, which show which rank is where, beyond their time.
    fn keep_control(&mut self, chunk: &Chunk) {
        let Target::Ring(rings) = &mut self.target else { return };
        // What the filter left out is not kept.
        if self.filter.is_some() {
            return;
        }
        let is_control = |head: &&Head| head.is_control;
        for head in chunk.heads().iter().filter(is_control) {
            let span = Span { first: head.time, last: head.time };
            if rings.control.add(chunk.block(head), &[head.tap], span).is_err() {
                self.tally.write_errors.add(1);
            }
        }
    }

    fn hold(&mut self, order: SegmentsOrder) {
        if let Target::Ring(rings) = &mut self.target {
            rings.recent.hold(order.since);
            rings.control.hold(Timestamp::EPOCH);
        }
        self.waiting.push(order);
    }

    /// Ends and removes segments, and hands out those whose time has come.
    fn look_after(&mut self) {
        let now = super::now();
        self.hand_out(false);
        match &mut self.target {
            Target::File(file) => self.tally.disk_bytes.set(file.bytes()),
            Target::Ring(rings) => {
                for ring in [&mut rings.recent, &mut rings.control] {
                    if ring.turn(now).is_err() {
                        self.tally.write_errors.add(1);
                    }
                }
                let bytes = rings.recent.bytes_on_disk() + rings.control.bytes_on_disk();
                self.tally.disk_bytes.set(bytes);
                let span = rings.recent.span();
                self.tally.oldest_ns.set(span.map_or(0, |span| span.first.as_nanos()));
                self.tally.newest_ns.set(span.map_or(0, |span| span.last.as_nanos()));
            }
        }
    }

    /// Hands out segments whose time has come, or all.
    fn hand_out(&mut self, is_last: bool) {
        let Target::Ring(rings) = &mut self.target else { return };
        let now = super::now();
        let lateness = u64::try_from(LATENESS.as_nanos()).unwrap_or(0);
        self.waiting.retain(|order| {
            let until = *order.until.lock().unwrap_or_else(PoisonError::into_inner);
            if !is_last && now < until.plus_nanos(lateness) {
                return true;
            }
            for ring in [&mut rings.recent, &mut rings.control] {
                if ring.rotate().is_err() {
                    self.tally.write_errors.add(1);
                }
            }
            let span = Span { first: order.since, last: until };
            let before = Span { first: Timestamp::EPOCH, last: until };
            let (control, recent) = (rings.control.within(before), rings.recent.within(span));
            // Whoever asked may have gone.
            let quiet_until = self.tally.quiet_until().min(until);
            _ = order.reply.send(Segments { control, recent, span, quiet_until });
            false
        });
    }
}
