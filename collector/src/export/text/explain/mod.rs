//! One thing at length: a rank, a queue pair, a collective or a training step, and why it is believed to be so.

mod collective;
mod collective_facts;
mod concern;
mod evidence;
mod findings;
mod iteration;
mod iteration_facts;
mod missing;
mod queue_pair;
mod queue_pair_facts;
mod rank;
mod rank_facts;
mod subject;

pub use self::missing::Missing;
pub use self::subject::{Selection, Subject};

use std::io::{self, Write};

use serde::Serialize;

use super::TextOptions;
use railscope_core::report::Report;
use railscope_core::report::findings::FindingReport;

/// One thing, and what is wrong with it.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation<'a> {
    #[serde(flatten)]
    subject: Subject<'a>,
    /// The findings that concern it, the worst first.
    findings: Vec<&'a FindingReport>,
}

impl<'a> Explanation<'a> {
    /// Looks for what `selection` names.
    ///
    /// # Errors
    ///
    /// When the report has nothing of that name, or several; says what it has.
    pub fn find(report: &'a Report, selection: &Selection) -> Result<Self, Missing> {
        let subject = Subject::find(report, selection)?;
        Ok(Self { findings: concern::findings(report, &subject), subject })
    }
}

/// Writes everything that is known.
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
    findings::write(&explanation.findings, options, out)?;
    match &explanation.subject {
        Subject::Rank(facts) => rank::write_reasons(facts, options, out)?,
        Subject::QueuePair(facts) => queue_pair::write_reasons(facts, out)?,
        Subject::Collective(facts) => collective::write_reasons(facts, out)?,
        Subject::TrainingStep(facts) => iteration::write_reasons(facts, out)?,
    }
    evidence::write_hint(out)
}
