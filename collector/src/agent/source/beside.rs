//! The thread for sources that cannot be read between packets: attaching to a library, or asking a
//! device for its queue pairs, takes longer than packets can wait.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::processes::ended::Ended;
use railscope_core::model::health::event::HealthEvent;
use railscope_core::pipeline::Pipeline;

/// Time between two rounds of the thread. Records in a kernel ring wake no thread, and each
/// check costs CPU.
const NAP: Duration = Duration::from_millis(250);

/// Deliveries that wait for the pipeline.
const WAITING: usize = 1 << 14;

/// What a source may need: half of it, so that others do not keep it waiting for ever.
pub(super) const MOST_NEEDED: usize = WAITING / 2;

/// How long the thread may take to deliver what is left at the end.
const PATIENCE: Duration = Duration::from_secs(1);

/// Passes what a source read to the pipeline, or a message to the user.
pub(super) type Delivery = Box<dyn FnOnce(&mut Pipeline, &mut dyn FnMut(String)) + Send>;

/// Boxes a delivery.
pub(super) fn delivery(
    act: impl FnOnce(&mut Pipeline, &mut dyn FnMut(String)) + Send + 'static,
) -> Delivery {
    Box::new(act)
}

/// A source that is read on the thread.
pub(super) trait Beside: Send {
    /// Its name in error messages.
    fn name(&self) -> &'static str;

    /// Rounds of the thread, 250 ms apart, from one reading to the next.
    fn every(&self) -> u32 {
        1
    }

    /// Deliveries that it may need at a time, at most `MOST_NEEDED`. A source that can wait is not read while
    /// there is less room, so none of its deliveries is dropped.
    fn needs(&self) -> usize {
        0
    }

    /// Delivers new data. The last call delivers all losses and reads nothing new.
    ///
    /// # Errors
    ///
    /// When it cannot be read. It is tried again; the same error is reported once.
    fn read(&mut self, is_last: bool, deliver: &mut dyn FnMut(Delivery)) -> anyhow::Result<()>;

    /// CPU time of its kernel programs, by name.
    fn kernel_times(&self) -> Vec<(String, Duration)> {
        Vec::new()
    }
}

/// The agent's end of the thread.
pub(super) struct Reading {
    shared: Arc<Shared>,
    /// `None` when the thread has delivered everything.
    deliveries: Receiver<Option<Delivery>>,
    thread: Option<JoinHandle<()>>,
    ended: Ended,
}

#[derive(Default)]
struct Shared {
    is_over: AtomicBool,
    /// Deliveries that wait.
    waiting: AtomicUsize,
    dropped: AtomicU64,
    kernel_times: Mutex<Vec<(String, Duration)>>,
}

impl Reading {
    /// Starts the thread; `None` if there is nothing to read or the thread cannot start.
    pub(super) fn start(
        sources: Vec<Box<dyn Beside>>,
        proc: &Path,
        say: &mut dyn FnMut(String),
    ) -> Option<Self> {
        if sources.is_empty() {
            return None;
        }
        let shared = Arc::new(Shared::default());
        let (sender, deliveries) = sync_channel(WAITING);
        let sources = sources.into_iter().map(|source| (source, None)).collect();
        let mut work = Work { sources, sender, room: WAITING, shared: Arc::clone(&shared) };
        let thread = thread::Builder::new().name("processes".to_owned()).spawn(move || work.run());
        let thread = thread.map_err(|error| say(format!("calls: start a thread: {error}"))).ok()?;
        Some(Self { shared, deliveries, thread: Some(thread), ended: Ended::new(proc) })
    }

    /// Passes deliveries to the pipeline.
    pub(super) fn read(&mut self, pipeline: &mut Pipeline, say: &mut dyn FnMut(String)) {
        for delivery in self.deliveries.try_iter().take(WAITING).flatten() {
            self.shared.waiting.fetch_sub(1, Ordering::Relaxed);
            delivery(pipeline, say);
        }
        let dropped = self.shared.dropped.swap(0, Ordering::Relaxed);
        if dropped > 0 {
            pipeline.add_health(HealthEvent::ProcessesEventsDropped, dropped);
        }
        self.ended.forget(pipeline);
    }

