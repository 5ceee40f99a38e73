//! Ranks that NCCL's profiler plugin shows to be late, or to take data slowly, beside what packets show.
//!
//! Packets and proxies are two witnesses: of the same rank, the wait is proven. Where they name different
//! ranks or causes, the verdict says so and stays inferred. What only the proxies show is a verdict, too:
//! they see ranks whose packets were not captured.

use crate::analysis::proxy::{Judgement, Late, Lateness, SlowEdge};
use crate::analysis::severity::Severity;
use crate::analysis::straggler::Cause;
use crate::analysis::verdict::class::Class;
use crate::analysis::verdict::evidence::Evidence;
use crate::analysis::verdict::subject::VerdictSubject;
use crate::analysis::verdict::{Profiled, Verdict, VerdictClaim};
use crate::link::job::{CommunicatorId, Identity};
use crate::model::grade::Grade;

/// Joins what the profiles show with `found`, and adds what only they show.
pub(in crate::analysis::verdict) fn join(found: &mut Vec<Verdict>, evidence: &Evidence<'_>) {
    let mut alone = Vec::new();
    for judgement in evidence.lateness.profiles {
        let id = communicator(evidence, judgement.hash);
        let mut is_said = false;
        for verdict in found.iter_mut().filter(|one| is_about(one, id)) {
            let said = compare(verdict, judgement);
            is_said |= said.is_some();
            if let Some(said) = said {
                settle(verdict, said, judgement);
            }
        }
        if !is_said {
            let has_packets = !evidence.facts.flows.is_empty();
            alone.extend(by_profiles(judgement, id, has_packets));
        }
    }
    found.extend(alone);
}

/// The communicator with this hash, if packets or logs show it.
fn communicator(evidence: &Evidence<'_>, hash: u64) -> Option<CommunicatorId> {
    let known = evidence.facts.job().into_iter().flat_map(|job| &job.communicators);
    let mut known = (0..).map(CommunicatorId).zip(known);
    let is_it = |identity| match identity {
        Identity::CommHash(own) | Identity::LogHash(own) => own == hash,
        Identity::Magic(_) | Identity::Inferred(_) => false,
    };
    known.find(|(_, one)| is_it(one.identity)).map(|(id, _)| id)
}

/// Whether it names a rank of this communicator that is slow by itself.
fn is_about(verdict: &Verdict, id: Option<CommunicatorId>) -> bool {
    matches!(verdict.class, Class::LateRank | Class::SlowReceiver)
        && verdict.subject.rank.is_some()
        && id.is_some()
        && verdict.subject.communicator == id
}

/// What the profiles say of the rank that `verdict` names; `None` if they name nobody, or do not say why.
fn compare(verdict: &Verdict, judgement: &Judgement) -> Option<Profiled> {
    let rank = verdict.subject.rank?;
    let late = judgement.late.filter(|late| late.why != Lateness::Unknown);
    match (verdict.class, late, judgement.slow_receiver) {
        (Class::LateRank, Some(late), _) if late.rank == rank => same_rank(verdict, late.why),
        (_, Some(late), _) if late.rank == rank => Some(Profiled::OtherCause(late.why)),
        (class, _, Some(slow)) if slow.to == rank => Some(match class {
            Class::SlowReceiver => Profiled::Agree,
            _ => Profiled::TakesSlowly,
        }),
        (_, Some(late), _) => Some(Profiled::OtherRank(late.rank)),
        (_, None, Some(slow)) => Some(Profiled::OtherRank(slow.to)),
        (_, None, None) => None,
    }
}

fn same_rank(verdict: &Verdict, why: Lateness) -> Option<Profiled> {
    let cause = match &verdict.claim {
        VerdictClaim::Late(late) => late.cause,
        _ => Cause::Sender,
    };
    match (cause, why) {
        (Cause::Enqueue, Lateness::Gpu) | (Cause::Compute, Lateness::Enqueue) => {
            Some(Profiled::OtherCause(why))
        }
        (Cause::Enqueue, Lateness::Enqueue)
        | (Cause::Compute, Lateness::Gpu)
        | (Cause::Sender, Lateness::Enqueue | Lateness::Gpu) => Some(Profiled::Agree),
        _ => None,
    }
}

fn settle(verdict: &mut Verdict, said: Profiled, judgement: &Judgement) {
    verdict.profiled = Some(said);
    match said {
        Profiled::Agree => {
            verdict.grade = Grade::Proven;
            verdict.alternative = None;
            // Packets alone may not distinguish a late call from a late GPU.
            if let (VerdictClaim::Late(packets), Some(late)) = (&mut verdict.claim, judgement.late)
                && packets.cause == Cause::Sender
            {
                packets.cause = late.why.cause();
            }
        }
        Profiled::TakesSlowly => verdict.alternative = Some(Class::SlowReceiver),
        Profiled::OtherCause(_) | Profiled::OtherRank(_) => {}
    }
}

