//! A recording: its threads, and the saves that are asked of it.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, anyhow};

use super::capture::{Capture, Outlets};
use super::feed::Feed;
use super::queue::Queue;
use super::ring::{CONTROL, Folder, Limits, RECENT, Ring};
use super::save::{self, SaveOrder, Saved};
use super::single::Single;
use super::snap::SnapLen;
use super::tally::Tally;
use super::writer::{Order, Rings, Segments, SegmentsOrder, Target, Writer};
use crate::export::pcapng::Section;
use crate::filter::Filter;
use crate::ingest::live::LiveSource;
use railscope_core::model::tap::Tap;
use railscope_core::model::time::Timestamp;

/// Memory for chunks that wait for the writer, and for those that wait for the analysis.
const QUEUE_BYTES: usize = 64 << 20;

/// The part of a ring that bootstraps may take.
const CONTROL_SHARE: u64 = 8;

/// Reasons listed for one save.
const REASONS_LISTED: usize = 16;

/// What to record.
pub struct RecordPlan {
    /// Delivers the frames of these taps.
    pub source: Box<dyn LiveSource>,
    /// The taps, in the order of their numbers.
    pub taps: Vec<Tap>,
    /// How much of each frame.
    pub snap: SnapLen,
    /// Which frames; `None` for all.
    pub filter: Option<Filter>,
    /// Where to.
    pub place: Place,
    /// Facts on the host, for the heads of files.
    pub section: Section,
    /// Whether the frames are analysed, too.
    pub is_analysed: bool,
}

/// Where frames are recorded.
pub enum Place {
    /// One file with everything.
    File {
        /// `-` is standard output.
        path: PathBuf,
        /// It ends when it is this large.
        limit: Option<u64>,
    },
    /// A ring, from which files are saved.
    Ring {
        /// Its folder.
        folder: PathBuf,
        /// How far it looks back.
        keep: Duration,
        /// Most bytes on disk.
        bytes: u64,
    },
}

/// A running recording.
pub struct Recorder {
    tally: Arc<Tally>,
    section: Section,
    taps: Vec<Tap>,
    queue: Arc<Queue<Order>>,
    capture: Capture,
    writer: Writer,
    keep: Duration,
    is_ring: bool,
    removed: usize,
    pending: Option<Pending>,
    running: Vec<Running>,
}

/// A recording that has ended.
pub struct Finished {
    /// Saves that ended with it.
    pub saves: Vec<anyhow::Result<Saved>>,
    /// Where the ring is, if one of them failed.
    pub kept: Option<PathBuf>,
    /// What was counted.
    pub tally: Arc<Tally>,
    /// Whether the interfaces and the file worked to the end.
    pub result: anyhow::Result<()>,
}

/// A save whose time has not come.
struct Pending {
    order: SaveOrder,
    since: Timestamp,
    until: Arc<Mutex<Timestamp>>,
    segments: Receiver<Segments>,
}

/// A save that is being written.
struct Running {
    since: Timestamp,
    thread: JoinHandle<anyhow::Result<Saved>>,
}

impl Recorder {
    /// Starts to record. The feed is for the analysis, if there is one.
    ///
    /// # Errors
    ///
    /// The file or the ring cannot be written, or the system has no thread.
    pub fn start(plan: RecordPlan) -> anyhow::Result<(Self, Option<Feed>)> {
        let tally = Arc::new(Tally::default());
        let RecordPlan { source, taps, snap, filter, place, section, is_analysed } = plan;
        let is_ring = matches!(place, Place::Ring { .. });
        let (target, keep, removed) = open(place, &section, taps.clone(), &tally)?;
        let queue = Arc::new(Queue::new(QUEUE_BYTES));
        let analysis = is_analysed.then(|| Arc::new(Queue::new(QUEUE_BYTES)));
        let feed =
            analysis.clone().map(|queue| Feed::new(queue, source.completeness(), tally.clone()));
        let thread = "start a thread";
        let writer = Writer::start(queue.clone(), target, filter, tally.clone()).context(thread)?;
        let outlets = Outlets { writer: queue.clone(), analysis };
        let capture =
            Capture::start(source, &taps, snap, outlets, tally.clone()).context(thread)?;
        let (pending, running) = (None, Vec::new());
        let recorder = Self {
            tally,
            section,
            taps,
            queue,
            capture,
            writer,
            keep,
            is_ring,
            removed,
            pending,
            running,
        };
        Ok((recorder, feed))
    }

    /// What it has counted.
    #[must_use]
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Segments that an earlier capture left in the ring's folder, and that were removed.
    #[must_use]
    pub fn removed(&self) -> usize {
        self.removed
    }

