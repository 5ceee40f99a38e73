//! Findings: what is wrong, on what evidence, and what one does about it. None reads packets.
//!
//! `catalog` has one finding a file, each a [`Kind`]: what it means, when it is told and
//! why then, what it needs, what one does, and how it is detected among the [`Facts`].

pub mod catalog;
pub mod facts;
pub mod group;
pub mod joined_flow;
pub mod kind;
pub mod naming;
pub mod settings;
pub mod uplink;

use std::cmp::Reverse;
use std::net::IpAddr;

use self::facts::Facts;
use self::kind::{Kind, Need};
use crate::link::job::CommunicatorId;
use crate::model::grade::Grade;
use crate::model::time::Span;
use crate::model::witness::Witness;

/// Findings of one kind that are told; the rest would push others off the screen.
const TOLD_OF_A_KIND: usize = 16;

/// What was looked for, and found.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// What was found, the worst first.
    pub found: Vec<Finding>,
    /// What could not be looked for: name of the finding, and the input that is missing.
    pub not_checked: Vec<(&'static str, Need)>,
    /// Findings that were left out, because of their kind there were too many.
    pub dropped: u64,
}

/// Looks for every kind of finding that the settings do not suppress.
#[must_use]
pub fn find(facts: &Facts<'_>) -> Findings {
    let mut all = Findings::default();
    let is_wanted = |kind: &&&Kind| !facts.settings.suppresses(kind.id);
    for kind in catalog::ALL.iter().filter(is_wanted) {
        if kind.needs.iter().any(|need| need.is_met(facts)) {
            let mut found = (kind.detect)(facts);
            found.sort_by_key(|finding| Reverse(finding.severity));
            all.dropped += found.len().saturating_sub(TOLD_OF_A_KIND) as u64;
            found.truncate(TOLD_OF_A_KIND);
            all.found.append(&mut found);
        } else if let Some(need) = kind.needs.first() {
            all.not_checked.push((kind.id, *need));
        }
    }
    // Of the same severity, in the order of the catalog: what stops the job comes before what slows
    // it.
    all.found.sort_by_key(|finding| Reverse(finding.severity));
    all
}

/// Something worth telling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Its name, by which it is suppressed: `socket_fallback`.
    pub id: &'static str,
    /// How bad.
    pub severity: Severity,
    /// One line that names the subject and the numbers.
    pub title: String,
    /// Why it came to be, as one word, where the finding tells several causes apart.
    pub cause: Option<&'static str>,
    /// What it is about.
    pub subject: Subject,
    /// Flows that it is about, by place in the flow table, the worst first.
    pub flows: Vec<u32>,
    /// When it was seen; `None` where its evidence has no time.
    pub span: Option<Span>,
    /// How sure.
    pub grade: Grade,
    /// Reasons, the strongest first.
    pub evidence: Vec<Proof>,
    /// What one does about it.
    pub remedy: &'static str,
}

/// How bad, the mildest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Good to know.
    Info,
    /// Costs speed, or will.
    Warning,
    /// The job stands still or runs on the wrong path.
    Critical,
}

/// What a finding is about; what does not apply is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// A communicator.
    pub communicator: Option<CommunicatorId>,
    /// A rank of it.
    pub rank: Option<u32>,
    /// A flow, by its place in the flow table.
    pub flow: Option<u32>,
    /// A port.
    pub port: Option<IpAddr>,
    /// A training step, by number.
    pub iteration: Option<u32>,
}

/// A reason for a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// What kind of source it comes from.
    pub source: ProofSource,
    /// What it says, in words with numbers.
    pub text: String,
    /// The frame or line that shows it best.
    pub witness: Option<Witness>,
}

/// Where a reason comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProofSource {
    /// Frames of a capture.
    Frame,
    /// Lines of a log.
    Log,
    /// Counters of a NIC.
    Counter,
    /// Calls of NCCL.
    Call,
}

impl Finding {
    /// A finding of `kind` about nothing in particular, inferred, without evidence yet.
    #[must_use]
    pub fn new(kind: &Kind, severity: Severity, title: String) -> Self {
        Self {
            id: kind.id,
            severity,
            title,
            cause: None,
            subject: Subject::default(),
            flows: Vec::new(),
            span: None,
            grade: Grade::Inferred,
            evidence: Vec::new(),
            remedy: kind.remedy,
        }
    }

    /// The same for this cause.
    #[must_use]
    pub fn caused_by(self, cause: &'static str) -> Self {
        Self { cause: Some(cause), ..self }
    }

    /// The same about `subject`.
    #[must_use]
    pub fn about(self, subject: Subject) -> Self {
        Self { subject, ..self }
    }

    /// The same, seen in `span`.
    #[must_use]
    pub fn over(self, span: Option<Span>) -> Self {
        Self { span, ..self }
    }

    /// The same, proven.
    #[must_use]
    pub fn proven(self) -> Self {
        Self { grade: Grade::Proven, ..self }
    }

    /// The same with one more reason.
    #[must_use]
    pub fn because(mut self, proof: Proof) -> Self {
        self.evidence.push(proof);
        self
    }
}

impl Proof {
    /// What frames show.
    #[must_use]
    pub fn frame(text: String, witness: Option<Witness>) -> Self {
        Self { source: ProofSource::Frame, text, witness }
    }

    /// What a log says.
    #[must_use]
    pub fn log(text: String, witness: Witness) -> Self {
        Self { source: ProofSource::Log, text, witness: Some(witness) }
    }

    /// What counters of a NIC say.
    #[must_use]
    pub fn counter(text: String, witness: Option<Witness>) -> Self {
        Self { source: ProofSource::Counter, text, witness }
    }

    /// What processes called.
    #[must_use]
    pub fn call(text: String) -> Self {
        Self { source: ProofSource::Call, text, witness: None }
    }
}

impl Severity {
    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Critical => "critical",
        }
    }
}

impl ProofSource {
    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Frame => "frame",
            Self::Log => "log",
            Self::Counter => "counter",
            Self::Call => "call",
        }
    }
}