/// What only the profiles show.
fn by_profiles(
    judgement: &Judgement,
    id: Option<CommunicatorId>,
    has_packets: bool,
) -> Option<Verdict> {
    let of = |class, rank, claim| {
        let subject =
            VerdictSubject { communicator: id, rank: Some(rank), ..VerdictSubject::default() };
        Verdict::new(class, Severity::Warning, subject, claim)
    };
    // Where packets are, they know better whether the network is what was late.
    let is_sure = |late: &Late| late.why != Lateness::Unknown || !has_packets;
    let late = judgement.late.filter(is_sure);
    let mut verdict = match (late, judgement.slow_receiver) {
        (Some(late), _) => of(Class::LateRank, late.rank, VerdictClaim::LateByProfiles(late)),
        (None, Some(edge)) => {
            let SlowEdge { to, .. } = edge;
            of(Class::SlowReceiver, to, VerdictClaim::SlowByProfiles(edge, judgement.hash))
        }
        (None, None) => return None,
    };
    verdict.cost_ns = late.map(|late| late.late_ns);
    Some(verdict)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::analysis::proxy::ShownBy;
    use crate::analysis::straggler::significant::SignificantStraggler;
    use crate::model::time::{Span, Timestamp};

    fn verdict(class: Class, rank: u32, cause: Cause) -> Verdict {
        let (communicator, at) = (CommunicatorId(0), Timestamp::from_nanos(0));
        let claim = VerdictClaim::Late(SignificantStraggler {
            communicator,
            rank,
            cause,
            late: 5,
            of: 5,
            usual_ns: 1,
            total_ns: 5,
            span: Span { first: at, last: at },
        });
        let subject = VerdictSubject {
            communicator: Some(communicator),
            rank: Some(rank),
            ..VerdictSubject::default()
        };
        Verdict::new(class, Severity::Warning, subject, claim)
    }

    fn judgement(late: Option<(u32, Lateness)>, slow: Option<u32>) -> Judgement {
        let late = late.map(|(rank, why)| Late {
            hash: 7,
            rank,
            collectives: 5,
            judged: 5,
            late_ns: 5,
            why,
            shown_by: ShownBy::Waits,
        });
        Judgement {
            hash: 7,
            ranks: Some(4),
            recorded: BTreeSet::from([0, 1, 2, 3]),
            shares_nodes: false,
            judged: 5,
            judged_by_kernels: 0,
            late,
            slow_receiver: slow.map(|to| SlowEdge { from: 0, to, waited_ns: 5 }),
            slow_path: None,
        }
    }

    fn settled(mut verdict: Verdict, judgement: &Judgement) -> (Option<Profiled>, Grade) {
        if let Some(said) = compare(&verdict, judgement) {
            settle(&mut verdict, said, judgement);
        }
        (verdict.profiled, verdict.grade)
    }

    #[test]
    fn the_same_rank_and_cause_is_proven() {
        let gpu = judgement(Some((2, Lateness::Gpu)), None);
        let agrees = (Some(Profiled::Agree), Grade::Proven);
        assert_eq!(settled(verdict(Class::LateRank, 2, Cause::Compute), &gpu), agrees);
        // Packets do not say which: the profiles do.
        assert_eq!(settled(verdict(Class::LateRank, 2, Cause::Sender), &gpu), agrees);
        let slow = judgement(None, Some(2));
        assert_eq!(settled(verdict(Class::SlowReceiver, 2, Cause::Receiver), &slow), agrees);
    }

    #[test]
    fn contradictions_stay_inferred() {
        let gpu = judgement(Some((2, Lateness::Gpu)), None);
        let said = |class, rank, cause| settled(verdict(class, rank, cause), &gpu);
        let inferred = |said| (Some(said), Grade::Inferred);
        let other_cause = inferred(Profiled::OtherCause(Lateness::Gpu));
        assert_eq!(said(Class::LateRank, 2, Cause::Enqueue), other_cause);
        assert_eq!(said(Class::SlowReceiver, 2, Cause::Receiver), other_cause);
        assert_eq!(said(Class::LateRank, 1, Cause::Compute), inferred(Profiled::OtherRank(2)));
        let slow = judgement(None, Some(2));
        let late = verdict(Class::LateRank, 2, Cause::Enqueue);
        assert_eq!(settled(late, &slow), inferred(Profiled::TakesSlowly));
        let late = verdict(Class::LateRank, 2, Cause::Enqueue);
        assert_eq!(settled(late, &judgement(None, None)), (None, Grade::Inferred));
    }

    #[test]
    fn the_own_rank_is_no_other_rank_and_an_unknown_cause_proves_nothing() {
        let both = judgement(Some((2, Lateness::Gpu)), Some(3));
        let slow = settled(verdict(Class::SlowReceiver, 2, Cause::Receiver), &both);
        assert_eq!(slow.0, Some(Profiled::OtherCause(Lateness::Gpu)));
        let unsure = judgement(Some((1, Lateness::Unknown)), Some(2));
        let late = settled(verdict(Class::LateRank, 2, Cause::Sender), &unsure);
        assert_eq!(late, (Some(Profiled::TakesSlowly), Grade::Inferred));
        let unsure = judgement(Some((2, Lateness::Unknown)), None);
        let late = settled(verdict(Class::LateRank, 2, Cause::Sender), &unsure);
        assert_eq!(late, (None, Grade::Inferred));
    }

    #[test]
    fn what_only_profiles_show_is_a_verdict() {
        let late =
            by_profiles(&judgement(Some((2, Lateness::Enqueue)), Some(1)), None, false).unwrap();
        assert_eq!(
            (late.class, late.subject.rank, late.cost_ns),
            (Class::LateRank, Some(2), Some(5))
        );
        let slow = by_profiles(&judgement(None, Some(1)), None, false).unwrap();
        assert_eq!((slow.class, slow.subject.rank), (Class::SlowReceiver, Some(1)));
        let unsure = judgement(Some((2, Lateness::Unknown)), None);
        assert!(by_profiles(&unsure, None, true).is_none());
        assert!(by_profiles(&judgement(None, None), None, false).is_none());
    }
}
