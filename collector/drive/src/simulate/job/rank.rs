//! One rank: a CPU that enqueues rounds, a GPU that computes and runs the kernels of collectives one
//! after the other, each on all channels.

use std::collections::BTreeMap;

use super::schedule::{Schedule, Turn};
use crate::simulate::time::VirtualTime;

/// A rank.
#[derive(Debug)]
pub(super) struct Rank {
    /// Rounds that the CPU has enqueued.
    pub enqueued: usize,
    /// The CPU is at the next.
    pub is_enqueuing: bool,
    /// Rounds that the GPU has begun.
    pub begun: usize,
    /// Rounds that the GPU has ended.
    pub ended: usize,
    /// When it began to compute, while it does.
    pub computing_since: Option<VirtualTime>,
    /// Collectives whose input is computed.
    pub ready: usize,
    /// Collectives whose kernels have ended.
    pub reduced: usize,
    /// The kernel of collective `reduced` runs.
    pub is_reducing: bool,
    /// Of the kernel that runs.
    pub lanes: Vec<Lane>,
    /// Collectives that are not at their end: the kernel runs, or messages fly.
    pub calls: BTreeMap<usize, Call>,
    pub random: fastrand::Rng,
}

/// A channel's part of a kernel.
#[derive(Debug, Default)]
pub(super) struct Lane {
    pub turns: Vec<Turn>,
    /// Of them, done.
    pub done: usize,
    /// The next is being worked on.
    pub is_busy: bool,
    /// Chunks that have been received and sent.
    pub received: u32,
    pub sent: u32,
}

/// A collective at a rank.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub enqueued: VirtualTime,
    pub kernel_began: Option<VirtualTime>,
    pub kernel_ended: Option<VirtualTime>,
    /// Messages that were sent over the network and not acknowledged.
    pub flying: u32,
}

impl Rank {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            enqueued: 0,
            is_enqueuing: false,
            begun: 0,
            ended: 0,
            computing_since: None,
            ready: 0,
            reduced: 0,
            is_reducing: false,
            lanes: Vec::new(),
            calls: BTreeMap::new(),
            random: fastrand::Rng::with_seed(seed),
        }
    }

    /// Collectives whose kernels have ended, and the part of the one that runs.
    pub(super) fn reduced_so_far(&self) -> f64 {
        let done: usize = self.lanes.iter().map(|lane| lane.done).sum();
        let turns: usize = self.lanes.iter().map(|lane| lane.turns.len()).sum();
        let part = if self.is_reducing { done as f64 / turns.max(1) as f64 } else { 0.0 };
        self.reduced as f64 + part
    }

    /// Whether it has nothing left to do: becomes true once, with the last round or the last answer.
    pub(super) fn is_over(&self, schedule: &Schedule) -> bool {
        self.ended == schedule.rounds.len() && self.calls.is_empty()
    }

    /// Whether the kernel has done all its turns on all channels.
    pub(super) fn is_kernel_done(&self) -> bool {
        self.is_reducing && self.lanes.iter().all(|lane| lane.done == lane.turns.len())
    }
}