    /// Whether it has ended by itself: the interfaces are gone, the file is full, or something failed.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.capture.has_ended() || self.writer.has_ended()
    }

    /// Whether a save waits for its end.
    #[must_use]
    pub fn is_saving(&self) -> bool {
        self.pending.is_some() || !self.running.is_empty()
    }

    /// Saves the ring and what comes in `after`, to the file that `path` names. If a save is already waiting for
    /// its end, this joins it, and returns false.
    pub fn save(
        &mut self,
        reason: String,
        after: Duration,
        path: &mut dyn FnMut(Timestamp) -> PathBuf,
    ) -> bool {
        let now = super::now();
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let end = now.plus_nanos(nanos(after));
        if let Some(pending) = &mut self.pending {
            if pending.order.reasons.len() < REASONS_LISTED
                && !pending.order.reasons.contains(&reason)
            {
                pending.order.reasons.push(reason);
            }
            return false;
        }
        if !self.is_ring {
            return false;
        }
        let since = Timestamp::from_nanos(now.as_nanos().saturating_sub(nanos(self.keep)));
        let until = Arc::new(Mutex::new(end));
        let (reply, segments) = channel();
        let asked = SegmentsOrder { since, until: until.clone(), reply };
        if self.queue.push_light(Order::Segments(asked)).is_err() {
            return false;
        }
        let (section, taps) = (self.section.clone(), self.taps.clone());
        let (path, reasons) = (path(now), vec![reason]);
        let order = SaveOrder { path, reasons, trigger: now, section, taps };
        self.pending = Some(Pending { order, since, until, segments });
        true
    }

    /// Whether a save waits for its time; more reasons join it.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        self.pending.is_some()
    }

    /// Whether a file is being written.
    #[must_use]
    pub fn is_writing(&self) -> bool {
        !self.running.is_empty()
    }

    /// Saves that were finished since the last call.
    pub fn saved(&mut self) -> Vec<anyhow::Result<Saved>> {
        if let Some(pending) = self.pending.take() {
            match pending.segments.try_recv() {
                Ok(segments) => self.begin(pending.order, pending.since, segments),
                Err(TryRecvError::Empty) => self.pending = Some(pending),
                Err(TryRecvError::Disconnected) => {
                    return vec![Err(anyhow!("the writer has ended, so nothing can be saved"))];
                }
            }
        }
        let mut results = Vec::new();
        let mut at = 0;
        while at < self.running.len() {
            if self.running.get(at).is_some_and(|one| one.thread.is_finished()) {
                let done = self.running.swap_remove(at);
                // Nobody is left to release if the writer has ended.
                _ = self.queue.push_light(Order::Release(done.since));
                results.push(joined(done.thread));
            } else {
                at += 1;
            }
        }
        results
    }

    fn begin(&mut self, order: SaveOrder, since: Timestamp, segments: Segments) {
        let work = move || save::save(&segments, &order);
        match thread::Builder::new().name("save".to_owned()).spawn(work) {
            Ok(thread) => self.running.push(Running { since, thread }),
            Err(_) => _ = self.queue.push_light(Order::Release(since)),
        }
    }

    /// Ends: takes what the kernel still has, and writes everything that was asked for.
    ///
    pub fn finish(mut self) -> Finished {
        if let Some(pending) = &self.pending {
            *pending.until.lock().unwrap_or_else(PoisonError::into_inner) = super::now();
        }
        let captured = self.capture.finish();
        self.queue.close();
        // The segments stay as long as `rings` does.
        let (written, mut rings) = self.writer.finish();
        let mut results = Vec::new();
        if let Some(pending) = self.pending.take() {
            results.push(match pending.segments.try_recv() {
                Ok(segments) => save::save(&segments, &pending.order),
                Err(_) => Err(anyhow!("the writer has ended, so nothing can be saved")),
            });
        }
        results.extend(self.running.drain(..).map(|running| joined(running.thread)));
        // What could not be saved is not thrown away.
        let is_lost = results.iter().any(Result::is_err);
        let kept = rings.as_mut().filter(|_| is_lost).map(|rings| rings.keep());
        drop(rings);
        let result = captured.context("capture").and(written.context("write the capture"));
        Finished { saves: results, kept, tally: self.tally, result }
    }
}

fn joined(thread: JoinHandle<anyhow::Result<Saved>>) -> anyhow::Result<Saved> {
    thread.join().unwrap_or_else(|_| Err(anyhow!("a save ended unexpectedly")))
}

/// Opens what is written to; also how far it looks back, and how many segments were left in it.
fn open(
    place: Place,
    section: &Section,
    taps: Vec<Tap>,
    tally: &Arc<Tally>,
) -> anyhow::Result<(Target, Duration, usize)> {
    match place {
        Place::File { path, limit } => {
            let single = Single::create(&path, section, &taps, limit);
            let single = single.with_context(|| format!("write {}", name(&path)))?;
            Ok((Target::File(Box::new(single)), Duration::ZERO, 0))
        }
        Place::Ring { folder, keep, bytes } => {
            let folder = Folder::open(&folder)?;
            let removed = folder.removed();
            if folder.is_listed() {
                let folder = folder.path().display();
                tally.notice(format!(
                    "the ring's folder {folder} may be listed by others: chmod 700 it"
                ));
            }
            let control = Limits { keep: None, bytes: bytes / CONTROL_SHARE };
            let recent = Limits { keep: Some(keep), bytes: bytes - control.bytes };
            let ring =
                |prefix, limits| Ring::new(&folder, prefix, limits, taps.clone(), tally.clone());
            let (recent, control) = (ring(RECENT, recent), ring(CONTROL, control));
            let rings = Rings { recent, control, folder };
            Ok((Target::Ring(Box::new(rings)), keep, removed))
        }
    }
}

fn name(path: &Path) -> String {
    match path == Path::new("-") {
        true => "to standard output".to_owned(),
        false => path.display().to_string(),
    }
}
