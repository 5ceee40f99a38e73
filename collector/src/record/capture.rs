//! The thread that captures: frames into chunks, and chunks to the writer and to the analysis.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::chunk::{Chunk, Pool};
use super::queue::Queue;
use super::snap::{Cutter, SnapLen};
use super::tally::Tally;
use super::writer::Order;
use crate::ingest::live::{LiveEvent, LiveSource};
use railscope_core::model::tap::{Tap, TapId};
use railscope_core::model::time::Timestamp;

/// Longest wait for frames before checking whether to end.
const PATIENCE: Duration = Duration::from_millis(50);

/// A chunk that is not full is handed over after this time.
const LATENCY: Duration = Duration::from_millis(100);

/// How long a full queue of the writer is waited for; the kernel's ring takes frames meanwhile.
const WRITER_PATIENCE: Duration = Duration::from_millis(200);

/// At the end, the kernel hands over what it still holds back within this time ...
const LAST_BLOCK: Duration = Duration::from_millis(100);

/// ... and reading what a full ring has, 4 GiB at most, takes no longer than this.
const LAST_READ: Duration = Duration::from_secs(10);

/// A chunk for the writer and for the analysis.
#[derive(Clone, Debug)]
pub(super) struct Delivery {
    pub(super) chunk: Arc<Chunk>,
    /// Frames by tap that this receiver missed before it.
    pub(super) missed: Vec<(TapId, u64)>,
}

/// Where chunks go.
#[derive(Clone)]
pub(super) struct Outlets {
    pub(super) writer: Arc<Queue<Order>>,
    /// `None` if nothing is analysed.
    pub(super) analysis: Option<Arc<Queue<Delivery>>>,
}

/// The running thread.
pub(super) struct Capture {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<io::Result<()>>,
}

impl Capture {
    pub(super) fn start(
        source: Box<dyn LiveSource>,
        taps: &[Tap],
        snap: SnapLen,
        outlets: Outlets,
        tally: Arc<Tally>,
    ) -> io::Result<Self> {
        let is_over = Arc::new(AtomicBool::new(false));
        let over = is_over.clone();
        let pool = Arc::new(Pool::default());
        let chunk = pool.chunk();
        let missed = [Vec::new(), Vec::new()];
        let names = taps.iter().map(|tap| tap.interface.clone().unwrap_or_default()).collect();
        let mut hopper = Hopper {
            outlets,
            tally,
            names,
            pool,
            chunk,
            missed,
            handed_over: now(),
            newest: Timestamp::from_nanos(0),
            is_drained: false,
        };
        let work = move || {
            let result = hopper.run(source, snap, &over);
            hopper.hand_over();
            if let Some(analysis) = &hopper.outlets.analysis {
                analysis.close();
            }
            result
        };
        let thread = thread::Builder::new().name("capture".to_owned()).spawn(work)?;
        Ok(Self { is_over, thread })
    }

    /// Whether it has ended, because all interfaces are gone or one failed.
    pub(super) fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }

    /// Takes what the kernel still has, and ends.
    pub(super) fn finish(self) -> io::Result<()> {
        self.is_over.store(true, Ordering::Relaxed);
        let failed = |_| Err(io::Error::other("the capture ended unexpectedly"));
        self.thread.join().unwrap_or_else(failed)
    }
}

/// When a capture was asked to end.
#[derive(Clone, Copy)]
struct End {
    /// Frames from before it are taken.
    time: Timestamp,
    since: Instant,
}

/// The chunk that is being filled.
struct Hopper {
    outlets: Outlets,
    tally: Arc<Tally>,
    /// Of the taps.
    names: Vec<String>,
    pool: Arc<Pool>,
    chunk: Chunk,
    /// Frames by tap that the writer and the analysis missed.
    missed: [Vec<(TapId, u64)>; 2],
    handed_over: Instant,
    /// Time of the latest frame.
    newest: Timestamp,
    /// The last poll brought no frames.
    is_drained: bool,
}

impl Hopper {
    fn run(
        &mut self,
        mut source: Box<dyn LiveSource>,
        snap: SnapLen,
        is_over: &AtomicBool,
    ) -> io::Result<()> {
        let mut cutter = Cutter::new(snap);
        let mut end = None;
        while !source.is_over() && !self.has_all(end) {
            if end.is_none() && is_over.load(Ordering::Relaxed) {
                end = Some(End { time: super::now(), since: now() });
            }
            let before = self.tally.frames.get();
            source.poll(PATIENCE, &mut |event| self.take(event, &mut cutter))?;
            self.is_drained = self.tally.frames.get() == before;
            if self.handed_over.elapsed() >= LATENCY {
                self.hand_over();
                let mut taps = (0..).map(TapId).take(self.names.len());
                self.tally.set_quiet(taps.all(|tap| source.is_quiet(tap)));
            }
        }
        if !self.is_drained && end.is_some_and(|end| self.newest < end.time) {
            let seconds = LAST_READ.as_secs();
            self.tally.notice(format!(
                "the ring was not empty {seconds} s after the end: the last frames are missing"
            ));
        }
        // Without patience, losses are counted at once.
        source.poll(Duration::ZERO, &mut |event| self.take(event, &mut cutter))
    }

