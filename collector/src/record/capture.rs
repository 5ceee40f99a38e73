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

/// Longest wait for frames before checking whether to end.
const PATIENCE: Duration = Duration::from_millis(50);

/// A chunk that is not full is handed over after this time.
const LATENCY: Duration = Duration::from_millis(100);

/// How long a full queue of the writer is waited for; the kernel's ring takes frames meanwhile.
const WRITER_PATIENCE: Duration = Duration::from_millis(200);

/// Polls at the end: two of them empty a full ring of the kernel.
const LAST_POLLS: u32 = 2;

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
        let mut hopper = Hopper { outlets, tally, names, pool, chunk, missed, handed_over: now() };
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
}

impl Hopper {
    fn run(
        &mut self,
        mut source: Box<dyn LiveSource>,
        snap: SnapLen,
        is_over: &AtomicBool,
    ) -> io::Result<()> {
        let mut cutter = Cutter::new(snap);
        let mut last_polls = LAST_POLLS;
        while last_polls > 0 && !source.is_over() {
            let patience = match is_over.load(Ordering::Relaxed) {
                true => Duration::ZERO,
                false => PATIENCE,
            };
            last_polls -= u32::from(patience.is_zero());
            source.poll(patience, &mut |event| self.take(event, &mut cutter))?;
            if self.handed_over.elapsed() >= LATENCY {
                self.hand_over();
                let mut taps = (0..).map(TapId).take(self.names.len());
                self.tally.set_quiet(taps.all(|tap| source.is_quiet(tap)));
            }
        }
        Ok(())
    }

    #[inline]
    fn take(&mut self, event: LiveEvent<'_>, cutter: &mut Cutter) {
        let other = match event {
            LiveEvent::Frame(frame) => {
                let cut = cutter.cut(&frame);
                self.tally.frames.add(1);
                self.tally.wire_bytes.add(frame.wire_len.into());
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
