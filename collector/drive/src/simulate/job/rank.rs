//! One rank: a CPU that enqueues rounds, a GPU that computes and runs the kernels of collectives
//! one after the other, each on all channels.

use std::collections::BTreeMap;

use super::schedule::{Schedule, Turn};
use crate::collective::Operation;
use crate::simulate::time::VirtualTime;

/// Progress of one rank.
#[derive(Debug)]
pub(super) struct Rank {
    /// Rounds that the CPU has enqueued.
    pub enqueued: usize,
    /// The CPU is enqueuing the next one.
    pub is_enqueuing: bool,
    /// Rounds that the GPU has started.
    pub begun: usize,
    /// Rounds that the GPU has finished.
    pub ended: usize,
    /// When it started computing, while it computes.
    pub computing_since: Option<VirtualTime>,
    /// Collectives whose input is ready.
    pub ready: usize,
    /// Collectives whose kernels have finished.
    pub reduced: usize,
    /// Whether the kernel of collective `reduced` is running.
    pub is_reducing: bool,
    /// State of the running kernel.
    pub lanes: Vec<Lane>,
    /// Incomplete collectives: the kernel is running, or messages are in flight.
    pub calls: BTreeMap<usize, Call>,
    /// All collectives that it called, and when.
    pub called: Vec<(usize, VirtualTime)>,
    /// What it called instead of what all others do, by collective.
    pub odd: BTreeMap<usize, Operation>,
    pub random: fastrand::Rng,
}

/// A channel's part of a kernel.
#[derive(Debug, Default)]
pub(super) struct Lane {
    pub turns: Vec<Turn>,
    /// Messages done.
    pub done: usize,
    /// Whether the next one is being processed.
    pub is_busy: bool,
    /// Chunks received and sent.
    pub received: u32,
    pub sent: u32,
}

/// A collective at a rank.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub enqueued: VirtualTime,
    pub kernel_began: Option<VirtualTime>,
    pub kernel_ended: Option<VirtualTime>,
    /// Messages sent over the network and not acknowledged.
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
            called: Vec::new(),
            odd: BTreeMap::new(),
            random: fastrand::Rng::with_seed(seed),
        }
    }

    /// Collectives whose kernels have finished, plus the share of the running one.
    pub(super) fn reduced_so_far(&self) -> f64 {
        let done: usize = self.lanes.iter().map(|lane| lane.done).sum();
        let turns: usize = self.lanes.iter().map(|lane| lane.turns.len()).sum();
        let part = if self.is_reducing { done as f64 / turns.max(1) as f64 } else { 0.0 };
        self.reduced as f64 + part
    }

    /// Whether it is done; true from the last round or the last acknowledgement on.
    pub(super) fn is_over(&self, schedule: &Schedule) -> bool {
        self.ended == schedule.rounds.len() && self.calls.is_empty()
    }

    /// Whether the kernel has processed all messages on all channels.
    pub(super) fn is_kernel_done(&self) -> bool {
        self.is_reducing && self.lanes.iter().all(|lane| lane.done == lane.turns.len())
    }
}
