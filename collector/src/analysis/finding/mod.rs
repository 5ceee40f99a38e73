//! Findings: what is wrong, on what evidence, and what one does about it. One finding a file; none
//! reads packets.

use std::net::IpAddr;

use crate::link::job::CommunicatorId;
use crate::model::grade::Grade;
use crate::model::time::Span;
use crate::model::witness::Witness;

/// Something worth telling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Its name, by which it is suppressed: `socket_fallback`.
    pub id: &'static str,
    /// How bad.
    pub severity: Severity,
    /// One line that names the subject and the numbers.
    pub title: String,
    /// What it is about.
    pub subject: Subject,
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
