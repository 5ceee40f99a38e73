//! Makes reports in a separate thread, from a copy of the state: an analysis may take longer than the
//! buffers for new frames last.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use railscope_core::pipeline::{Analysed, Pipeline};
use railscope_core::report::ReportContext;

/// Reports for a screen use at most 1/`SHARE_FOR_SCREEN` of a CPU ...
pub const SHARE_FOR_SCREEN: u32 = 4;
/// ... and beside a training job, which must not notice, 1/`SHARE_BESIDE_TRAINING`. Long or urgent reports
/// use more.
pub const SHARE_BESIDE_TRAINING: u32 = 500;

/// The longest pause between two reports, whatever they cost: older figures would mislead.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// A thread that makes reports, one at a time.
pub struct Analyst {
    orders: Sender<(Pipeline, ReportContext)>,
    /// Each with the CPU time that it took; `None` if the analysis failed.
    reports: Receiver<(Option<Box<Analysed>>, Duration)>,
    /// Analyses that failed.
    failed: u64,
    /// Whether a report is being made.
    is_ordered: bool,
    /// When the latest report came.
    latest: Option<Instant>,
    /// Its CPU time.
    cost: Duration,
    every: Duration,
    share: u32,
}

impl Analyst {
    /// Starts the thread. It makes a report at most once in `every`, and uses at most one part in `share` of
    /// a CPU.
    pub fn start(every: Duration, share: u32) -> anyhow::Result<Self> {
        let (orders, ordered) = channel::<(Pipeline, ReportContext)>();
        let (made, reports) = channel();
        let work = move || {
            // Ends when the sender is dropped.
            for (pipeline, context) in ordered {
                // A bug that one job brings to light costs that report, and no other job its own. The state
                // was a copy.
                let analyse = || {
                    let analyse = AssertUnwindSafe(|| Box::new(pipeline.analyse(&context)));
                    catch_unwind(analyse).ok()
                };
                if made.send(timed(analyse)).is_err() {
                    return;
                }
            }
        };
        thread::Builder::new().name("analysis".to_owned()).spawn(work).context("start a thread")?;
        let cost = Duration::ZERO;
        let (is_ordered, failed) = (false, 0);
        Ok(Self { orders, reports, failed, is_ordered, latest: None, cost, every, share })
    }

    /// Orders a report of `pipeline` if it is time for one, if it is urgent, or if its window is full and
    /// messages would be lost. Returns whether it did.
    pub fn offer(
        &mut self,
        pipeline: &Pipeline,
        is_urgent: bool,
        context: impl FnOnce() -> ReportContext,
    ) -> bool {
        let pause = self.every.max(pause(self.cost, self.share));
        let is_early = self.latest.is_some_and(|latest| latest.elapsed() < pause);
        if self.is_ordered || is_early && !is_urgent && !pipeline.is_crowded() {
            return false;
        }
        let (copy, took) = timed(|| pipeline.clone());
        self.cost = took;
        self.is_ordered = self.orders.send((copy, context())).is_ok();
        self.is_ordered
    }

    /// The report that was ordered, if it is made.
    ///
    /// # Errors
    ///
    /// The analysis failed.
    pub fn take(&mut self) -> anyhow::Result<Option<Box<Analysed>>> {
        match self.reports.try_recv() {
            Ok((report, took)) => {
                self.is_ordered = false;
                self.cost += took;
                self.latest = Some(now());
                self.failed += u64::from(report.is_none());
                Ok(report)
            }
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => bail!("the analysis ended unexpectedly"),
        }
    }

    /// Analyses that failed so far: the panic was printed.
    #[must_use]
    pub const fn failed(&self) -> u64 {
        self.failed
    }

    /// Whether there is a latest report, and none is being made: it would be of an earlier state than now.
    #[must_use]
    pub fn is_resting(&self) -> bool {
        self.latest.is_some() && !self.is_ordered
    }

    /// Adds CPU time that was spent on the latest report.
    pub fn charge(&mut self, took: Duration) {
        self.cost += took;
    }
}

/// The pause after work that took so much CPU time, to use one part in `share` of a CPU.
pub fn pause(took: Duration, share: u32) -> Duration {
    took.saturating_mul(share).min(LONGEST_PAUSE)
}

/// The result of work, and its CPU time.
pub fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let before = used();
    let done = work();
    (done, used().saturating_sub(before))
}

/// CPU time of this thread, which on a busy machine is less than elapsed time.
#[cfg(target_os = "linux")]
fn used() -> Duration {
    use nix::time::{ClockId, clock_gettime};

    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}

/// Elapsed time, where CPU time is not known.
#[cfg(not(target_os = "linux"))]
fn used() -> Duration {
    static BEGUN: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    BEGUN.get_or_init(now).elapsed()
}

#[expect(clippy::disallowed_methods, reason = "reports are made at intervals")]
fn now() -> Instant {
    Instant::now()
}
