//! One rank: a CPU that enqueues rounds, a GPU that computes and runs the kernels of collectives one
//! after the other, each on all channels.

use std::collections::{BTreeMap, VecDeque};

use super::schedule::Turn;
use crate::drive::simulate::time::VirtualTime;

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
    /// The messages of collectives that were enqueued and not begun, from `reduced` on.
    pub prepared: VecDeque<Vec<Vec<Turn>>>,
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
            prepared: VecDeque::new(),
            lanes: Vec::new(),
            calls: BTreeMap::new(),
            random: fastrand::Rng::with_seed(seed),
        }
    }

    /// Whether the kernel has done all its turns on all channels.
    pub(super) fn is_kernel_done(&self) -> bool {
        self.is_reducing && self.lanes.iter().all(|lane| lane.done == lane.turns.len())
    }
}
