//! A kind of finding: meaning, threshold, remedy, and the inputs it needs.

use super::claim::Claim;
use super::facts::Facts;
use super::{Finding, Subject};
use crate::analysis::severity::Severity;
use crate::model::grade::Grade;

/// A kind of finding. `railscope findings` prints all of them.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Its name, as in `suppress`.
    pub id: &'static str,
    /// What it means for a job.
    pub about: &'static str,
    /// When it is reported and with which severity, with the source of every threshold.
    pub threshold: &'static str,
    /// What to do about it: commands and settings.
    pub remedy: &'static str,
    /// Inputs; one of these is enough.
    pub needs: &'static [Need],
    /// Finds all instances in a report's facts.
    pub detect: fn(&Facts<'_>) -> Vec<Finding>,
}

impl Kind {
    /// A finding of this kind about nothing in particular, inferred, without evidence yet.
    #[must_use]
    pub fn finding(&self, severity: Severity, claim: impl Into<Claim>) -> Finding {
        Finding {
            id: self.id,
            severity,
            claim: claim.into(),
            cause: None,
            subject: Subject::default(),
            flows: Vec::new(),
            span: None,
            grade: Grade::Inferred,
            evidence: Vec::new(),
            remedy: self.remedy,
        }
    }
}

/// An input of findings. `report::words::need` words it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Need {
    /// RoCEv2 frames.
    Roce,
    /// TCP frames of the control plane.
    ControlPlane,
    /// Flows linked to ranks.
    Ranks,
    /// Collectives read from messages.
    Collectives,
    /// NCCL's logs.
    Logs,
    /// Pause frames.
    Pause,
    /// NIC counters.
    Counters,
    /// What the user expects of the job (`[expect]`).
    Expectations,
    /// Taps at parallel uplinks, or rails.
    ParallelPaths,
    /// What processes recorded of their own calls.
    CallRecords,
    /// Outputs of other tools about a node.
    NodeOutputs,
    /// Tables of benchmarks.
    Benchmarks,
    /// Processes of this host. Only the agent watches them, so users of captures cannot add this
    /// input.
    Processes,
}

impl Need {
    /// Whether the input is available.
    #[must_use]
    pub fn is_met(self, facts: &Facts<'_>) -> bool {
        match self {
            Self::Roce => !facts.flows.is_empty(),
            Self::ControlPlane => facts.state.tracker.taps().iter().any(|tap| tap.tcp_frames > 0),
            Self::Ranks => facts.job().is_some_and(|job| !job.communicators.is_empty()),
            Self::Collectives => !facts.collectives.is_empty(),
            Self::Logs => facts.state.logs.has_facts(),
            Self::Pause => facts.state.tracker.pauses().iter().next().is_some(),
            Self::Counters => !facts.state.counters.is_empty(),
            Self::Expectations => !facts.settings.expect.is_empty(),
            Self::ParallelPaths => facts.has_parallel_paths(),
            Self::CallRecords => !facts.state.roll_call.is_empty(),
            // What nobody pasted is not missed.
            Self::NodeOutputs | Self::Benchmarks | Self::Processes => true,
        }
    }
}
