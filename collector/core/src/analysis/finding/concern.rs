//! Which findings concern a rank, a queue pair, a collective or a training step.

use std::collections::BTreeSet;
use std::net::IpAddr;

use super::Finding;
use super::catalog::straggler;
use crate::analysis::judged::{JudgedCollective, JudgedIteration};
use crate::analysis::queue_pair::{self, FlowOwner};
use crate::analysis::straggler::{Cause, Straggler};
use crate::analysis::understanding::Understanding;
use crate::flow::state::Flow;
use crate::link::job::{CommunicatorId, NetConnectionId, Ownership};
use crate::model::qpn::Qpn;
use crate::model::time::Span;

/// What findings may concern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// A rank.
    Rank {
        /// Its communicator.
        communicator: CommunicatorId,
        /// Its number.
        rank: u32,
    },
    /// A queue pair.
    QueuePair {
        /// The address of its host.
        address: IpAddr,
        /// Its number.
        qpn: Qpn,
    },
    /// A collective, by its place in the list of all.
    Collective(usize),
    /// A training step, likewise.
    TrainingStep(usize),
}

/// What a finding must be about.
#[derive(Debug, Default)]
struct Scope {
    /// Places of flows, at every tap.
    flows: BTreeSet<u32>,
    /// Addresses: findings about one of them that name no flow.
    ports: BTreeSet<IpAddr>,
    /// Communicators: findings about one of them that name neither flow nor port.
    communicators: BTreeSet<CommunicatorId>,
    ranks: Ranks,
    /// From when to when; `None` for the whole input.
    span: Option<Span>,
}

/// Which ranks of the communicators a finding may be about.
#[derive(Debug, Default)]
enum Ranks {
    /// None.
    #[default]
    None,
    /// This one.
    One(u32),
    /// Any; stragglers only if it is this one, for this cause.
    All { late: Option<(u32, Cause)> },
}

impl Understanding {
    /// Places of the findings that concern `topic`, the worst first.
    #[must_use]
    pub fn findings_about(&self, topic: &Topic) -> Vec<usize> {
        let scope = Scope::of(self, topic);
        let found = self.findings.found.iter().enumerate();
        found.filter(|(_, finding)| scope.holds(finding)).map(|(at, _)| at).collect()
    }
}

impl Scope {
    fn of(understanding: &Understanding, topic: &Topic) -> Self {
        match *topic {
            Topic::Rank { communicator, rank } => of_rank(understanding, communicator, rank),
            Topic::QueuePair { address, qpn } => of_queue_pair(understanding, address, qpn),
            Topic::Collective(at) => {
                let one = understanding.collectives.get(at);
                one.map(|one| of_collective(understanding, one)).unwrap_or_default()
            }
            Topic::TrainingStep(at) => {
                let one = understanding.iterations.get(at);
                one.map(|one| of_iteration(understanding, one)).unwrap_or_default()
            }
        }
    }

    fn holds(&self, finding: &Finding) -> bool {
        self.overlaps(finding) && self.is_about(finding)
    }

    fn overlaps(&self, finding: &Finding) -> bool {
        let spans = self.span.zip(finding.span);
        spans.is_none_or(|(own, found)| found.overlaps(own))
    }

    fn is_about(&self, finding: &Finding) -> bool {
        if !finding.flows.is_empty() {
            return finding.flows.iter().any(|flow| self.flows.contains(flow));
        }
        let subject = &finding.subject;
        let Some(communicator) = subject.communicator else {
            return subject.port.is_some_and(|port| self.ports.contains(&port));
        };
        self.communicators.contains(&communicator)
            && match (subject.rank, &self.ranks) {
                (_, Ranks::None) => false,
                (None, _) => true,
                (Some(rank), Ranks::One(one)) => rank == *one,
                (Some(rank), Ranks::All { late }) => {
                    let late = late.map(|(rank, cause)| (rank, Some(cause.name())));
                    finding.id != straggler::KIND.id || late == Some((rank, finding.cause))
                }
            }
    }
}

fn of_rank(understanding: &Understanding, id: CommunicatorId, number: u32) -> Scope {
    let Some(job) = &understanding.state.job else { return Scope::default() };
    let is_its = |_: &Flow, at: u32| {
        queue_pair::owner(job, at).is_some_and(
            |FlowOwner { communicator, sender, receiver, .. }| {
                communicator == id && [sender, receiver].contains(&Some(number))
            },
        )
    };
    let ranks = job.communicator(id).into_iter().flat_map(|one| &one.ranks);
    let nics = ranks.filter(|rank| rank.rank == number).flat_map(|rank| &rank.nics);
    Scope {
        flows: flows(understanding, is_its),
        ports: nics.map(|nic| nic.address).collect(),
        communicators: [id].into(),
        ranks: Ranks::One(number),
        span: None,
    }
}

fn of_queue_pair(understanding: &Understanding, address: IpAddr, qpn: Qpn) -> Scope {
    let is_its = |flow: &Flow, _: u32| {
        let is_incoming = flow.key.destination == address.into() && flow.key.dest_qpn == qpn;
        let is_outgoing = flow.key.source == address.into() && flow.source_qpn() == Some(qpn);
        is_incoming || is_outgoing
    };
    Scope { flows: flows(understanding, is_its), ports: [address].into(), ..Scope::default() }
}

fn of_collective(understanding: &Understanding, one: &JudgedCollective) -> Scope {
    of_collectives(understanding, &[one], one.straggler.as_ref(), one.collective.span)
}

fn of_iteration(understanding: &Understanding, one: &JudgedIteration) -> Scope {
    let places = one.iteration.collectives.iter();
    let all: Vec<_> = places.filter_map(|at| understanding.collectives.get(*at)).collect();
    let late = one.straggler.as_ref().map(|(late, _)| late);
    of_collectives(understanding, &all, late, one.iteration.span)
}

fn of_collectives(
    understanding: &Understanding,
    all: &[&JudgedCollective],
    late: Option<&Straggler>,
    span: Span,
) -> Scope {
    let Some(job) = &understanding.state.job else { return Scope::default() };
    let parts = all.iter().flat_map(|one| &one.collective.transfers);
    let connections: BTreeSet<NetConnectionId> = parts.map(|part| part.connection).collect();
    let is_its = |_: &Flow, at: u32| match job.owner(at) {
        Some(Ownership::Connection { connection, .. }) => connections.contains(&connection),
        _ => false,
    };
    Scope {
        flows: flows(understanding, is_its),
        ports: BTreeSet::new(),
        communicators: all.iter().map(|one| one.collective.communicator).collect(),
        ranks: Ranks::All { late: late.map(|one| (one.rank, one.cause)) },
        span: Some(span),
    }
}

/// Places of the flows that `is_its` holds for.
fn flows(understanding: &Understanding, is_its: impl Fn(&Flow, u32) -> bool) -> BTreeSet<u32> {
    let flows = (0..).zip(understanding.state.tracker.flows().flows());
    flows.filter(|(at, flow)| is_its(flow, *at)).map(|(at, _)| at).collect()
}
