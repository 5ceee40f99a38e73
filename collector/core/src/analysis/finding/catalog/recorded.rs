//! What findings about recorded calls have in common.

use crate::analysis::finding::claim::calls::NamedCall;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::observation::RecordObservation;
use crate::analysis::finding::{Finding, Proof};
use crate::analysis::roll_call::flight::Roll;
use crate::link::job::{CommunicatorId, Identity};

/// From this wait on, in nanoseconds, ranks do not only differ a little: railscope's time after which a
/// communicator hangs.
pub(super) const PATIENCE_NS: u64 = 5_000_000_000;

/// Dumps that evidence lists.
const LISTED: usize = 8;

pub(super) fn named(roll: &Roll) -> NamedCall {
    NamedCall {
        name: roll.call.clone(),
        number: roll.number,
        group: roll.group.clone(),
        about: roll.about.clone(),
        turnout: roll.turnout,
    }
}

pub(super) fn only_rank(ranks: &[u32]) -> Option<u32> {
    match ranks {
        [rank] => Some(*rank),
        _ => None,
    }
}

/// The communicator with this `commHash`: in the job, if it was captured or logged, and its name.
pub(super) fn communicator(facts: &Facts<'_>, hash: u64) -> (Option<CommunicatorId>, Identity) {
    let identity = Identity::CommHash(hash);
    let all = facts.job().into_iter().flat_map(|job| &job.communicators);
    let at = all.into_iter().position(|one| one.identity == identity);
    (at.map(|at| CommunicatorId(at as u32)), identity)
}

/// The finding with the last call of every rank in the group, those that lag first.
pub(super) fn with_calls(facts: &Facts<'_>, finding: Finding, roll: &Roll) -> Finding {
    let mut calls = roll.last_calls(&facts.state.roll_call.dumps);
    calls.sort_by_key(|call| (call.number, call.rank));
    let calls = calls.into_iter().take(LISTED).map(|call| RecordObservation::LastCall {
        file: call.file.to_owned(),
        rank: call.rank,
        call: call.name.map(str::to_owned),
        number: call.number,
        progress: call.progress,
    });
    let line = roll.line.clone().map(RecordObservation::Line);
    calls.chain(line).fold(finding, |finding, what| finding.because(Proof::recorded(what)))
}

/// The finding with the answers of RAS that show it.
pub(super) fn with_answers(facts: &Facts<'_>, finding: Finding) -> Finding {
    let answers = facts.state.roll_call.statuses.iter().rev().take(2);
    answers.fold(finding, |finding, (file, status)| {
        let (file, taken) = (file.clone(), status.taken.clone());
        finding.because(Proof::recorded(RecordObservation::Answer { file, taken }))
    })
}