    /// Passes the last deliveries to the pipeline, and ends the thread.
    pub(super) fn finish(&mut self, pipeline: &mut Pipeline, say: &mut dyn FnMut(String)) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        // The thread may be waiting for a device that does not answer.
        while let Ok(Some(delivery)) = self.deliveries.recv_timeout(PATIENCE) {
            self.shared.waiting.fetch_sub(1, Ordering::Relaxed);
            delivery(pipeline, say);
        }
        self.read(pipeline, say);
    }

    /// CPU time of kernel programs, by name.
    pub(super) fn kernel_times(&self) -> Vec<(String, Duration)> {
        self.shared.kernel_times.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        // One that waits for a device or a file that does not answer ends with the process. A thread that
        // panicked has reported it.
        let _ = self.thread.take().filter(JoinHandle::is_finished).map(JoinHandle::join);
    }
}

/// The thread's end.
struct Work {
    /// Each with its last error, which is reported once.
    sources: Vec<(Box<dyn Beside>, Option<String>)>,
    sender: SyncSender<Option<Delivery>>,
    /// Deliveries that may wait.
    room: usize,
    shared: Arc<Shared>,
}

impl Work {
    fn run(&mut self) {
        for round in (0..u32::MAX).cycle() {
            let is_last = self.shared.is_over.load(Ordering::Relaxed);
            self.round(round, is_last);
            if is_last {
                // Nobody may wait for it any more.
                _ = self.sender.send(None);
                return;
            }
            thread::sleep(NAP);
        }
    }

    fn round(&mut self, round: u32, is_last: bool) {
        let Self { sources, sender, room, shared } = self;
        let mut deliver = |delivery| send(sender, shared, delivery, is_last);
        for (source, trouble) in &mut *sources {
            if !is_last && !round.is_multiple_of(source.every()) {
                continue;
            }
            let left = room.saturating_sub(shared.waiting.load(Ordering::Relaxed));
            if !is_last && left < source.needs() {
                continue;
            }
            let done = source.read(is_last, &mut deliver);
            let failed = done.err().map(|error| format!("{}: {error:#}", source.name()));
            if failed != *trouble {
                if let Some(words) = failed.clone() {
                    deliver(Box::new(move |_, say| say(words)));
                }
                *trouble = failed;
            }
        }
        let times = sources.iter().flat_map(|(source, _)| source.kernel_times()).collect();
        *shared.kernel_times.lock().unwrap_or_else(PoisonError::into_inner) = times;
    }
}

/// Hands a delivery over. The last ones wait for room: the pipeline takes them all.
fn send(sender: &SyncSender<Option<Delivery>>, shared: &Shared, delivery: Delivery, is_last: bool) {
    shared.waiting.fetch_add(1, Ordering::Relaxed);
    let is_sent = if is_last {
        sender.send(Some(delivery)).is_ok()
    } else {
        match sender.try_send(Some(delivery)) {
            Ok(()) => true,
            Err(TrySendError::Full(_)) => {
                shared.dropped.fetch_add(1, Ordering::Relaxed);
                false
            }
            Err(TrySendError::Disconnected(_)) => false,
        }
    };
    if !is_sent {
        shared.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes so many deliveries at each reading.
    struct Chatty {
        makes: usize,
        needs: usize,
    }

    impl Beside for Chatty {
        fn name(&self) -> &'static str {
            "chatty"
        }

        fn needs(&self) -> usize {
            self.needs
        }

        fn read(&mut self, _: bool, deliver: &mut dyn FnMut(Delivery)) -> anyhow::Result<()> {
            (0..self.makes).for_each(|_| deliver(delivery(|_, _| {})));
            Ok(())
        }
    }

    #[test]
    fn who_can_wait_for_room_loses_nothing() {
        let shared = Arc::new(Shared::default());
        let (sender, deliveries) = sync_channel(4);
        let chatty = |needs| -> (Box<dyn Beside>, Option<String>) {
            (Box::new(Chatty { makes: 3, needs }), None)
        };
        let sources = vec![chatty(3)];
        let mut work = Work { sources, sender, room: 4, shared: Arc::clone(&shared) };
        let taken = || {
            let taken = deliveries.try_iter().count();
            shared.waiting.fetch_sub(taken, Ordering::Relaxed);
            taken
        };
        (0..3).for_each(|round| work.round(round, false));
        assert_eq!((taken(), shared.dropped.load(Ordering::Relaxed)), (3, 0), "read once");
        work.round(3, false);
        assert_eq!((taken(), shared.dropped.load(Ordering::Relaxed)), (3, 0), "and again");
        // What happens when it happens cannot wait.
        work.sources = vec![chatty(0)];
        (0..2).for_each(|round| work.round(round, false));
        assert_eq!((taken(), shared.dropped.load(Ordering::Relaxed)), (4, 2));
        assert_eq!(shared.waiting.load(Ordering::Relaxed), 0);
    }
}
