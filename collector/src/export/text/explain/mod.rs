//! `explain`: one rank, queue pair, collective or training step in detail, or what hangs, with the
//! evidence.

mod collective;
mod collective_facts;
mod evidence;
mod findings;
pub mod hang;
mod iteration;
mod iteration_facts;
mod missing;
mod queue_pair;
mod queue_pair_facts;
mod rank;
mod rank_facts;
mod subject;

pub use self::missing::Missing;
pub use self::subject::{Place, Selection, Subject};

use std::io::{self, Write};

use serde::Serialize;

use super::TextOptions;
use railscope_core::report::Report;
use railscope_core::report::findings::FindingReport;

/// One subject, and the findings about it.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation<'a> {
    #[serde(flatten)]
    subject: Subject<'a>,
    /// The findings that concern it, the worst first.
    findings: Vec<&'a FindingReport>,
}

impl<'a> Explanation<'a> {
    /// `findings` are the places of those that concern the subject, the worst first.
    #[must_use]
    pub fn new(report: &'a Report, subject: Subject<'a>, findings: &[usize]) -> Self {
        let findings = findings.iter().filter_map(|at| report.findings.get(*at));
        Self { subject, findings: findings.collect() }
    }
}

/// Writes everything that is known about the subject.
///
/// # Errors
///
/// When writing fails.
pub fn write(
    explanation: &Explanation<'_>,
    options: &TextOptions,
    mut out: impl Write,
) -> io::Result<()> {
    let out = &mut out;
    match &explanation.subject {
        Subject::Rank(facts) => rank::write(facts, options, out)?,
        Subject::QueuePair(facts) => queue_pair::write(facts, options, out)?,
        Subject::Collective(facts) => collective::write(facts, options, out)?,
        Subject::TrainingStep(facts) => iteration::write(facts, options, out)?,
    }
    findings::write(&explanation.findings, &explanation.subject, options, out)?;
    match &explanation.subject {
        Subject::Rank(facts) => rank::write_reasons(facts, options, out)?,
        Subject::QueuePair(facts) => queue_pair::write_reasons(facts, options, out)?,
        Subject::Collective(facts) => collective::write_reasons(facts, options, out)?,
        Subject::TrainingStep(_) => {}
    }
    evidence::write_hint(options, out)
}
