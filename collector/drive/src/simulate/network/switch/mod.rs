//! A switch: packets are received, stored, and sent by priority.
//!
//! A packet's buffer is freed when its transmission starts.

pub(super) mod buffer;
mod forwarding;
mod marking;

use fastrand::Rng;

use super::id::PRIORITIES;
use super::plan::{DscpMap, EcnMarking, SwitchPlan};
use buffer::Buffer;

/// Buffer and marking of one switch.
#[derive(Debug)]
pub(super) struct Switch {
    pub(super) buffer: Buffer,
    priorities: DscpMap,
    marking: [Option<EcnMarking>; PRIORITIES],
    /// Randomness of marking.
    chance: Rng,
}

impl Switch {
    pub(super) fn new(plan: &SwitchPlan, ports: usize, seed: u64) -> Self {
        Self {
            buffer: Buffer::new(plan.buffer_bytes, ports, plan.queues.map(|queue| queue.pfc)),
            priorities: plan.priorities,
            marking: plan.queues.map(|queue| queue.marking),
            chance: Rng::with_seed(seed),
        }
    }
}
