//! Ranks called different collectives, or wait for each other.

use super::recorded;
use crate::analysis::finding::claim::calls::CallsClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::finding::{Finding, Subject};
use crate::analysis::roll_call::flight::Outcome;
use crate::analysis::roll_call::ras::RasOutcome;
use crate::analysis::severity::Severity;

/// Ranks that called different things.
pub const KIND: Kind = Kind {
    id: "ranks_disagree",
    about: "Ranks of one group called different collectives under the same number, or the same one \
            with tensors of different sizes, or groups in a different order. NCCL cannot complete \
            such calls: they hang, or deliver wrong data.",
    threshold: "Flight recorder: entries of a group with one number that differ in name; or, for \
                collectives whose tensors must be alike, in size or type; or ranks that wait in \
                calls of several groups, each for one that waits in another. RAS: a rank has launched more \
                of one function than another rank, and less of a second one.",
    remedy: "The program took different ways on these ranks: look for a branch on rank, data or an \
             exception before this call; uneven batches (join, drop_last); modules that are \
             unused on some ranks. TORCH_DISTRIBUTED_DEBUG=DETAIL checks every call.",
    needs: &[Need::CallRecords],
    detect,
};

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    let rolls = facts.rolls.flight.iter();
    let found = rolls.filter_map(|roll| {
        let call = recorded::named(roll);
        let (claim, rank) = match &roll.outcome {
            Outcome::Disagree(variants) => {
                // The odd one out, if it is one of several.
                let odd = match variants.as_slice() {
                    [(_, most), (_, odd)] if most.len() > odd.len() => recorded::only_rank(odd),
                    _ => None,
                };
                (CallsClaim::Disagree { call, variants: variants.clone() }, odd)
            }
            Outcome::Circle(awaited) => {
                let (waiting, awaited) = (roll.waiting.clone(), awaited.clone());
                (CallsClaim::Circle { call, waiting, awaited }, None)
            }
            _ => return None,
        };
        let finding = KIND.finding(Severity::Critical, claim).proven();
        let finding = finding.about(Subject { rank, ..Subject::default() });
        Some(recorded::with_calls(facts, finding, roll))
    });
    let by_ras = facts.rolls.ras.iter().filter_map(|roll| {
        let RasOutcome::Unlike(unlike) = &roll.outcome else { return None };
        let (id, communicator) = recorded::communicator(facts, roll.hash?);
        let (few, others) = (&unlike.few.0, &unlike.others.0);
        let odd = few.first().and_then(|one| one.rank);
        let rank = odd.filter(|_| few.len() == 1 && others.len() > 1);
        let claim = CallsClaim::Unlike { communicator, unlike: unlike.clone() };
        let finding = KIND.finding(Severity::Critical, claim);
        let finding = finding.about(Subject { communicator: id, rank, ..Subject::default() });
        Some(recorded::with_answers(facts, finding))
    });
    found.chain(by_ras).collect()
}
