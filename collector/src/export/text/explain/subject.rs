//! The subjects of `explain`, and how they are looked up.

use std::net::IpAddr;

use serde::Serialize;

use super::collective_facts::CollectiveFacts;
use super::iteration_facts::IterationFacts;
use super::missing::Missing;
use super::queue_pair_facts::QueuePairFacts;
use super::rank_facts::RankFacts;
use crate::export::text::communicator_names::CommunicatorNames;
use crate::export::text::rank_list::ranges;
use railscope_core::report::Report;
use railscope_core::report::communicators::CommunicatorReport;
use railscope_core::report::iterations::IterationReport;

/// A subject, as users name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// A rank of a communicator.
    Rank {
        /// Its number.
        rank: u32,
        /// The start of its communicator's id; may be `None` if only one communicator has the rank.
        communicator: Option<String>,
    },
    /// By address and QPN: `--qp`.
    QueuePair {
        /// The address of its own host: the destination of flows to it.
        address: IpAddr,
        /// Its number.
        qpn: u32,
    },
    /// By `id` in the report: `--collective`.
    Collective(u32),
    /// By label or number: `--step`.
    TrainingStep {
        /// Its label or number.
        name: String,
        /// The start of its communicator's id; may be `None` if only one job has the name.
        communicator: Option<String>,
    },
}

/// A subject with everything that the report has about it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject<'a> {
    /// Answers `--rank`.
    Rank(Box<RankFacts<'a>>),
    /// Answers `--qp`.
    QueuePair(QueuePairFacts<'a>),
    /// Answers `--collective`.
    Collective(CollectiveFacts<'a>),
    /// Answers `--step`.
    TrainingStep(IterationFacts<'a>),
}

/// A subject, by its place in a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A rank.
    Rank {
        /// Place of its communicator.
        communicator: usize,
        /// Its number.
        rank: u32,
    },
    /// A queue pair.
    QueuePair {
        /// The address of its host.
        address: IpAddr,
        /// Its number.
        qpn: u32,
    },
    /// A collective.
    Collective(usize),
    /// A training step.
    TrainingStep(usize),
}

impl<'a> Subject<'a> {
    /// Where `report`, which it was found in, has it.
    #[must_use]
    pub fn place(&self, report: &Report) -> Option<Place> {
        Some(match self {
            Self::Rank(facts) => {
                let mut communicators = report.communicators.iter();
                let communicator = communicators.position(|one| one.id == facts.communicator)?;
                Place::Rank { communicator, rank: facts.rank.rank }
            }
            Self::QueuePair(facts) => Place::QueuePair { address: facts.address, qpn: facts.qpn },
            Self::Collective(facts) => Place::Collective(facts.collective.id as usize),
            Self::TrainingStep(facts) => {
                let is_it = |one: &IterationReport| std::ptr::eq(one, facts.iteration);
                Place::TrainingStep(report.iterations.iter().position(is_it)?)
            }
        })
    }

    /// Finds what `selection` names.
    ///
    /// # Errors
    ///
    /// If the report has no such thing, or several; the message lists what it has.
    pub fn find(report: &'a Report, selection: &Selection) -> Result<Self, Missing> {
        match selection {
            Selection::Rank { rank, communicator } => {
                let communicator = communicator_of(report, *rank, communicator.as_deref())?;
                RankFacts::find(report, communicator, *rank).map(Box::new).map(Self::Rank)
            }
            Selection::QueuePair { address, qpn } => {
                QueuePairFacts::find(report, *address, *qpn).map(Self::QueuePair)
            }
            Selection::Collective(id) => CollectiveFacts::find(report, *id).map(Self::Collective),
            Selection::TrainingStep { name, communicator } => {
                IterationFacts::find(report, name, communicator.as_deref()).map(Self::TrainingStep)
            }
        }
    }
}

/// The communicator whose id begins with `start`, or the only one with the rank.
fn communicator_of<'a>(
    report: &'a Report,
    rank: u32,
    start: Option<&str>,
) -> Result<&'a CommunicatorReport, Missing> {
    let all = &report.communicators;
    let names = CommunicatorNames::new(all);
    let ids = |among: &[&CommunicatorReport]| {
        among.iter().map(|one| names.short(&one.id)).collect::<Vec<_>>().join(", ")
    };
    let everyone: Vec<&CommunicatorReport> = all.iter().collect();
    if everyone.is_empty() {
        return Err(Missing("no NCCL communicator in this input, so no ranks".to_owned()));
    }
    let candidates: Vec<&CommunicatorReport> = match start {
        Some(start) => all.iter().filter(|one| one.id.starts_with(start)).collect(),
        None => all.iter().filter(|one| one.ranks.iter().any(|known| known.rank == rank)).collect(),
    };
    match (candidates.as_slice(), start) {
        ([one], _) => Ok(one),
        ([], Some(start)) => {
            Err(Missing(format!("no communicator {start}; this input has {}", ids(&everyone))))
        }
        ([], None) => {
            let ranks = |one: &&CommunicatorReport| {
                let ranks: Vec<u32> = one.ranks.iter().map(|rank| rank.rank).collect();
                format!("{} has ranks {}", names.short(&one.id), ranges(&ranks))
            };
            let known = everyone.iter().map(ranks).collect::<Vec<_>>().join(", ");
            Err(Missing(format!("no communicator has rank {rank}: {known}")))
        }
        (several, _) => Err(Missing(format!(
            "several communicators have rank {rank}: add --communicator with one of {}",
            ids(several)
        ))),
    }
}
