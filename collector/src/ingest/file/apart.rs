//! Files read apart from each other, on as many threads as wanted.
//!
//! Each file has a [`Follower`], which gets all its events and hands some on. What is handed on comes to the
//! calling thread in order of time over all files, whatever the number of threads.
//!
//! ```text
//! file 0 -> Follower 0 -+
//! file 1 -> Follower 1 -+- hand on -> in order of time -> calling thread
//! file n -> Follower n -+
//!    any thread, a batch of frames at a time: that of the file that is the furthest behind
//! ```
//!
//! The order is that of one thread that always reads the file whose next frame is the earliest: by the
//! latest time that a file has reached, then by its place among the files.
//!
//! Memory: what is handed on and cannot be delivered yet, at most 32 MiB and a batch a thread.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::CaptureSet;
use super::event::{Progress, SourceEvent};
use railscope_core::model::time::Timestamp;

/// Most events of a batch: more cost memory, fewer cost time for taking turns.
const BATCH_EVENTS: usize = 4096;

/// A batch ends when so much was handed on.
const BATCH_BYTES: usize = 256 << 10;

/// No thread begins another batch while this much waits to be delivered, unless nothing else can go on.
const BACKLOG_BYTES: usize = 32 << 20;

/// Bytes of an item that is handed on, besides those that it names.
const ITEM_BYTES: usize = 128;

/// Takes the events of one file.
pub trait Follower: Send {
    /// What it hands on.
    type Item: Send;

    /// Takes the next event. Taps are numbered from 0 in each file.
    fn event(&mut self, event: SourceEvent<'_>, out: &mut Outbox<Self::Item>);
}

/// What a follower hands on.
#[derive(Debug)]
pub struct Outbox<I> {
    items: VecDeque<(Timestamp, I)>,
    time: Timestamp,
    bytes: usize,
}

impl<I> Outbox<I> {
    const fn new(time: Timestamp) -> Self {
        Self { items: VecDeque::new(), time, bytes: 0 }
    }

    /// Passes an event on to who follows the file.
    #[inline]
    fn pass<F: Follower<Item = I>>(&mut self, event: SourceEvent<'_>, follower: &mut F) {
        if let SourceEvent::Frame(frame) = &event {
            self.time = self.time.max(frame.time);
        }
        follower.event(event, self);
    }

    /// Hands on an item that has `bytes` of its own in memory.
    pub fn push(&mut self, item: I, bytes: usize) {
        self.items.push_back((self.time, item));
        self.bytes += bytes + ITEM_BYTES;
    }
}

/// One file and who follows it.
struct Lane<F: Follower> {
    place: usize,
    captures: CaptureSet,
    follower: F,
    /// Whether its first frame has been delivered.
    has_begun: bool,
    has_ended: bool,
    /// The latest time of its frames so far; all that comes is later or at that time.
    reached: Timestamp,
}

/// What a batch yielded.
struct Batch<I> {
    place: usize,
    has_ended: bool,
    reached: Timestamp,
    out: Outbox<I>,
    progress: Progress,
}

/// The files of a set, to be read apart. Their first frames have been read.
pub struct Files {
    sets: Vec<(CaptureSet, Option<Timestamp>)>,
}

impl Files {
    /// Reads the first frame of each file.
    #[must_use]
    pub fn new(captures: CaptureSet) -> Self {
        let begin = |mut set: CaptureSet| {
            let first = set.read_first();
            (set, first)
        };
        Self { sets: captures.split().into_iter().map(begin).collect() }
    }

    /// The time of the earliest first frame.
    #[must_use]
    pub fn first(&self) -> Option<Timestamp> {
        self.sets.iter().filter_map(|(_, first)| *first).min()
    }

