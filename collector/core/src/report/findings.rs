//! Findings: what is wrong, the evidence, and what to do about it.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use super::evidence::EvidenceReport;
use super::sources::Sources;
use super::words;
use crate::analysis::finding::{Finding, Subject};

/// Something wrong with the job or its network, with evidence and remedy.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FindingReport {
    /// Its name, such as `socket_fallback`; settings suppress it by this name.
    pub id: &'static str,
    /// `info`, `warning` or `critical`.
    pub severity: &'static str,
    /// One line with the subject and the numbers.
    pub title: String,
    /// Its cause in one word, for findings with several causes.
    pub cause: Option<&'static str>,
    /// What it is about.
    pub subject: SubjectReport,
    /// `id`s of the flows concerned, the worst first (at most 1024).
    pub flows: Vec<u32>,
    /// First time seen.
    pub first_ns: Option<i64>,
    /// Last time seen.
    pub last_ns: Option<i64>,
    /// `proven`, `inferred` or `unknown`.
    pub grade: &'static str,
    /// Evidence, the strongest first.
    pub evidence: Vec<EvidenceReport>,
    /// What to do about it.
    pub remedy: &'static str,
    /// Index of the verdict that explains it, or that rests on it; `null` if none does.
    pub explained_by: Option<usize>,
}

impl FindingReport {
    /// Whether it is about one of these flows, or about no flow in particular.
    #[must_use]
    pub fn concerns_any(&self, flows: &BTreeSet<u32>) -> bool {
        self.flows.is_empty() || self.flows.iter().any(|flow| flows.contains(flow))
    }
}

/// A finding that was not checked.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct NotCheckedReport {
    /// Its name.
    pub id: &'static str,
    /// The input it needs.
    pub needs: &'static str,
    /// Why that is missing, and how to provide it.
    pub missing: &'static str,
}

/// Most flows listed for a finding.
const FLOWS_LISTED: usize = 1024;

/// Subject of a finding; fields that do not apply are `null`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SubjectReport {
    /// `id` of a communicator.
    pub communicator: Option<String>,
    /// Rank in that communicator.
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
    let found = sources.understanding.findings.found.iter().enumerate();
    found.map(|(at, finding)| report(sources, at, finding)).collect()
}

/// Findings that were not checked.
pub(super) fn not_checked(sources: &Sources<'_>) -> Vec<NotCheckedReport> {
    let all = sources.understanding.findings.not_checked.iter();
    all.map(|(id, need)| NotCheckedReport {
        id,
        needs: words::need::name(*need),
        missing: words::need::missing(*need),
    })
    .collect()
}

fn report(sources: &Sources<'_>, at: usize, finding: &Finding) -> FindingReport {
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
            .filter_map(|at| sources.flow_ids.of(*at))
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
        explained_by: sources.understanding.verdicts.explained_by.get(at).copied().flatten(),
    }
}

fn subject(sources: &Sources<'_>, subject: &Subject) -> SubjectReport {
    let job = sources.state.job.as_ref();
    SubjectReport {
        communicator: job.zip(subject.communicator).and_then(|(job, id)| job.name_of(id)),
        rank: subject.rank,
        flow: subject.flow.and_then(|at| sources.flow_ids.of(at)),
        port: subject.port.map(|port| port.to_string()),
        iteration: subject.iteration,
    }
}
