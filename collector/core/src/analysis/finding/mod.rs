//! Findings: problems with evidence and remedy. None reads packets.
//!
//! `log_cause` has the causes that a line of a log names. `catalog` has one finding a file, each a [`Kind`](kind::Kind): its meaning, its threshold
//! and the reason for that, its inputs, the remedy, and how it is detected among the
//! [`Facts`](facts::Facts).

pub mod catalog;
pub mod claim;
pub mod concern;
pub mod facts;
pub mod group;
pub mod kind;
pub mod log_cause;
pub mod naming;
pub mod observation;
pub mod search;
pub mod settings;
mod subject;
pub mod uplink;

pub use subject::Subject;

use self::claim::Claim;
use self::observation::{
    CallObservation, CounterObservation, FlowObservation, FrameObservation, LogObservation,
    Observation, RecordObservation,
};
use super::queue_pair::QueuePair;
use super::severity::Severity;
use super::straggler::sign::Sign;
use crate::model::grade::Grade;
use crate::model::time::Span;
use crate::model::witness::Witness;

/// Something wrong with the job or its network, with evidence and remedy.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Its name, by which it is suppressed: `socket_fallback`.
    pub id: &'static str,
    /// How bad it is, by the thresholds of its kind.
    pub severity: Severity,
    /// Its statement, with figures.
    pub claim: Claim,
    /// The cause as one word, if the finding distinguishes several.
    pub cause: Option<&'static str>,
    /// What it is about.
    pub subject: Subject,
    /// Flows that it is about, by place in the flow table, the worst first.
    pub flows: Vec<u32>,
    /// When it was seen; `None` if its evidence has no time.
    pub span: Option<Span>,
    /// Its confidence.
    pub grade: Grade,
    /// Evidence, the strongest first.
    pub evidence: Vec<Proof>,
    /// What to do about it, for its kind or cause.
    pub remedy: &'static str,
}

/// Evidence for a finding.
#[derive(Clone, Debug, PartialEq)]
pub struct Proof {
    /// What it shows, with its figures.
    pub observation: Observation,
    /// The frame or line that shows it best.
    pub witness: Option<Witness>,
}

/// The source of evidence.
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
    /// What processes recorded of their own calls.
    Record,
}

impl Finding {
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

    /// The same with more evidence.
    #[must_use]
    pub fn because(mut self, proof: Proof) -> Self {
        self.evidence.push(proof);
        self
    }
}

impl Proof {
    /// What frames of `flow` show.
    #[must_use]
    pub fn flow(flow: &QueuePair, observation: FlowObservation, witness: Option<Witness>) -> Self {
        let observation = Observation::Flow(naming::flow(flow), observation);
        Self { observation, witness }
    }

    /// What frames show.
    #[must_use]
    pub fn frames(observation: FrameObservation, witness: Option<Witness>) -> Self {
        Self { observation: Observation::Frames(observation), witness }
    }

    /// What a log says.
    #[must_use]
    pub fn log(observation: LogObservation, witness: Witness) -> Self {
        Self { observation: Observation::Log(observation), witness: Some(witness) }
    }

    /// What counters of a NIC say.
    #[must_use]
    pub fn counter(observation: CounterObservation, witness: Option<Witness>) -> Self {
        Self { observation: Observation::Counter(observation), witness }
    }

    /// What processes called.
    #[must_use]
    pub fn calls(observation: CallObservation) -> Self {
        Self { observation: Observation::Calls(observation), witness: None }
    }

    /// What a process recorded of its own calls.
    #[must_use]
    pub fn recorded(observation: RecordObservation) -> Self {
        Self { observation: Observation::Recorded(observation), witness: None }
    }

    /// Evidence from the search for stragglers.
    #[must_use]
    pub fn straggler(sign: &Sign) -> Self {
        Self { observation: Observation::Straggler(sign.kind), witness: sign.witness }
    }

    /// Where it comes from.
    #[must_use]
    pub const fn source(&self) -> ProofSource {
        match (&self.observation, self.witness) {
            (Observation::Log(_), _) => ProofSource::Log,
            (Observation::Counter(_), _) => ProofSource::Counter,
            (Observation::Calls(_), _) => ProofSource::Call,
            (Observation::Recorded(_), _) => ProofSource::Record,
            (Observation::Straggler(_), Some(Witness::Line { .. })) => ProofSource::Log,
            (Observation::Straggler(_), Some(Witness::Sample { .. })) => ProofSource::Counter,
            (Observation::Flow(..) | Observation::Frames(_) | Observation::Straggler(_), _) => {
                ProofSource::Frame
            }
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
            Self::Record => "record",
        }
    }
}
