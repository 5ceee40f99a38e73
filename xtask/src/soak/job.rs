//! The jobs of a soak: the same twenty again and again, so that any two windows hold alike ones. A window of
//! five minutes holds about a thousand queue pairs.

use std::process::Child;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use railscope_testbed::fabric::Fabric;
use serde_json::Value;

use crate::clock::Stopwatch;

/// Ranks of each job.
pub(super) const RANKS: usize = 4;

/// The rank that faults happen to.
const SICK: usize = 2;

/// Its address.
const SICK_PORT: &str = "10.0.0.3";

/// Jobs after which the same ones come again.
const CYCLE: u64 = 20;

/// About how long they take.
pub(super) const CYCLE_SECONDS: f64 = 310.0;

/// That of a cycle which goes over TCP.
const OVER_TCP: u64 = 14;

/// Rings of each job: two queue pairs for each rank and ring.
const CHANNELS: u32 = 5;

/// What a rank waits for others before it gives up: longer than a hang takes to be reported.
const PATIENCE: Duration = Duration::from_secs(12);

/// A training step of a job, computation and reduction.
const ITERATION: Duration = Duration::from_millis(60);

/// What goes wrong in a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fault {
    Killed,
    Frozen,
    Loss,
    Straggler,
}

impl Fault {
    pub(super) const ALL: [Self; 4] = [Self::Killed, Self::Frozen, Self::Loss, Self::Straggler];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Killed => "killed rank",
            Self::Frozen => "stopped rank",
            Self::Loss => "loss",
            Self::Straggler => "late rank",
        }
    }

    /// Classes of verdicts that are right.
    pub(super) const fn classes(self) -> &'static [&'static str] {
        match self {
            Self::Killed => &["process_gone", "host_dead"],
            // The driver's RoCE is in the process: one that is stopped acknowledges nothing, as if gone.
            Self::Frozen => &["process_stopped", "process_gone"],
            Self::Loss => &["loss"],
            Self::Straggler => &["late_rank"],
        }
    }
}

/// Whether a verdict about `subject` blames the rank that faults happen to, or none.
pub(super) fn is_sick(subject: &Value) -> bool {
    let [rank, port] = [&subject["rank"], &subject["port"]];
    *rank == SICK || *port == SICK_PORT || rank.is_null() && port.is_null()
}

/// How job `number` of a soak is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) length: Duration,
    pub(super) fault: Option<Fault>,
    pub(super) is_over_tcp: bool,
}

impl Plan {
    /// Sixteen of five seconds, three of thirty, one of ninety; every fifth has a fault.
    pub(super) fn of(number: u64) -> Self {
        let length = match number % CYCLE {
            4 | 9 | 16 => 30,
            19 => 90,
            _ => 5,
        };
        let fault = match number % CYCLE {
            2 => Some(Fault::Killed),
            7 => Some(Fault::Loss),
            12 => Some(Fault::Frozen),
            17 => Some(Fault::Straggler),
            _ => None,
        };
        let is_over_tcp = number % CYCLE == OVER_TCP;
        Self { length: Duration::from_secs(length), fault, is_over_tcp }
    }

    fn options(self, number: u64) -> String {
        let iterations = self.length.as_millis() / ITERATION.as_millis();
        let fault = match self.fault {
            Some(Fault::Loss) => "--loss edge=1-2,share=3%".to_owned(),
            Some(Fault::Straggler) => {
                format!("--straggler rank={SICK},delay=60ms,iterations=20..{}", iterations - 1)
            }
            // The others wait for it, as NCCL's ranks do.
            Some(Fault::Killed) => "--keep-waiting".to_owned(),
            Some(Fault::Frozen) | None => String::new(),
        };
        let transport = if self.is_over_tcp { "socket" } else { "soft" };
        format!(
            "--iterations {iterations} --buckets 160KiB,32KiB --compute 50ms --check 0 --channels {CHANNELS} \
             --transport {transport} --seed {number} -T {}s {fault}",
            PATIENCE.as_secs()
        )
    }
}

/// A job that runs.
pub(super) struct Job {
    ranks: Vec<Child>,
    plan: Plan,
    age: Stopwatch,
    is_broken: bool,
}

impl Job {
    pub(super) fn start(fabric: &Fabric, number: u64) -> Self {
        let plan = Plan::of(number);
        let ranks = fabric.drive(&plan.options(number));
        Self { ranks, plan, age: Stopwatch::start(), is_broken: false }
    }

    /// Breaks it when its time has come; whether it is over.
    pub(super) fn attend(&mut self) -> bool {
        let signal = match self.plan.fault {
            Some(Fault::Killed) => Some(Signal::SIGKILL),
            Some(Fault::Frozen) => Some(Signal::SIGSTOP),
            Some(Fault::Loss | Fault::Straggler) | None => None,
        };
        if let Some(signal) = signal.filter(|_| !self.is_broken)
            && self.age.elapsed() >= self.plan.length / 2
        {
            self.is_broken = true;
            self.signal(SICK, signal);
        }
        let has_ended = |rank: &mut Child| rank.try_wait().is_ok_and(|status| status.is_some());
        let mut others = (0..self.ranks.len()).filter(|rank| !self.is_broken || *rank != SICK);
        let ranks = &mut self.ranks;
        others.all(|rank| ranks.get_mut(rank).is_some_and(has_ended))
    }

    fn signal(&self, rank: usize, signal: Signal) {
        let pid = self.ranks.get(rank).and_then(|rank| i32::try_from(rank.id()).ok());
        if let Some(pid) = pid {
            // It may have ended.
            _ = kill(Pid::from_raw(pid), signal);
        }
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        for rank in &mut self.ranks {
            _ = rank.kill();
            _ = rank.wait();
        }
    }
}