    /// Reads all files to their ends, with a follower for each, on `threads` threads, this one among them.
    /// `deliver` gets the items with their file's place and the latest time of that file's frames by then, which
    /// is their order, and `observe` the progress from time to time.
    /// Returns the followers.
    ///
    /// # Errors
    ///
    /// When `deliver` fails: the files are not read further.
    pub fn follow<F: Follower, E>(
        self,
        followers: Vec<F>,
        threads: NonZeroUsize,
        mut deliver: impl FnMut((Timestamp, usize), F::Item) -> Result<(), E>,
        mut observe: impl FnMut(Progress),
    ) -> Result<Vec<F>, E> {
        let lanes: Vec<Lane<F>> = self
            .sets
            .into_iter()
            .zip(followers)
            .enumerate()
            .map(|(place, ((captures, _), follower))| Lane {
                place,
                captures,
                follower,
                has_begun: false,
                has_ended: false,
                reached: Timestamp::EPOCH,
            })
            .collect();
        let mut order = Order::new(&lanes);
        let others = threads.get().min(lanes.len()).saturating_sub(1);
        let turns = Turns::new(lanes);
        let outcome = thread::scope(|scope| {
            // However this ends, the others must not wait for ever.
            let _stop = StopOnDrop(&turns);
            for _ in 0..others {
                scope.spawn(|| {
                    let _stop = StopOnDrop(&turns);
                    turns.work();
                });
            }
            while let ControlFlow::Continue(batches) = turns.next() {
                for batch in batches {
                    order.add(batch);
                }
                let delivered = order.deliver(&mut deliver)?;
                turns.delivered(delivered);
                observe(order.progress.iter().copied().sum());
            }
            Ok(())
        });
        outcome.map(|()| turns.finish())
    }
}

impl<F: Follower> Lane<F> {
    /// Reads on for a batch.
    fn advance(&mut self) -> Batch<F::Item> {
        let mut out = Outbox::new(self.reached);
        if self.has_begun {
            self.read_on(&mut out);
        } else {
            self.begin(&mut out);
        }
        self.reached = out.time;
        let (place, has_ended, reached) = (self.place, self.has_ended, self.reached);
        Batch { place, has_ended, reached, out, progress: self.captures.progress() }
    }

    /// Hands over what precedes the first frame, and that one: nothing can be delivered before all files have
    /// said how far they are.
    fn begin(&mut self, out: &mut Outbox<F::Item>) {
        self.has_begun = true;
        while let Some(event) = self.captures.first_event() {
            out.pass(event, &mut self.follower);
        }
    }

    fn read_on(&mut self, out: &mut Outbox<F::Item>) {
        for _ in 0..BATCH_EVENTS {
            let Some(event) = self.captures.next_event() else {
                self.has_ended = true;
                return;
            };
            out.pass(event, &mut self.follower);
            if out.bytes >= BATCH_BYTES {
                return;
            }
        }
    }
}

/// Whose turn it is: the lanes between the threads.
struct Turns<F: Follower> {
    state: Mutex<TurnState<F>>,
    changed: Condvar,
}

struct TurnState<F: Follower> {
    /// Lanes that no thread has, by place.
    resting: Vec<Option<Lane<F>>>,
    /// Those of them that go on, the furthest behind first.
    ready: BinaryHeap<Reverse<(Timestamp, usize)>>,
    /// Lanes that a thread has.
    taken: usize,
    batches: Vec<Batch<F::Item>>,
    /// Bytes handed on and not delivered.
    backlog: usize,
    /// A thread ended before its work.
    is_stopped: bool,
}

impl<F: Follower> TurnState<F> {
    fn take(&mut self) -> Option<Lane<F>> {
        let Reverse((_, place)) = self.ready.pop()?;
        self.taken += 1;
        self.resting.get_mut(place)?.take()
    }

    fn put_back(&mut self, lane: Lane<F>, batch: Batch<F::Item>) {
        self.taken -= 1;
        if !lane.has_ended {
            self.ready.push(Reverse((lane.reached, lane.place)));
        }
        self.backlog += batch.out.bytes;
        self.batches.push(batch);
        let place = lane.place;
        self.resting[place] = Some(lane);
    }

