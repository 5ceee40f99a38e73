//! CPU time of the kernel programs. Measuring a run costs as much as the run itself, so the kernel
//! measures for one second in thirty, and the figure is extrapolated to the time between.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use aya::sys::{Stats, enable_stats};

/// Length of a measurement. The first starts when the programs are loaded.
const WINDOW: Duration = Duration::from_secs(1);
/// Time from the start of one measurement to the start of the next.
const EVERY: Duration = Duration::from_secs(30);

/// The cost of a program so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramCost {
    /// Name of the kernel program.
    pub name: String,
    /// Its runs while it was measured.
    pub runs: u64,
    /// Estimated CPU time of all its runs, on all CPUs; zero if the kernel does not measure.
    pub time: Duration,
}

/// Costs of the programs of an object.
pub(in crate::ingest) struct Costs {
    estimate: Estimate,
    loaded: Instant,
    /// The kernel measures while this is open.
    statistics: Option<OwnedFd>,
}

impl Costs {
    /// Starts to measure loaded programs.
    pub(in crate::ingest) fn begin(ebpf: &aya::Ebpf) -> Self {
        let statistics = enable_stats(Stats::RunTime).ok();
        Self { estimate: Estimate::begin(read(ebpf)), loaded: now(), statistics }
    }

    /// Starts or ends a measurement when it is due.
    pub(in crate::ingest) fn look(&mut self, ebpf: &aya::Ebpf) {
        let now = self.loaded.elapsed();
        if self.estimate.is_over(now) {
            self.estimate.end(now, &read(ebpf));
            self.statistics = None;
        } else if self.estimate.is_due(now) {
            self.statistics = enable_stats(Stats::RunTime).ok();
            self.estimate.measure(now, read(ebpf));
        }
    }

    /// Costs so far.
    pub(in crate::ingest) fn now(&self, ebpf: &aya::Ebpf) -> Vec<ProgramCost> {
        match self.estimate.is_first() {
            true => self.estimate.sum(self.loaded.elapsed(), &read(ebpf)),
            false => self.estimate.settled.clone(),
        }
    }
}

/// Costs extrapolated from measured windows. It never falls: a window counts once it is over, because its
/// first moments say little about the time before. Only the first counts while it is open.
struct Estimate {
    /// As of the last complete window.
    settled: Vec<ProgramCost>,
    /// The kernel's figures when the open window began.
    before: Option<Vec<ProgramCost>>,
    /// Start of the last window and end of the one before it, since the programs were loaded.
    begun: Duration,
    ended: Duration,
}

impl Estimate {
    fn begin(before: Vec<ProgramCost>) -> Self {
        let nothing = |cost| ProgramCost { runs: 0, time: Duration::ZERO, ..cost };
        let settled = before.iter().cloned().map(nothing).collect();
        let (begun, ended) = (Duration::ZERO, Duration::ZERO);
        Self { settled, before: Some(before), begun, ended }
    }

    /// The first window is still open.
    fn is_first(&self) -> bool {
        self.ended.is_zero()
    }

    fn is_over(&self, now: Duration) -> bool {
        self.before.is_some() && now.saturating_sub(self.begun) >= WINDOW
    }

    fn is_due(&self, now: Duration) -> bool {
        self.before.is_none() && now.saturating_sub(self.begun) >= EVERY
    }

    fn measure(&mut self, now: Duration, before: Vec<ProgramCost>) {
        self.before = Some(before);
        self.begun = now;
    }

    fn end(&mut self, now: Duration, after: &[ProgramCost]) {
        self.settled = self.sum(now, after);
        self.before = None;
        self.ended = now;
    }

    /// Adds the open window, extrapolated to the time since the last one.
    fn sum(&self, now: Duration, after: &[ProgramCost]) -> Vec<ProgramCost> {
        let mut costs = self.settled.clone();
        let Some(before) = &self.before else { return costs };
        let measured = now.saturating_sub(self.begun).as_secs_f64();
        let since = now.saturating_sub(self.ended).as_secs_f64();
        let scale = if measured > 0.0 { since / measured } else { 1.0 };
        for (cost, (before, after)) in costs.iter_mut().zip(before.iter().zip(after)) {
            cost.runs += after.runs.saturating_sub(before.runs);
            cost.time += after.time.saturating_sub(before.time).mul_f64(scale);
        }
        costs
    }
}

/// The kernel's figures of the loaded programs, by name.
fn read(ebpf: &aya::Ebpf) -> Vec<ProgramCost> {
    let cost = |(name, program): (&str, &aya::programs::Program)| {
        let info = program.info().ok()?;
        Some(ProgramCost { name: name.to_owned(), runs: info.run_count(), time: info.run_time() })
    };
    let mut costs: Vec<_> = ebpf.programs().filter_map(cost).collect();
    costs.sort_by(|one, other| one.name.cmp(&other.name));
    costs
}

#[expect(clippy::disallowed_methods, reason = "programs are measured at intervals")]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that uses a tenth of a CPU, in a thousand runs a second.
    #[test]
    fn costs_are_extrapolated_from_windows() {
        // The kernel's figures, which grow only while it measures.
        let mut measured = Duration::ZERO;
        let reading = |measured: Duration| {
            let (runs, time) = (measured.as_millis() as u64, measured / 10);
            vec![ProgramCost { name: "packets_in".to_owned(), runs, time }]
        };
        let mut estimate = Estimate::begin(reading(measured));
        let tick = Duration::from_millis(50);
        let (mut latest, mut windows) = (Duration::ZERO, 0);
        for round in 1..=2_000 {
            let now = tick * round;
            if estimate.before.is_some() {
                measured += tick;
            }
            if estimate.is_over(now) {
                estimate.end(now, &reading(measured));
                windows += 1;
                let error = estimate.settled[0].time.abs_diff(now / 10);
                assert!(error < Duration::from_micros(1), "{error:?} at {now:?}");
            } else if estimate.is_due(now) {
                estimate.measure(now, reading(measured));
            }
            assert!(estimate.settled[0].time >= latest, "it fell at {now:?}");
            latest = estimate.settled[0].time;
        }
        assert_eq!(windows, 4);
        assert_eq!(u128::from(estimate.settled[0].runs), (4 * WINDOW).as_millis());
    }
}
