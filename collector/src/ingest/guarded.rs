//! Work that may hang: reading what another process controls.
//!
//! A file may be on a FUSE mount whose server does not answer, and so may the memory that
//! `/proc/PID/environ` shows. A thread that waits for it cannot be interrupted, only abandoned: it ends
//! when the answer comes, or with this process.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

/// Most threads that wait for an answer which does not come. Then no more work is done until one has.
const MOST_STUCK: usize = 8;

const RUNNING: u8 = 0;
const ABANDONED: u8 = 1;
const DONE: u8 = 2;

/// Why there is no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Abandoned {
    /// It took too long.
    #[error("it did not answer in time")]
    Late,
    /// Too much other work hangs, or there is no thread.
    #[error("too many files do not answer")]
    Refused,
}

/// Does work on a thread of its own, one after the other.
#[derive(Clone, Debug)]
pub(super) struct Guarded {
    limit: Duration,
    most_stuck: usize,
    worker: Option<Sender<Job>>,
    stuck: Arc<AtomicUsize>,
}

type Job = Box<dyn FnOnce() + Send>;

/// What hangs may be somebody's own: the rings of one user.
#[cfg(feature = "agent")]
impl Guarded {
    /// Waits at most `limit` for each work, with another bound for threads that wait.
    pub(super) fn bounded(limit: Duration, most_stuck: usize) -> Self {
        Self { most_stuck, ..Self::new(limit) }
    }

    /// Whether a thread waits for an answer.
    pub(super) fn is_stuck(&self) -> bool {
        self.stuck.load(Ordering::Acquire) > 0
    }
}

impl Guarded {
    /// Waits at most `limit` for each work.
    pub(super) fn new(limit: Duration) -> Self {
        Self { limit, most_stuck: MOST_STUCK, worker: None, stuck: Arc::default() }
    }

    /// The result of `work`, if it comes in time.
    ///
    /// # Errors
    ///
    /// It does not.
    pub(super) fn run<T: Send + 'static>(
        &mut self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Abandoned> {
        if self.stuck.load(Ordering::Acquire) >= self.most_stuck {
            return Err(Abandoned::Refused);
        }
        let (give, result) = channel();
        let state = Arc::new(AtomicU8::new(RUNNING));
        let (its_state, stuck) = (Arc::clone(&state), Arc::clone(&self.stuck));
        let job = Box::new(move || {
            // Nobody may wait for it any more.
            _ = give.send(work());
            if its_state.swap(DONE, Ordering::AcqRel) == ABANDONED {
                stuck.fetch_sub(1, Ordering::AcqRel);
            }
        });
        self.hand_over(job)?;
        if let Ok(result) = result.recv_timeout(self.limit) {
            return Ok(result);
        }
        if state.swap(ABANDONED, Ordering::AcqRel) == DONE {
            return result.try_recv().map_err(|_| Abandoned::Late);
        }
        self.stuck.fetch_add(1, Ordering::AcqRel);
        self.worker = None;
        Err(Abandoned::Late)
    }

    fn hand_over(&mut self, job: Job) -> Result<(), Abandoned> {
        let job = match &self.worker {
            None => job,
            Some(worker) => match worker.send(job) {
                Ok(()) => return Ok(()),
                // The thread has panicked.
                Err(unsent) => unsent.0,
            },
        };
        let (worker, jobs) = channel::<Job>();
        let work = move || jobs.into_iter().for_each(|job| job());
        let thread = thread::Builder::new().name("guarded".to_owned()).spawn(work);
        thread.map_err(|_| Abandoned::Refused)?;
        let sent = worker.send(job).map_err(|_| Abandoned::Refused);
        self.worker = Some(worker);
        sent
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::Receiver;

    use super::*;

    #[test]
    fn what_hangs_is_abandoned_and_bounded() {
        let mut guarded = Guarded::new(Duration::from_millis(20));
        assert_eq!(guarded.run(|| 1), Ok(1));
        let hang = |guarded: &mut Guarded, until: Receiver<()>| guarded.run(move || until.recv());
        let mut waits = Vec::new();
        for _ in 0..MOST_STUCK {
            let (go_on, until) = channel();
            assert_eq!(hang(&mut guarded, until).err(), Some(Abandoned::Late));
            waits.push(go_on);
        }
        assert_eq!(guarded.run(|| 2), Err(Abandoned::Refused));
        waits.pop().unwrap().send(()).unwrap();
        let mut goes_on = (0..500).map(|_| {
            thread::sleep(Duration::from_millis(10));
            guarded.run(|| 3)
        });
        assert!(goes_on.any(|result| result == Ok(3)));
    }
}
