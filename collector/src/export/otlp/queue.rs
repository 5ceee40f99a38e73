//! The send queue: bounded in bytes; adding a batch never blocks.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use super::batch::{Batch, Signal};
use railscope_core::metrics::own::ExportFigures;

/// Batches in order of arrival. If the queue is full, the oldest are dropped.
#[derive(Debug)]
pub struct Queue {
    capacity_bytes: usize,
    inner: Mutex<Inner>,
    /// A batch was added, or the queue was closed.
    changed: Notify,
    /// A batch was removed.
    room: Condvar,
    /// Wakes a sender that waits to retry.
    hurry: Notify,
}

#[derive(Debug, Default)]
struct Inner {
    waiting: VecDeque<Batch>,
    /// Bytes queued and being sent.
    bytes: usize,
    in_flight_bytes: usize,
    is_closed: bool,
    figures: [ExportFigures; 3],
    trouble: Option<String>,
}

/// Result of sending a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// The receiver accepted it, except for some items.
    #[expect(missing_docs, reason = "each says what it is")]
    Taken { rejected: u64, message: String },
    /// Permanently rejected.
    Failed(String),
}

impl Queue {
    /// A queue with space for `capacity_bytes` of encoded requests.
    #[must_use]
    pub fn new(capacity_bytes: usize) -> Self {
        Self {
            capacity_bytes,
            inner: Mutex::default(),
            changed: Notify::new(),
            room: Condvar::new(),
            hurry: Notify::new(),
        }
    }

    /// Adds `batch`; if the queue is full, the oldest are dropped and counted.
    pub fn push(&self, batch: Batch) {
        let mut inner = self.inner();
        inner.bytes += batch.body.len();
        inner.waiting.push_back(batch);
        while inner.bytes > self.capacity_bytes {
            let Some(oldest) = inner.waiting.pop_front() else { break };
            inner.bytes -= oldest.body.len();
            inner.figures_of(oldest.signal).dropped += oldest.items;
        }
        drop(inner);
        self.changed.notify_one();
    }

    /// Waits until `bytes` bytes fit; gives up if no batch is removed within `patience`.
    pub(super) fn wait_for_room(&self, bytes: usize, patience: Duration) {
        let mut inner = self.inner();
        while inner.bytes > 0 && inner.bytes + bytes > self.capacity_bytes {
            let waited = self.room.wait_timeout(inner, patience);
            let (now, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            inner = now;
            if timeout.timed_out() {
                return;
            }
        }
    }

    /// Removes the oldest batch for sending; `None` when the queue is closed and empty.
    pub(super) async fn next(&self) -> Option<Batch> {
        loop {
            {
                let mut inner = self.inner();
                if let Some(batch) = inner.waiting.pop_front() {
                    inner.in_flight_bytes = batch.body.len();
                    return Some(batch);
                }
                if inner.is_closed {
                    return None;
                }
            }
            self.changed.notified().await;
        }
    }

    /// Records the result of a removed batch.
    pub(super) fn settle(&self, batch: &Batch, delivery: Delivery) {
        let mut inner = self.inner();
        inner.bytes -= std::mem::take(&mut inner.in_flight_bytes);
        let figures = inner.figures_of(batch.signal);
        match delivery {
            Delivery::Taken { rejected, message } => {
                let rejected = rejected.min(batch.items);
                figures.sent += batch.items - rejected;
                figures.rejected += rejected;
                inner.trouble = (!message.is_empty()).then_some(message);
            }
            Delivery::Failed(why) => {
                figures.failed += batch.items;
                inner.trouble = Some(why);
            }
        }
        drop(inner);
        self.room.notify_all();
    }

    /// Records the reason for a retry.
    pub(super) fn note_trouble(&self, why: String) {
        self.inner().trouble = Some(why);
    }

    /// Closes the queue: no more batches will be added.
    pub fn close(&self) {
        self.inner().is_closed = true;
        self.changed.notify_one();
        self.hurry.notify_one();
    }

    /// Completes once, when the queue is closed: a last retry, as the receiver may be back.
    pub(super) async fn hurried(&self) {
        self.hurry.notified().await;
    }

    /// The sender has given up: drops the rest.
    pub(super) fn abandon(&self) {
        let mut inner = self.inner();
        while let Some(batch) = inner.waiting.pop_front() {
            inner.figures_of(batch.signal).dropped += batch.items;
        }
        inner.bytes = 0;
    }

    /// Records a removed batch that can no longer be sent.
    pub(super) fn drop_unsent(&self, batch: &Batch) {
        self.inner().figures_of(batch.signal).dropped += batch.items;
    }

    /// Results of all batches, by signal.
    #[must_use]
    pub fn figures(&self) -> [(Signal, ExportFigures); 3] {
        let inner = self.inner();
        Signal::ALL.map(|signal| (signal, inner.figures[signal as usize]))
    }

    /// Bytes queued or being sent.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.inner().bytes
    }

    /// The latest error, if the latest result was an error.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        self.inner().trouble.clone()
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn figures_of(&mut self, signal: Signal) -> &mut ExportFigures {
        &mut self.figures[signal as usize]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn batch(signal: Signal, items: u64, bytes: usize) -> Batch {
        Batch { signal, items, body: vec![0; bytes].into() }
    }

    proptest! {
        #[test]
        fn memory_is_bounded_and_everything_is_counted(
            sizes in prop::collection::vec((0..3_usize, 0..40_u64, 0..300_usize), 0..60),
            capacity in 0..1000_usize,
        ) {
            let queue = Queue::new(capacity);
            let mut put = [0; 3];
            for (signal, items, bytes) in sizes {
                queue.push(batch(Signal::ALL[signal], items, bytes));
                put[signal] += items;
                prop_assert!(queue.bytes() <= capacity);
            }
            let kept: Vec<_> = queue.inner().waiting.iter().cloned().collect();
            for (signal, figures) in queue.figures() {
                let of_signal = kept.iter().filter(|batch| batch.signal == signal);
                let waiting: u64 = of_signal.map(|batch| batch.items).sum();
                prop_assert_eq!(figures.dropped + waiting, put[signal as usize]);
            }
        }
    }

    #[test]
    fn the_oldest_make_room_but_for_what_is_being_sent() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let queue = Queue::new(100);
        for items in 1..=3 {
            queue.push(batch(Signal::Metrics, items, 40));
        }
        assert_eq!(queue.figures()[0].1.dropped, 1, "the first");
        let sending = runtime.block_on(queue.next()).unwrap();
        assert_eq!(sending.items, 2);
        queue.push(batch(Signal::Metrics, 4, 40));
        assert_eq!(queue.figures()[0].1.dropped, 1 + 3);
        assert_eq!(queue.bytes(), 80);
        let taken = Delivery::Taken { rejected: 1, message: String::new() };
        queue.settle(&sending, taken);
        let figures = queue.figures()[0].1;
        assert_eq!((figures.sent, figures.rejected, queue.bytes()), (1, 1, 40));
        queue.close();
        let last = runtime.block_on(queue.next()).unwrap();
        queue.settle(&last, Delivery::Failed("no".to_owned()));
        assert_eq!((queue.figures()[0].1.failed, queue.bytes()), (4, 0));
        assert_eq!(queue.trouble().as_deref(), Some("no"));
        assert!(runtime.block_on(queue.next()).is_none());
    }
}
