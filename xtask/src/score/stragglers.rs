//! Stragglers: who was late, why, and whether anyone was blamed wrongly.
//!
//! The truth has the ranks that were made late in each training step, and when each rank's GPU reached
//! each collective and handed over its first message. The latter also confirms or refutes stragglers
//! in runs where no rank was made late.

use std::collections::{BTreeMap, BTreeSet};

use super::cell::{Cell, Column, Tally};
use super::collectives::{Known, paired};
use super::matching::Matching;
use super::report::{self, Straggler};
use super::truth::{self, LateRank};

/// Causes by which the rank itself was late.
const OWN_CAUSES: [&str; 3] = ["enqueue", "compute", "sender"];

/// Columns about stragglers.
#[derive(Default)]
pub(super) struct Score {
    late_ranks: Tally,
    causes: Tally,
    lag_errors_ns: Vec<i64>,
    slow_receivers: Tally,
    losses: Tally,
    /// Ranks that were on time, but whose host delayed their first message; `None` as below.
    held_up: Option<u64>,
    /// Stragglers that nothing in the truth confirms; `None` if the truth lacks these times.
    unfounded: Option<u64>,
}

/// A collective of the truth that was found, and its reported straggler.
struct Named<'a> {
    collective: &'a truth::Collective,
    straggler: &'a Straggler,
    /// World rank.
    rank: u32,
    /// When the first data of each world rank left its host, by the capture.
    left_ns: BTreeMap<u32, i64>,
}

impl Score {
    pub(super) fn new(matching: &Matching<'_>) -> Self {
        let mut score = Self::default();
        if !matching.truth.has_lateness() {
            return score;
        }
        let paired = (0..matching.truth.communicators.len()).flat_map(|at| paired(matching, at));
        let named: Vec<Named<'_>> =
            paired.filter_map(|(known, said)| named(matching, &known, said?)).collect();
        for late in matching.truth.late_ranks() {
            for iteration in &late.iterations {
                if is_affected(matching, late, *iteration) {
                    score.count_late(&named, late.rank, *iteration);
                }
            }
        }
        for rank in matching.truth.slow_receivers() {
            for iteration in matching.truth.iterations() {
                let in_it = in_iteration(&named, iteration);
                let receivers = in_it.filter(|one| one.straggler.cause == "receiver");
                score.slow_receivers.count(agreement(receivers.map(|one| one.rank), rank));
            }
        }
        let (held_up, unfounded): (Vec<&Named<'_>>, _) =
            named.iter().filter(|one| !is_founded(matching, one)).partition(|one| is_held_up(one));
        score.held_up = Some(held_up.len() as u64);
        score.unfounded = Some(unfounded.len() as u64);
        for one in named.iter().filter(|one| one.straggler.cause == "loss") {
            score.losses.count(Some(is_lossy(matching, one.straggler)));
        }
        score
    }

    pub(super) fn columns(&self) -> Vec<Column> {
        vec![
            ("late ranks", self.late_ranks.into()),
            ("cause", self.causes.into()),
            ("lag", Cell::differences(self.lag_errors_ns.clone())),
            ("slow receivers", self.slow_receivers.into()),
            ("loss", self.losses.into()),
            ("held up", self.held_up.map_or(Cell::Empty, Cell::Faults)),
            ("unfounded", self.unfounded.map_or(Cell::Empty, Cell::Faults)),
        ]
    }

    /// Counts one rank that was made late in `iteration`. Of the stragglers there that were late
    /// themselves, the one with the longest lag should be it.
    fn count_late(&mut self, named: &[Named<'_>], rank: u32, iteration: u64) {
        let own = in_iteration(named, iteration)
            .filter(|one| OWN_CAUSES.contains(&one.straggler.cause.as_str()));
        let worst = own.max_by_key(|one| one.straggler.lag_ns);
        self.late_ranks.count(worst.map(|worst| worst.rank == rank));
        let Some(worst) = worst.filter(|worst| worst.rank == rank) else { return };
        let Some(late_ns) = worst.collective.lateness_ns(rank) else { return };
        let lag_ns = worst.straggler.lag_ns as i64;
        self.lag_errors_ns.push((lag_ns - late_ns).abs());
        let was_called_late = worst.collective.call_lateness_ns(rank) > Some(late_ns / 2);
        let cause = if was_called_late { "enqueue" } else { "compute" };
        self.causes.count(Some(worst.straggler.cause == cause));
    }
}

/// Whether the rank was late there by at least half of its injected delay: others may have been late,
/// too.
fn is_affected(matching: &Matching<'_>, late: &LateRank, iteration: u64) -> bool {
    let collectives = &matching.truth.collectives;
    let in_it = collectives.iter().filter(|one| one.iter == Some(iteration));
    let late_ns = in_it.filter_map(|one| one.lateness_ns(late.rank)).max();
    late_ns >= Some(late.delay_ns() / 2)
}

/// Whether the truth confirms that this rank, or this connection, held up the others.
fn is_founded(matching: &Matching<'_>, named: &Named<'_>) -> bool {
    let Straggler { cause, lag_ns, .. } = named.straggler;
    match cause.as_str() {
        "receiver" => matching.truth.slow_receivers().any(|rank| rank == named.rank),
        "loss" => is_lossy(matching, named.straggler),
        cause if OWN_CAUSES.contains(&cause) => {
            // Late by at least half of the reported time, at the collective or with its first message.
            let late = named.collective.lateness_ns(named.rank);
            let posted = named.collective.post_lateness_ns(named.rank);
            late.max(posted) >= Some(*lag_ns as i64 / 2)
        }
        _ => false,
    }
}

/// Whether the first message of a reported straggler waited in its host, in NCCL's proxy or below, for
/// at least half of the reported time.
fn is_held_up(named: &Named<'_>) -> bool {
    let Straggler { cause, lag_ns, .. } = named.straggler;
    let held_ns = named.collective.hold_ns(named.rank, &named.left_ns);
    OWN_CAUSES.contains(&cause.as_str()) && held_ns >= Some(*lag_ns as i64 / 2)
}

fn named<'a>(
    matching: &Matching<'_>,
    known: &Known<'a>,
    said: &'a report::Collective,
) -> Option<Named<'a>> {
    let straggler = said.straggler.as_ref()?;
    let world_rank = |rank| matching.world_rank(&said.communicator, rank);
    let origin_ns = matching.report.origin_ns();
    let left = |one: &report::CollectiveRank| {
        Some((world_rank(one.rank)?, origin_ns + one.first_send_ns?))
    };
    let left_ns = said.ranks.iter().filter_map(left).collect();
    let rank = world_rank(straggler.rank)?;
    Some(Named { collective: known.collective, straggler, rank, left_ns })
}

fn in_iteration<'a, 'b>(
    named: &'b [Named<'a>],
    iteration: u64,
) -> impl Iterator<Item = &'b Named<'a>> {
    named.iter().filter(move |one| one.collective.iter == Some(iteration))
}

/// Whether every reported straggler is `rank`; `None` if there is none.
fn agreement(named: impl Iterator<Item = u32>, rank: u32) -> Option<bool> {
    let named: BTreeSet<u32> = named.collect();
    (!named.is_empty()).then(|| named == BTreeSet::from([rank]))
}

/// Whether frames of the blamed flow were lost.
fn is_lossy(matching: &Matching<'_>, straggler: &Straggler) -> bool {
    let flows = &matching.report.flows;
    let flow = flows.iter().find(|flow| Some(flow.id) == straggler.flow);
    flow.is_some_and(|flow| matching.truth.has_lost(&flow.src, &flow.dst))
}
