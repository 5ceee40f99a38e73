//! Collectives and training steps with their waits, stragglers and figures.

use super::collective::Collective;
use super::iteration::Iteration;
use super::iteration::figures::Figures;
use super::iteration::pace::Pace;
use super::straggler::Straggler;
use super::straggler::own_time::OwnTime;
use super::wait::CollectiveWaits;

/// A collective and where its time went.
#[derive(Clone, Debug)]
pub struct JudgedCollective {
    /// Kind, bytes and times.
    pub collective: Collective,
    /// Its waits by connection and rank.
    pub waits: CollectiveWaits,
    /// What each rank accounts for by itself, where its own tap saw it.
    pub own_times: Vec<OwnTime>,
    /// The rank that the others waited for.
    pub straggler: Option<Straggler>,
}

/// A training step with its figures and its straggler.
#[derive(Clone, Debug)]
pub struct JudgedIteration {
    /// Its bounds and collectives.
    pub iteration: Iteration,
    /// Bytes, rate, marks, retransmissions and pause.
    pub figures: Figures,
    /// How it compares with the others of its job.
    pub pace: Pace,
    /// The straggler that the others waited for longest within it, with as much of its lag as lies
    /// within it, and the place of its collective.
    pub straggler: Option<(Straggler, usize)>,
}
