//! What every kind of finding declares: meaning, threshold, needed inputs, remedy.

use super::claim::Claim;
use super::facts::Facts;
use super::{Finding, Subject};
use crate::analysis::severity::Severity;
use crate::model::grade::Grade;

/// A kind of finding. `railscope findings` prints all of them.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Its name, by which it is suppressed.
    pub id: &'static str,
    /// What it means to a job.
    pub about: &'static str,
    /// When it is reported and how severe it is then, with the source of every threshold.
    pub threshold: &'static str,
    /// What one does about it, in commands and settings of the field.
    pub remedy: &'static str,
    /// What it can be found from: one of these.
    pub needs: &'static [Need],
    /// Looks for it.
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

/// An input that findings are made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Need {
    /// RoCEv2 frames.
    Roce,
    /// TCP frames of the control plane.
    ControlPlane,
    /// Flows linked to ranks.
    Ranks,
    /// Collectives.
    Collectives,
    /// NCCL's logs.
    Logs,
    /// Pause frames.
    Pause,
    /// NIC counters.
    Counters,
    /// What the user expects of the job.
    Expectations,
    /// Taps at parallel uplinks, or rails.
    ParallelPaths,
    /// What processes of this host do. Only the agent watches that: without it there is nothing that
    /// a user could add.
    Processes,
}

impl Need {
    /// Whether the input is there.
    #[must_use]
    pub fn is_met(self, facts: &Facts<'_>) -> bool {
        match self {
            Self::Roce => !facts.flows.is_empty(),
            Self::ControlPlane => facts.state.tracker.taps().iter().any(|tap| tap.tcp_frames > 0),
            Self::Ranks => facts.job().is_some_and(|job| !job.communicators.is_empty()),
            Self::Collectives => !facts.collectives.is_empty(),
            Self::Logs => !facts.state.logs.processes.is_empty(),
            Self::Pause => facts.state.tracker.pauses().iter().next().is_some(),
            Self::Counters => !facts.state.counters.is_empty(),
            Self::Expectations => !facts.settings.expect.is_empty(),
            Self::ParallelPaths => facts.has_parallel_paths(),
            Self::Processes => true,
        }
    }

    /// What is missing, and how to give it.
    #[must_use]
    pub const fn missing(self) -> &'static str {
        match self {
            Self::Roce => "no RoCEv2 frame was captured",
            Self::ControlPlane => "no TCP of the job's control plane was captured",
            Self::Ranks => "no communicator is known: capture its start, or give NCCL's logs",
            Self::Collectives => "no collective was found",
            Self::Logs => "no NCCL log was given: --nccl-log",
            Self::Pause => {
                "no pause frame was captured, and MAC control frames reach few captures: \
                 give NIC counters (--counters)"
            }
            Self::Counters => "no NIC counters were given: --counters",
            Self::Expectations => "nothing is expected of it: [expect] in --config",
            Self::ParallelPaths => "neither several rails nor taps at parallel uplinks are known",
            Self::Processes => "no process was watched: the agent does that",
        }
    }

    /// The input in the documentation.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Roce => "RoCEv2 frames",
            Self::ControlPlane => "TCP of the control plane",
            Self::Ranks => "linked ranks",
            Self::Collectives => "collectives",
            Self::Logs => "NCCL logs (--nccl-log)",
            Self::Pause => "pause frames",
            Self::Counters => "NIC counters (--counters)",
            Self::Expectations => "[expect] (--config)",
            Self::ParallelPaths => "rails or taps at uplinks",
            Self::Processes => "watched processes (`railscope agent`)",
        }
    }
}
