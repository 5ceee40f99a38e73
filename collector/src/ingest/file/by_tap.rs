//! One file that several threads read, each for some of its taps.
//!
//! Each thread reads all of it, because finding where frames begin costs less than handing frames to another core. What
//! followers hand on comes to the calling thread in the order of the file, whatever the number of threads.
//!
//! ```text
//! file -+-> Follower 0, some taps -+
//!       +-> Follower 1, some taps -+- hand on -> in order of the file -> calling thread
//! ```
//!
//! Memory: what is handed on of four stretches of the file, each of 1 MiB of frames, or one frame that is larger.

use std::iter;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use super::CaptureSet;
use super::event::{Progress, SourceEvent};
use railscope_core::model::time::Timestamp;

/// Most events of a stretch.
const STRETCH_EVENTS: u64 = 4096;

/// Bytes of frames that end a stretch.
const STRETCH_BYTES: usize = 1 << 20;

/// Stretches that wait until all threads have read them.
const WAITING: usize = 2;

/// Takes the events of the file. All followers of a file get all of them.
pub trait TapFollower: Send {
    /// What it hands on.
    type Item: Send;

    /// Takes the next event. For each event, at most one of the followers hands something on.
    fn event(&mut self, event: SourceEvent<'_>, out: &mut Vec<Self::Item>);
}

/// A file of several taps.
pub struct ByTap {
    captures: CaptureSet,
    taps: usize,
    first: Timestamp,
}

impl ByTap {
    /// Looks at the start of a file; `None` if it has one tap up to its first frame, or no frame, is compressed or comes
    /// through a pipe, or if there are several files.
    #[must_use]
    pub fn new(captures: &CaptureSet) -> Option<Self> {
        let mut start = captures.again()?;
        let first = start.read_first()?;
        let taps = start.notices.taps();
        if taps < 2 {
            return None;
        }
        Some(Self { captures: captures.again()?, taps, first })
    }

    /// The time of the first frame.
    #[must_use]
    pub const fn first(&self) -> Timestamp {
        self.first
    }

    /// Reads the file to its end, once for each of at most `threads` followers, which `make` gives for its number and
    /// the number of all: several on a thread each, a single one on this thread. `deliver` gets the items in the order
    /// of the file, and `observe` the progress from time to time. Returns the followers.
    ///
    /// # Errors
    ///
    /// When `deliver` fails: the file is not read further.
    pub fn follow<F: TapFollower, E>(
        self,
        threads: usize,
        make: impl Fn(usize, usize) -> F,
        mut deliver: impl FnMut(F::Item) -> Result<(), E>,
        mut observe: impl FnMut(Progress),
    ) -> Result<Vec<F>, E> {
        let others = 1..threads.min(self.taps);
        let others: Vec<CaptureSet> = others.map_while(|_| self.captures.again()).collect();
        if others.is_empty() {
            let follower = read_here(self.captures, make(0, 1), deliver, observe)?;
            return Ok(vec![follower]);
        }
        let of = others.len() + 1;
        thread::scope(|scope| {
            let mut sources = Vec::new();
            let mut readers = Vec::new();
            for (own, captures) in iter::once(self.captures).chain(others).enumerate() {
                let (to_merge, stretches) = sync_channel(WAITING);
                let follower = make(own, of);
                sources.push(stretches);
                readers.push(scope.spawn(move || read(captures, follower, &to_merge)));
            }
            while let Some((items, progress)) = next_stretch(&sources) {
                items.into_iter().try_for_each(|(_, item)| deliver(item))?;
                observe(progress);
            }
            // Whoever is not at the end need not get there.
            drop(sources);
            Ok(readers.into_iter().map(joined).collect())
        })
    }
}

/// Follows a file to its end on this thread.
fn read_here<F: TapFollower, E>(
    mut captures: CaptureSet,
    mut follower: F,
    mut deliver: impl FnMut(F::Item) -> Result<(), E>,
    mut observe: impl FnMut(Progress),
) -> Result<F, E> {
    let mut reading = Reading::default();
    while let Some(event) = captures.next_event() {
        reading.pass(event, &mut follower);
        if reading.is_full() {
            reading.take().into_iter().try_for_each(|(_, item)| deliver(item))?;
            observe(captures.progress());
        }
    }
    reading.take().into_iter().try_for_each(|(_, item)| deliver(item))?;
    Ok(follower)
}

/// What a thread gave back. If it panicked, so does this one.
fn joined<F>(reader: thread::ScopedJoinHandle<'_, F>) -> F {
    reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// What one thread hands on of a stretch of the file.
struct Stretch<I> {
    /// Each with the number of its event in the stretch.
    items: Vec<(u64, I)>,
    progress: Progress,
}

/// The items of the next stretch in order; `None` when one of the threads has ended: all do at the same stretch, unless
/// one panicked or the file changed.
fn next_stretch<I>(sources: &[Receiver<Stretch<I>>]) -> Option<(Vec<(u64, I)>, Progress)> {
    let mut all = Vec::new();
    let mut progress = Progress::default();
    for source in sources {
        let stretch = source.recv().ok()?;
        all.extend(stretch.items);
        progress = stretch.progress;
    }
    all.sort_by_key(|(number, _)| *number);
    Some((all, progress))
}

/// Follows a file to its end, or until nobody wants what is handed on.
fn read<F: TapFollower>(
    mut captures: CaptureSet,
    mut follower: F,
    stretches: &SyncSender<Stretch<F::Item>>,
) -> F {
    let mut reading = Reading::default();
    while let Some(event) = captures.next_event() {
        reading.pass(event, &mut follower);
        if reading.is_full() {
            let stretch = Stretch { items: reading.take(), progress: captures.progress() };
            if stretches.send(stretch).is_err() {
                return follower;
            }
        }
    }
    let _ = stretches.send(Stretch { items: reading.take(), progress: captures.progress() });
    follower
}

/// The stretch that is being read.
struct Reading<I> {
    items: Vec<(u64, I)>,
    /// What the follower hands on of one event.
    out: Vec<I>,
    /// Events of the stretch so far, and bytes of their frames, of whatever tap: stretches are the same in all threads.
    events: u64,
    bytes: usize,
}

impl<I> Default for Reading<I> {
    fn default() -> Self {
        Self { items: Vec::new(), out: Vec::new(), events: 0, bytes: 0 }
    }
}

impl<I> Reading<I> {
    // Cost: a call that moves the event takes a tenth of the time of a whole `analyze`.
    #[inline(always)]
    fn pass(&mut self, event: SourceEvent<'_>, follower: &mut impl TapFollower<Item = I>) {
        self.events += 1;
        if let SourceEvent::Frame(frame) = &event {
            self.bytes += frame.bytes.len();
        }
        follower.event(event, &mut self.out);
        if !self.out.is_empty() {
            let number = self.events;
            self.items.extend(self.out.drain(..).map(|item| (number, item)));
        }
    }

    /// What was handed on of the stretch; the next one begins.
    fn take(&mut self) -> Vec<(u64, I)> {
        (self.events, self.bytes) = (0, 0);
        std::mem::take(&mut self.items)
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.events >= STRETCH_EVENTS || self.bytes >= STRETCH_BYTES
    }
}
