//! Reports made beside the traffic: the analysis of what was seen so far may take longer than the
//! room for new frames lasts, so a thread of its own does it on a copy of the state.

use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use railscope_core::analysis::understanding::Understanding;
use railscope_core::pipeline::Pipeline;
use railscope_core::report::{Report, ReportContext};

/// Of one CPU, reports take at most one part in so many where somebody looks at a screen ...
pub const SHARE_FOR_SCREEN: u32 = 4;
/// ... and where a training runs that must not notice. What is longer than the pauses allow, or urgent,
/// takes more.
pub const SHARE_BESIDE_TRAINING: u32 = 500;

/// The longest pause, for instance between two reports, whatever they cost: figures that are older mislead.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// What was made of a copy of the state.
pub struct Analysed {
    /// Everything that was judged.
    pub understanding: Understanding,
    /// The same as people and programs read it.
    pub report: Report,
}

/// A thread that makes reports, one at a time.
pub struct Analyst {
    orders: Sender<(Pipeline, ReportContext)>,
    /// With the CPU time that each took.
    reports: Receiver<(Box<Analysed>, Duration)>,
    /// Whether a report is being made.
    is_ordered: bool,
    /// When the latest report came.
    latest: Option<Instant>,
    /// CPU time that went into it.
    cost: Duration,
    every: Duration,
    share: u32,
}

impl Analyst {
    /// Begins to wait for orders; makes a report at most once in `every`, and takes at most one part in
    /// `share` of a CPU for it.
    pub fn start(every: Duration, share: u32) -> anyhow::Result<Self> {
        let (orders, ordered) = channel::<(Pipeline, ReportContext)>();
        let (made, reports) = channel();
        let work = move || {
            // Ends with whoever orders.
            for (pipeline, context) in ordered {
                if made.send(timed(|| analyse(pipeline, &context))).is_err() {
                    return;
                }
            }
        };
        thread::Builder::new().name("analysis".to_owned()).spawn(work).context("start a thread")?;
        let cost = Duration::ZERO;
        Ok(Self { orders, reports, is_ordered: false, latest: None, cost, every, share })
    }

    /// Orders a report of `pipeline`, if it is time for one, or where its window is full: messages that
    /// find no room would be in none; whether it was.
    pub fn offer(&mut self, pipeline: &Pipeline, context: impl FnOnce() -> ReportContext) -> bool {
        let pause = self.every.max(pause(self.cost, self.share));
        let is_early = self.latest.is_some_and(|latest| latest.elapsed() < pause);
        if self.is_ordered || is_early && !pipeline.is_crowded() {
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
                Ok(Some(report))
            }
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => bail!("the analysis ended unexpectedly"),
        }
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

fn analyse(pipeline: Pipeline, context: &ReportContext) -> Box<Analysed> {
    let understanding = pipeline.understand();
    let report = Report::new(&understanding, context);
    Box::new(Analysed { understanding, report })
}

/// How long what took so much CPU time waits for the next time, to take one part in `share` of a CPU.
pub fn pause(took: Duration, share: u32) -> Duration {
    took.saturating_mul(share).min(LONGEST_PAUSE)
}

/// What work makes, and the CPU time that it took.
pub fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let before = used();
    let done = work();
    (done, used().saturating_sub(before))
}

/// CPU time of this thread: on a busy machine, less than what passes.
#[cfg(target_os = "linux")]
fn used() -> Duration {
    use nix::time::{ClockId, clock_gettime};

    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}

/// What passes, where CPU time is not known.
#[cfg(not(target_os = "linux"))]
fn used() -> Duration {
    static BEGUN: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    BEGUN.get_or_init(now).elapsed()
}

#[expect(clippy::disallowed_methods, reason = "reports are made now and then")]
fn now() -> Instant {
    Instant::now()
}
