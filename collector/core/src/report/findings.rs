//! Findings: what is wrong, on what evidence, and what one does about it.

use schemars::JsonSchema;
use serde::Serialize;

use super::evidence::EvidenceReport;
use super::{Sources, words};
use crate::analysis::finding::{Finding, Subject};

/// Something worth telling.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FindingReport {
    /// Its name, by which it is suppressed: `socket_fallback`.
    pub id: &'static str,
    /// `info`, `warning` or `critical`.
    pub severity: &'static str,
    /// One line that names the subject and the numbers.
    pub title: String,
    /// Why it came to be, as one word, where the finding tells several causes apart.
    pub cause: Option<&'static str>,
    /// What it is about.
    pub subject: SubjectReport,
    /// `id`s of the flows that it is about, the worst first (at most 1024).
    pub flows: Vec<u32>,
    /// When it was seen first.
    pub first_ns: Option<i64>,
    /// When it was seen last.
    pub last_ns: Option<i64>,
    /// `proven`, `inferred` or `unknown`.
    pub grade: &'static str,
    /// Reasons, the strongest first.
    pub evidence: Vec<EvidenceReport>,
    /// What one does about it.
    pub remedy: &'static str,
}

/// A finding that could not be looked for.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct NotCheckedReport {
    /// Its name.
    pub id: &'static str,
    /// The input that it needs.
    pub needs: &'static str,
    /// Why that is missing, and how to give it.
    pub missing: &'static str,
}

/// Flows that are listed of a finding.
const FLOWS_LISTED: usize = 1024;

/// What a finding is about; what does not apply is `null`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SubjectReport {
    /// `id` of a communicator.
    pub communicator: Option<String>,
    /// A rank of it.
    pub rank: Option<u32>,
    /// `id` of a flow.
    pub flow: Option<u32>,
    /// Address of a port.
    pub port: Option<String>,
    /// Number of a training step.
    pub iteration: Option<u32>,
}

/// The findings, the worst first.
pub(super) fn section(sources: &Sources<'_>) -> Vec<FindingReport> {
    sources.understanding.findings.found.iter().map(|finding| report(sources, finding)).collect()
}

/// What could not be looked for.
pub(super) fn not_checked(sources: &Sources<'_>) -> Vec<NotCheckedReport> {
    let all = sources.understanding.findings.not_checked.iter();
    all.map(|(id, need)| NotCheckedReport { id, needs: need.name(), missing: need.missing() })
        .collect()
}

fn report(sources: &Sources<'_>, finding: &Finding) -> FindingReport {
    let proofs = finding.evidence.iter();
    FindingReport {
        id: finding.id,
        severity: finding.severity.name(),
        title: words::finding::title(&finding.claim),
        cause: finding.cause,
        subject: subject(sources, &finding.subject),
        flows: finding
            .flows
            .iter()
            .take(FLOWS_LISTED)
            .filter_map(|at| sources.flow_ids.get(*at as usize).copied())
            .collect(),
        first_ns: finding.span.map(|span| sources.relative_ns(span.first)),
        last_ns: finding.span.map(|span| sources.relative_ns(span.last)),
        grade: finding.grade.name(),
        evidence: proofs
            .map(|proof| {
                let text = words::evidence::finding(&proof.observation);
                EvidenceReport::stated(sources, proof.source().name(), text, proof.witness)
            })
            .collect(),
        remedy: finding.remedy,
    }
}

fn subject(sources: &Sources<'_>, subject: &Subject) -> SubjectReport {
    let job = sources.state.job.as_ref();
    SubjectReport {
        communicator: job.zip(subject.communicator).and_then(|(job, id)| job.name_of(id)),
        rank: subject.rank,
        flow: subject.flow.and_then(|at| sources.flow_ids.get(at as usize).copied()),
        port: subject.port.map(|port| port.to_string()),
        iteration: subject.iteration,
    }
}
