//! Whether CPU or GPU was late, from the first CTS.
//!
//! NCCL posts the first clear-to-send of a collective as soon as the CPU has enqueued it, whatever
//! the GPU is doing (`proxy.cc`). So if the CTS is as late as the data, the call was late; if the CTS
//! was on time, the GPU was late.

use super::sign::{Sign, SignKind};
use super::{Case, Cause};
use crate::model::spread::lower_median;

/// Time from the end of the previous collective to a rank's first clear-to-send.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    rank: u32,
    own_ns: u64,
    middle_ns: u64,
    is_late: bool,
}

impl Timing {
    /// Timing of `rank`, which was late by `lag_ns`; `None` if it or all other ranks were not captured.
    #[must_use]
    pub fn new(case: &Case<'_>, rank: u32, lag_ns: u64) -> Option<Self> {
        let ranks = &case.waits.ranks;
        let own_ns = ranks.iter().find(|one| one.rank == rank)?.cts_wait_ns?;
        let others = ranks.iter().filter(|one| one.rank != rank);
        let middle_ns = lower_median(others.filter_map(|one| one.cts_wait_ns))?;
        // Halfway between on time and as late as the data.
        let is_late = own_ns.saturating_sub(middle_ns) > lag_ns / 2;
        Some(Self { rank, own_ns, middle_ns, is_late })
    }

    /// The evidence that follows from it.
    #[must_use]
    pub fn sign(&self) -> Sign {
        let Self { rank, own_ns, middle_ns, is_late } = *self;
        let kind = SignKind::FirstClearToSend { rank, own_ns, others_ns: middle_ns, is_late };
        Sign { kind, witness: None }
    }
}

/// Why a rank sent late.
#[must_use]
pub fn of_late_rank(timing: Option<&Timing>) -> Cause {
    match timing {
        Some(timing) if timing.is_late => Cause::Enqueue,
        Some(_) => Cause::Compute,
        None => Cause::Sender,
    }
}
