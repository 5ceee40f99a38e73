//! What the kernel programs cost. To measure a program takes the kernel as long as the program takes
//! with a packet, so it is done for the first ten seconds and then one second in thirty, and the times
//! between are taken to be alike.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use aya::sys::{Stats, enable_stats};

/// How long they are measured from when they are loaded.
const FIRST: Duration = Duration::from_secs(10);
/// How long later.
const LATER: Duration = Duration::from_secs(1);
/// From one beginning to the next.
const EVERY: Duration = Duration::from_secs(30);

/// What a program cost so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramCost {
    /// Its name.
    pub name: String,
    /// How often it ran while it was measured.
    pub runs: u64,
    /// How long all its runs took, all CPUs together, as far as can be said; zero where the kernel
    /// does not measure.
    pub time: Duration,
}

/// Costs of the programs of an object.
pub(in crate::ingest) struct Costs {
    /// As of the last window.
    settled: Vec<ProgramCost>,
    window: Option<Window>,
    /// When the last window began, and when it ended.
    begun: Instant,
    ended: Option<Instant>,
}

/// The kernel measures as long as this is there.
struct Window {
    before: Vec<ProgramCost>,
    _statistics: Option<OwnedFd>,
}

impl Window {
    fn open(ebpf: &aya::Ebpf) -> Self {
        let statistics = enable_stats(Stats::RunTime).ok();
        Self { before: read(ebpf), _statistics: statistics }
    }
}

impl Costs {
    /// Of programs that are loaded; measures from now on.
    pub(in crate::ingest) fn of(ebpf: &aya::Ebpf) -> Self {
        let nothing = |cost| ProgramCost { runs: 0, time: Duration::ZERO, ..cost };
        Self {
            settled: read(ebpf).into_iter().map(nothing).collect(),
            window: Some(Window::open(ebpf)),
            begun: now(),
            ended: None,
        }
    }

    /// Begins or ends to measure, if it is time to.
    pub(in crate::ingest) fn look(&mut self, ebpf: &aya::Ebpf) {
        let elapsed = self.begun.elapsed();
        let long_enough = if self.ended.is_none() { FIRST } else { LATER };
        if self.window.is_some() && elapsed >= long_enough {
            self.settled = self.sum(ebpf);
            self.window = None;
            self.ended = Some(now());
        } else if elapsed >= EVERY {
            self.begun = now();
            self.window = Some(Window::open(ebpf));
        }
    }

    /// What they cost so far; it never falls. A later window counts when it is over: the first moments
    /// of it say little about the time before.
    pub(in crate::ingest) fn now(&self, ebpf: &aya::Ebpf) -> Vec<ProgramCost> {
        if self.ended.is_none() { self.sum(ebpf) } else { self.settled.clone() }
    }

    /// With what is measured now, which stands for the time since the last window too.
    fn sum(&self, ebpf: &aya::Ebpf) -> Vec<ProgramCost> {
        let Some(window) = &self.window else { return self.settled.clone() };
        let measured = self.begun.elapsed().as_secs_f64();
        let since = self.ended.map_or(measured, |ended| ended.elapsed().as_secs_f64());
        let scale = if measured > 0.0 { since / measured } else { 1.0 };
        let mut costs = self.settled.clone();
        let changes = window.before.iter().zip(read(ebpf));
        for (cost, (before, after)) in costs.iter_mut().zip(changes) {
            cost.runs += after.runs.saturating_sub(before.runs);
            cost.time += after.time.saturating_sub(before.time).mul_f64(scale);
        }
        costs
    }
}

/// What the kernel has measured of the programs that are loaded, by name.
fn read(ebpf: &aya::Ebpf) -> Vec<ProgramCost> {
    let cost = |(name, program): (&str, &aya::programs::Program)| {
        let info = program.info().ok()?;
        Some(ProgramCost { name: name.to_owned(), runs: info.run_count(), time: info.run_time() })
    };
    let mut costs: Vec<_> = ebpf.programs().filter_map(cost).collect();
    costs.sort_by(|one, other| one.name.cmp(&other.name));
    costs
}

#[expect(clippy::disallowed_methods, reason = "programs are measured now and then")]
fn now() -> Instant {
    Instant::now()
}