    /// Whether all frames that passed before the end are here.
    fn has_all(&self, end: Option<End>) -> bool {
        end.is_some_and(|end| {
            let since = end.since.elapsed();
            self.newest >= end.time || self.is_drained && since > LAST_BLOCK || since > LAST_READ
        })
    }

    #[inline]
    fn take(&mut self, event: LiveEvent<'_>, cutter: &mut Cutter) {
        let other = match event {
            LiveEvent::Frame(frame) => {
                let cut = cutter.cut(&frame);
                self.tally.frames.add(1);
                self.tally.wire_bytes.add(frame.wire_len.into());
                self.newest = frame.time;
                self.chunk.push(&frame, cut.kept, cut.is_control);
                if self.chunk.is_full() {
                    self.hand_over();
                }
                return;
            }
            // Packet sockets count no packets in the kernel.
            LiveEvent::Run(..) => return,
            LiveEvent::Lost { tap, frames } => {
                self.tally.kernel_lost.add(frames);
                LiveEvent::Lost { tap, frames }
            }
            LiveEvent::Tap(tap) => LiveEvent::Tap(tap),
            LiveEvent::HostName(name) => LiveEvent::HostName(name),
            LiveEvent::Missed { event, count } => LiveEvent::Missed { event, count },
            LiveEvent::Silent { tap, why } => {
                let name = self.names.get(tap.0 as usize).map_or("a tap", String::as_str);
                self.tally.notice(format!("{name}: {why}"));
                return;
            }
            LiveEvent::Warning(text) => {
                self.tally.notice(text);
                return;
            }
        };
        self.chunk.events.push(other);
    }

    /// Gives the chunk to the writer, and to the analysis if it keeps up.
    fn hand_over(&mut self) {
        self.handed_over = now();
        if self.chunk.is_empty() {
            return;
        }
        let chunk = Arc::new(std::mem::replace(&mut self.chunk, self.pool.chunk()));
        let weight = chunk.weight();
        let [for_writer, for_analysis] = &mut self.missed;
        if let Some(analysis) = &self.outlets.analysis {
            let missed = std::mem::take(for_analysis);
            let delivery = Delivery { chunk: chunk.clone(), missed };
            if let Err(refused) = analysis.push(delivery, weight, Duration::ZERO) {
                self.tally.unanalysed.add(chunk.heads().len() as u64);
                *for_analysis = refused.missed;
                count_missed(&chunk, for_analysis);
            }
        }
        let order = Order::Frames(Delivery { chunk, missed: std::mem::take(for_writer) });
        if let Err(Order::Frames(refused)) =
            self.outlets.writer.push(order, weight, WRITER_PATIENCE)
        {
            self.tally.queue_lost.add(refused.chunk.heads().len() as u64);
            *for_writer = refused.missed;
            count_missed(&refused.chunk, for_writer);
        }
    }
}

/// Adds the frames of a chunk that is dropped, and those lost before them.
fn count_missed(chunk: &Chunk, missed: &mut Vec<(TapId, u64)>) {
    let mut add = |tap: TapId, frames: u64| match missed.iter_mut().find(|one| one.0 == tap) {
        Some(one) => one.1 += frames,
        None => missed.push((tap, frames)),
    };
    chunk.heads().iter().for_each(|head| add(head.tap, 1));
    for event in &chunk.events {
        if let LiveEvent::Lost { tap, frames } = event {
            add(*tap, *frames);
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "chunks are handed over at intervals")]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use railscope_core::model::frame::Frame;
    use railscope_core::model::tap::LinkType;

    use super::*;

    /// A source that is so many polls behind.
    struct Behind(u32);

    impl LiveSource for Behind {
        fn poll(
            &mut self,
            patience: Duration,
            sink: &mut dyn FnMut(LiveEvent<'_>),
        ) -> io::Result<()> {
            if self.0 == 0 {
                thread::sleep(patience);
                return Ok(());
            }
            self.0 -= 1;
            sink(LiveEvent::Frame(Frame {
                tap: TapId(0),
                number: 1,
                time: Timestamp::from_nanos(1),
                wire_len: 64,
                bytes: &[0; 64],
                link_type: LinkType::Ethernet,
                direction: None,
            }));
            Ok(())
        }

        fn is_over(&self) -> bool {
            false
        }

        fn completeness(&self) -> Vec<String> {
            Vec::new()
        }
    }

    #[test]
    fn what_the_kernel_still_has_at_the_end_is_taken() {
        let tally = Arc::new(Tally::default());
        let writer = Arc::new(Queue::new(usize::MAX));
        let outlets = Outlets { writer, analysis: None };
        let source = Box::new(Behind(50));
        let capture = Capture::start(source, &[], SnapLen::Auto, outlets, tally.clone()).unwrap();
        capture.finish().unwrap();
        assert_eq!(tally.frames.get(), 50);
    }
}
