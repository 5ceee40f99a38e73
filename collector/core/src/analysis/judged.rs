//! Collectives and training steps with their waits, stragglers and figures.

use std::collections::BTreeMap;

use super::collective::Collective;
use super::iteration::Iteration;
use super::iteration::cost::Cost;
use super::iteration::figures::Figures;
use super::iteration::pace::Pace;
use super::rank_figures::RankFigures;
use super::straggler::Straggler;
use super::straggler::contribution::Contribution;
use super::straggler::own_time::OwnTime;
use super::wait::CollectiveWaits;

/// A collective and where its time went.
#[derive(Clone, Debug)]
pub struct JudgedCollective {
    /// Kind, bytes and times.
    pub collective: Collective,
    /// Its waits by connection and rank.
    pub waits: CollectiveWaits,
    /// What each rank used by itself, where its own tap saw it.
    pub own_times: Vec<OwnTime>,
    /// What waiting for room at each rank cost it.
    pub room: BTreeMap<u32, u64>,
    /// What each cause added to it.
    pub contributions: Vec<Contribution>,
    /// The rank that the others waited for.
    pub straggler: Option<Straggler>,
    /// Its ranks, in the order of the collective's own.
    pub ranks: Vec<RankFigures>,
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
    /// What its excess is made of, the greatest first; the rest is unexplained.
    pub contributions: Vec<Contribution>,
    /// What each cause cost, the greatest first, also where most training steps pay as much. Causes
    /// that act at the same time overlap.
    pub costs: Vec<Cost>,
}

impl JudgedIteration {
    /// The part of its excess that no contribution explains; `None` without an excess.
    #[must_use]
    pub fn remainder_ns(&self) -> Option<u64> {
        let explained_ns = self.contributions.iter().map(|one| one.ns).sum();
        Some(self.pace.excess_ns?.saturating_sub(explained_ns))
    }

    /// Cost of what makes it stand out: the longer of its excess and its straggler's lag.
    #[must_use]
    pub fn cost_ns(&self) -> Option<u64> {
        let lag_ns = self.straggler.as_ref().map(|(straggler, _)| straggler.lag_ns);
        self.pace.excess_ns.max(lag_ns).filter(|_| self.pace.stands_out)
    }
}
