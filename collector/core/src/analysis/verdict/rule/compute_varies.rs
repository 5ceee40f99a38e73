//! What can be said of a job whose training steps wait for a different rank each time.

use crate::analysis::severity::Severity;
use crate::analysis::straggler::jitter::Jitter;
use crate::analysis::verdict::class::Class;
use crate::analysis::verdict::evidence::Evidence;
use crate::analysis::verdict::subject::VerdictSubject;
use crate::analysis::verdict::{Verdict, VerdictClaim};

/// Share of the median training step from which waiting for the last rank is worth a line; the same
/// as for a training step that stands out.
const LEAST_SHARE: f64 = 0.05;

/// The verdicts on jitter, where all ports of the job were seen and nothing is wrong: neither a rank
/// nor the network explains why ranks wait.
pub fn conclude(evidence: &Evidence<'_>, found: &[Verdict]) -> Vec<Verdict> {
    let is_all_seen = found.iter().any(|one| one.class == Class::NetworkNotTheCause);
    if !is_all_seen || found.iter().any(Verdict::is_problem) {
        return Vec::new();
    }
    let has_late_rank = |jitter: &Jitter| {
        let late = evidence.lateness.stragglers.iter();
        late.map(|late| late.communicator).any(|id| id == jitter.communicator)
    };
    let jitters = evidence.lateness.jitters.iter();
    let considerable = jitters.filter(|one| one.share >= LEAST_SHARE && !has_late_rank(one));
    considerable.map(|jitter| verdict(evidence, jitter)).collect()
}

fn verdict(evidence: &Evidence<'_>, jitter: &Jitter) -> Verdict {
    let subject =
        VerdictSubject { communicator: Some(jitter.communicator), ..VerdictSubject::default() };
    let claim = VerdictClaim::Varies(*jitter);
    let mut verdict = Verdict::new(Class::ComputeVaries, Severity::Info, subject, claim);
    verdict.span = Some(jitter.span);
    verdict.costing(jitter.total_ns, evidence.costs.seen_ns)
}
