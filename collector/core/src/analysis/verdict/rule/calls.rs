//! A rank that never called, ranks that disagree, processes that do not answer.

use super::{Rule, explain};
use crate::analysis::finding::Finding;
use crate::analysis::finding::claim::Claim;
use crate::analysis::finding::claim::calls::CallsClaim;
use crate::analysis::hang::is_moving;
use crate::analysis::verdict::Verdict;
use crate::analysis::verdict::class::Class;
use crate::analysis::verdict::evidence::Evidence;
use crate::analysis::verdict::subject::VerdictSubject;
use crate::model::grade::Grade;

/// What follows when a rank does not take part.
const FOLLOWS: &[&str] = &[
    "stalled_collective",
    "inside_collective",
    "communicator_failed",
    "straggler",
    "nccl_warning",
];

/// The findings that are causes, the class of each, and another that it leaves. A process that is gone
/// has called less, and RAS has an error of the others: the first that is found explains the later ones.
const CAUSES: &[(&str, Class, Option<Class>)] = &[
    ("ranks_disagree", Class::RanksDisagree, None),
    ("process_unreachable", Class::ProcessGone, Some(Class::HostDead)),
    // It wrote a dump, or answered RAS: its process runs.
    ("rank_not_called", Class::RankNotCalled, None),
];

/// Recorded calls.
pub const RULE: Rule = Rule {
    reason: "A collective ends when its last rank calls it; until then all others wait in it, and \
             their data stops within one message.",
    conclude,
};

fn conclude(evidence: &Evidence<'_>) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    let is_moving = !evidence.facts.state.roll_call.is_empty() && is_moving(evidence.facts);
    for (id, class, alternative) in CAUSES {
        for (at, finding) in evidence.warnings(id) {
            let subject = VerdictSubject {
                communicator: finding.subject.communicator,
                rank: finding.subject.rank,
                ..VerdictSubject::default()
            };
            let mut verdict = Verdict::of_finding(*class, subject, at, finding);
            verdict.alternative = *alternative;
            // The records may be of another time.
            if is_moving {
                verdict.grade = Grade::Inferred;
            }
            // Where packets name the same rank, they know more of it: whether its NIC still answers. That a
            // dump is missing says less than packets of any rank: it may only not have been collected.
            let is_without_dump = matches!(finding.claim, Claim::Calls(CallsClaim::NoDump { .. }));
            let is_known_better = |other: &Finding| {
                *id == "process_unreachable"
                    && other.id == "stalled_collective"
                    && other.subject.rank.is_some()
                    && (is_without_dump || other.subject.rank == subject.rank)
            };
            explain(evidence, &mut verdict, FOLLOWS, |other| !is_known_better(other));
            if *id == "process_unreachable" {
                let is_same = |other: &Finding| {
                    let ranks = (subject.rank, other.subject.rank);
                    !matches!(ranks, (Some(own), Some(other)) if own != other)
                };
                explain(evidence, &mut verdict, &["rank_not_called"], is_same);
            }
            match verdicts.iter_mut().find(|known| is_same(known, &verdict)) {
                Some(known) => join(known, verdict),
                None => verdicts.push(verdict),
            }
        }
    }
    verdicts
}

/// Whether dumps and RAS say the same of one rank. Dumps do not name its communicator.
fn is_same(one: &Verdict, other: &Verdict) -> bool {
    let communicators = one.subject.communicator.zip(other.subject.communicator);
    one.class == other.class
        && one.subject.rank.is_some()
        && one.subject.rank == other.subject.rank
        && communicators.is_none_or(|(one, other)| one == other)
}

fn join(known: &mut Verdict, verdict: Verdict) {
    known.subject.communicator = known.subject.communicator.or(verdict.subject.communicator);
    known.severity = known.severity.max(verdict.severity);
    known.rests_on.extend(verdict.rests_on);
    known.explains.extend(verdict.explains);
    known.explains.sort_unstable();
    known.explains.dedup();
    known.explains.retain(|at| !known.rests_on.contains(at));
}