    fn has_ended(&self) -> bool {
        self.is_stopped || (self.taken == 0 && self.ready.is_empty())
    }
}

impl<F: Follower> Turns<F> {
    fn new(lanes: Vec<Lane<F>>) -> Self {
        let ready = lanes.iter().map(|lane| Reverse((lane.reached, lane.place))).collect();
        let state = TurnState {
            resting: lanes.into_iter().map(Some).collect(),
            ready,
            taken: 0,
            batches: Vec::new(),
            backlog: 0,
            is_stopped: false,
        };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, TurnState<F>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&'a self, state: MutexGuard<'a, TurnState<F>>) -> MutexGuard<'a, TurnState<F>> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// Advances a lane, if there is one and `may_take`; else waits for a change.
    fn turn<'a>(
        &'a self,
        mut state: MutexGuard<'a, TurnState<F>>,
        may_take: bool,
    ) -> MutexGuard<'a, TurnState<F>> {
        let lane = if may_take { state.take() } else { None };
        let Some(mut lane) = lane else { return self.wait(state) };
        drop(state);
        let batch = lane.advance();
        let mut state = self.lock();
        state.put_back(lane, batch);
        self.changed.notify_all();
        state
    }

    /// Advances lanes until all have ended.
    fn work(&self) {
        let mut state = self.lock();
        while !state.has_ended() {
            let has_room = state.backlog < BACKLOG_BYTES;
            state = self.turn(state, has_room);
        }
        self.changed.notify_all();
    }

    /// The batches since the last call, at least one; advances a lane if there are none. Breaks when all
    /// have ended.
    fn next(&self) -> ControlFlow<(), Vec<Batch<F::Item>>> {
        let mut state = self.lock();
        while state.batches.is_empty() {
            if state.has_ended() {
                return ControlFlow::Break(());
            }
            // If no thread has a lane, only this one can make progress.
            let may_take = state.backlog < BACKLOG_BYTES || state.taken == 0;
            state = self.turn(state, may_take);
        }
        ControlFlow::Continue(std::mem::take(&mut state.batches))
    }

    fn delivered(&self, bytes: usize) {
        self.lock().backlog -= bytes;
        self.changed.notify_all();
    }

    /// The followers, once all threads have ended.
    fn finish(self) -> Vec<F> {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        state.resting.into_iter().flatten().map(|lane| lane.follower).collect()
    }
}

/// Ends the wait of all threads when one of them ends, in whatever way.
struct StopOnDrop<'a, F: Follower>(&'a Turns<F>);

impl<F: Follower> Drop for StopOnDrop<'_, F> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        let has_ended = state.has_ended();
        state.is_stopped |= !has_ended;
        drop(state);
        self.0.changed.notify_all();
    }
}

/// What was handed on, in order of time.
struct Order<I> {
    /// Of each lane, what is left of its batches: a batch is freed with its last item.
    waiting: Vec<VecDeque<Outbox<I>>>,
    /// The first item of each lane that has one.
    first: BinaryHeap<Reverse<(Timestamp, usize)>>,
    /// How far each lane is; `None` at its end.
    reached: Vec<Option<Timestamp>>,
    progress: Vec<Progress>,
}

impl<I> Order<I> {
    fn new<F: Follower<Item = I>>(lanes: &[Lane<F>]) -> Self {
        Self {
            waiting: lanes.iter().map(|_| VecDeque::new()).collect(),
            first: BinaryHeap::new(),
            // What precedes the first frame of a lane comes before everything else.
            reached: lanes.iter().map(|_| Some(Timestamp::EPOCH)).collect(),
            progress: lanes.iter().map(|lane| lane.captures.progress()).collect(),
        }
    }

    fn add(&mut self, batch: Batch<I>) {
        let place = batch.place;
        self.reached[place] = (!batch.has_ended).then_some(batch.reached);
        self.progress[place] = batch.progress;
        let Some((time, _)) = batch.out.items.front() else { return };
        if self.waiting[place].is_empty() {
            self.first.push(Reverse((*time, place)));
        }
        self.waiting[place].push_back(batch.out);
    }

    /// Delivers what no lane can precede any more; returns how many bytes of batches are delivered.
    fn deliver<E>(
        &mut self,
        deliver: &mut impl FnMut((Timestamp, usize), I) -> Result<(), E>,
    ) -> Result<usize, E> {
        let reached = self.reached.iter().zip(0..);
        let bound = reached.filter_map(|(reached, place)| Some((((*reached)?), place))).min();
        let mut delivered = 0;
        while let Some(Reverse(next)) = self.first.peek().copied() {
            if bound.is_some_and(|bound| next > bound) {
                break;
            }
            self.first.pop();
            let place = next.1;
            let waiting = &mut self.waiting[place];
            let Some(batch) = waiting.front_mut() else { continue };
            let Some((_, item)) = batch.items.pop_front() else { continue };
            if batch.items.is_empty() {
                delivered += batch.bytes;
                waiting.pop_front();
            }
            if let Some((time, _)) = waiting.front().and_then(|batch| batch.items.front()) {
                self.first.push(Reverse((*time, place)));
            }
            deliver(next, item)?;
        }
        Ok(delivered)
    }
}
