//! Findings: what is wrong, the evidence, and the remedy. None reads packets.
//!
//! `catalog` has one finding a file, each a [`Kind`]: what it means, when it is reported and why
//! then, what it needs, the remedy, and how it is detected among the [`Facts`].

pub mod catalog;
pub mod claim;
pub mod facts;
pub mod group;
pub mod kind;
pub mod naming;
pub mod observation;
pub mod settings;
pub mod uplink;

use std::cmp::Reverse;
use std::net::IpAddr;

use self::claim::Claim;
use self::facts::Facts;
use self::kind::{Kind, Need};
use self::observation::{
    CallObservation, CounterObservation, FlowObservation, FrameObservation, LogObservation,
    Observation,
};
use super::queue_pair::QueuePair;
use super::severity::Severity;
use super::straggler::sign::Sign;
use crate::link::job::CommunicatorId;
use crate::model::grade::Grade;
use crate::model::time::Span;
use crate::model::witness::Witness;

/// Findings of one kind that are reported; more would push others off the screen.
const TOLD_OF_A_KIND: usize = 16;

/// The findings, and what could not be checked.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// What was found, the worst first.
    pub found: Vec<Finding>,
    /// What could not be checked: name of the finding, and the missing input.
    pub not_checked: Vec<(&'static str, Need)>,
    /// Findings left out because there were too many of their kind.
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

/// One finding.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Its name, by which it is suppressed: `socket_fallback`.
    pub id: &'static str,
    /// How bad.
    pub severity: Severity,
    /// What it says, with its figures.
    pub claim: Claim,
    /// The cause as one word, if the finding distinguishes several.
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
    /// The remedy.
    pub remedy: &'static str,
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
#[derive(Clone, Debug, PartialEq)]
pub struct Proof {
    /// What it shows, with its figures.
    pub observation: Observation,
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
    pub fn new(kind: &Kind, severity: Severity, claim: impl Into<Claim>) -> Self {
        Self {
            id: kind.id,
            severity,
            claim: claim.into(),
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

    /// A sign of a straggler.
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
        }
    }
}
