//! Ranks have not called the collective that others wait in.

use super::recorded::{self, PATIENCE_NS, only_rank};
use crate::analysis::finding::claim::calls::CallsClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::{Finding, Subject};
use crate::analysis::roll_call::flight::Outcome;
use crate::analysis::roll_call::presence::largest_group;
use crate::analysis::roll_call::ras::{Behind, RasOutcome};
use crate::analysis::severity::Severity;

/// Ranks that have not called.
pub const KIND: Kind = Kind {
    id: "rank_not_called",
    about: "Other ranks wait in a collective that these ranks have not called, and they wait in no \
            other: their process does something else, such as loading data, saving a checkpoint \
            or handling an exception.",
    threshold: "Flight recorder: an entry of a group that has not ended on some ranks, and is \
                missing on others; critical if they had waited for 5 s when the dumps were \
                written, else info. RAS: fewer launched collectives than other ranks, critical if no \
                count of that kind moved between two answers, at most half of the ranks are behind, and \
                dumps do not show all of these waiting in a collective themselves; else info: \
                counts of a running job differ by a few at any moment.",
    remedy: "Look at that rank's process: `py-spy dump --pid PID` shows the line it is in; look at \
             its log, data loader and disk. Then compare with the line that the others called.",
    needs: &[Need::CallRecords],
    detect,
};

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let by_dumps = facts.rolls.flight.iter().filter_map(|roll| {
        let Outcome::NotCalled(ranks) = &roll.outcome else { return None };
        let claim = CallsClaim::NotCalled {
            ranks: ranks.clone(),
            call: recorded::named(roll),
            waiting: roll.waiting.clone(),
        };
        let has_waited = roll.waited_ns.is_none_or(|waited| waited >= PATIENCE_NS);
        let severity = if has_waited { Severity::Critical } else { Severity::Info };
        let subject = Subject { rank: only_rank(ranks), ..Subject::default() };
        let finding = KIND.finding(severity, claim).about(subject).proven();
        Some(recorded::with_calls(facts, finding, roll))
    });
    let by_ras = facts.rolls.ras.iter().filter_map(|roll| {
        let RasOutcome::Behind(behind) = &roll.outcome else { return None };
        let (id, communicator) = recorded::communicator(facts, roll.hash?);
        let rank = behind.ranks.first().and_then(|one| one.rank).filter(|_| behind.count == 1);
        let is_cause = behind.is_still && behind.are_few() && !wait_themselves(facts, behind);
        let severity = if is_cause { Severity::Critical } else { Severity::Info };
        let claim = CallsClaim::Behind { communicator, behind: behind.clone() };
        let finding = KIND.finding(severity, claim);
        let finding = finding.about(Subject { communicator: id, rank, ..Subject::default() });
        Some(recorded::with_answers(facts, finding))
    });
    by_dumps.chain(by_ras).collect()
}

/// Whether dumps show that all ranks that are behind wait in a collective: they have called, and something
/// else keeps them. Dumps number the ranks of the job, RAS those of a communicator: only in one of all ranks
/// they are the same.
fn wait_themselves(facts: &Facts<'_>, behind: &Behind) -> bool {
    let ranks = largest_group(&facts.state.roll_call.dumps) as u64;
    let has_waited = |waited: Option<u64>| waited.is_none_or(|waited| waited >= PATIENCE_NS);
    let waits = |rank: u32| {
        let mut rolls = facts.rolls.flight.iter();
        rolls.any(|roll| has_waited(roll.waited_ns) && roll.waiting.contains(&rank))
    };
    ranks == behind.of
        && behind.ranks.len() as u64 == behind.count
        && behind.ranks.iter().all(|one| one.rank.is_some_and(waits))
}
