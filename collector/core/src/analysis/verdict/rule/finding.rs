//! Findings that no cause explains are causes themselves. A collective that stopped, though packets are
//! answered, has one in the rank that it waits for.

use crate::analysis::finding::Finding;
use crate::analysis::finding::observation::{FrameObservation, Observation};
use crate::analysis::severity::Severity;
use crate::analysis::verdict::Verdict;
use crate::analysis::verdict::class::Class;
use crate::analysis::verdict::evidence::Evidence;
use crate::analysis::verdict::subject::VerdictSubject;

/// Classes by finding and its cause, with another that is left. Where a collective stopped and no packet is missing:
/// the NIC of a stopped process acknowledges what others write into its memory, so packets do not tell it from one
/// that runs.
const CLASSES: &[(&str, &str, Class, Option<Class>)] = &[
    ("stalled_collective", "never_posted", Class::RankNotCalled, Some(Class::ProcessStopped)),
    ("stalled_collective", "never_sent", Class::GpuStuck, Some(Class::ProcessStopped)),
    ("link_down", "down", Class::PortDown, None),
];

/// Findings that are only ever consequences, so that nothing rests on them alone, or that settle what
/// was found (`queue_pair`).
const CONSEQUENCES: &[&str] = &["straggler", "queue_pair_error"];

/// Whether the evidence says that the process of the rank is gone.
fn shows_exit(finding: &Finding) -> bool {
    let is_farewell = |observation: &Observation| {
        matches!(observation, Observation::Frames(FrameObservation::Farewells { .. }))
    };
    finding.evidence.iter().any(|proof| is_farewell(&proof.observation))
}

/// A verdict for each warning that none of `found` explains.
pub fn unexplained(evidence: &Evidence<'_>, found: &[Verdict]) -> Vec<Verdict> {
    let is_explained =
        |at: &usize| found.iter().any(|one| one.rests_on.contains(at) || one.explains.contains(at));
    let findings = evidence.findings.iter().enumerate().filter(|(at, finding)| {
        finding.severity > Severity::Info
            && !is_explained(at)
            && !CONSEQUENCES.contains(&finding.id)
    });
    let verdict = |(at, finding): (usize, &Finding)| {
        let subject = VerdictSubject {
            communicator: finding.subject.communicator,
            rank: finding.subject.rank,
            port: finding.subject.port,
            flow: finding.subject.flow,
            ..VerdictSubject::default()
        };
        let known = CLASSES
            .iter()
            .find(|(id, cause, ..)| finding.id == *id && finding.cause == Some(cause));
        match known {
            // The kernel of its host ended the connections of its process.
            Some(_) if shows_exit(finding) => {
                Verdict::of_finding(Class::ProcessGone, subject, at, finding)
            }
            Some((.., class, alternative)) => Verdict {
                alternative: *alternative,
                ..Verdict::of_finding(*class, subject, at, finding)
            },
            None => Verdict::of_finding(Class::Other(finding.id), subject, at, finding),
        }
    };
    findings.map(verdict).collect()
}
