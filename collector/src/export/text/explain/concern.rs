//! Which findings concern a subject.

use std::collections::BTreeSet;

use super::collective_facts::CollectiveFacts;
use super::iteration_facts::IterationFacts;
use super::queue_pair_facts::QueuePairFacts;
use super::rank_facts::RankFacts;
use super::subject::Subject;
use railscope_core::report::Report;
use railscope_core::report::collectives::CollectiveReport;
use railscope_core::report::findings::FindingReport;
use railscope_core::report::flows::FlowReport;
use railscope_core::report::owner::OwnerReport;
use railscope_core::report::stragglers::StragglerReport;

/// What a finding must be about.
#[derive(Debug, Default)]
struct Scope<'a> {
    /// `id`s of flows, at every tap.
    flows: BTreeSet<u32>,
    /// Addresses: findings about one of them that name no flow.
    ports: BTreeSet<&'a str>,
    /// `id`s of communicators: findings about one of them that name neither flow nor port.
    communicators: BTreeSet<&'a str>,
    ranks: Ranks<'a>,
    /// From when to when; `None` for the whole input.
    span: Option<(i64, i64)>,
}

/// Which ranks of the communicators a finding may be about.
#[derive(Debug, Default)]
enum Ranks<'a> {
    #[default]
    None,
    /// This one.
    One(u32),
    /// Any; stragglers only if they are these, with this cause.
    All { late: BTreeSet<(u32, &'a str)> },
}

/// The findings that concern `subject`, the worst first.
pub(super) fn findings<'a>(report: &'a Report, subject: &Subject<'_>) -> Vec<&'a FindingReport> {
    let scope = match subject {
        Subject::Rank(facts) => of_rank(report, facts),
        Subject::QueuePair(facts) => of_queue_pair(facts),
        Subject::Collective(facts) => of_collective(report, facts),
        Subject::TrainingStep(facts) => of_iteration(report, facts),
    };
    report.findings.iter().filter(|finding| scope.holds(finding)).collect()
}

fn of_rank<'a>(report: &Report, facts: &RankFacts<'a>) -> Scope<'a> {
    let number = Some(facts.rank.rank);
    let is_its = |owner: &OwnerReport| {
        let is_end = owner.rank == number || owner.peer_rank == number;
        is_end && owner.communicator.as_deref() == Some(facts.communicator)
    };
    Scope {
        flows: flows(report, is_its),
        ports: facts.rank.nics.iter().map(|nic| nic.address.as_str()).collect(),
        communicators: [facts.communicator].into(),
        ranks: Ranks::One(facts.rank.rank),
        span: None,
    }
}

fn of_queue_pair<'a>(facts: &'a QueuePairFacts<'_>) -> Scope<'a> {
    Scope {
        flows: facts.flows.iter().map(|one| one.flow.id).collect(),
        ports: [facts.address.as_str()].into(),
        ..Scope::default()
    }
}

fn of_collective<'a>(report: &Report, facts: &CollectiveFacts<'a>) -> Scope<'a> {
    let one = facts.collective;
    of_collectives(report, &[one], one.straggler.iter(), (one.start_ns, one.end_ns))
}

fn of_iteration<'a>(report: &Report, facts: &IterationFacts<'a>) -> Scope<'a> {
    let one = facts.iteration;
    of_collectives(report, &facts.collectives, one.straggler.iter(), (one.start_ns, one.end_ns))
}

fn of_collectives<'a>(
    report: &Report,
    all: &[&'a CollectiveReport],
    late: impl Iterator<Item = &'a StragglerReport>,
    span: (i64, i64),
) -> Scope<'a> {
    let connections: BTreeSet<u32> =
        all.iter().flat_map(|one| &one.connections).map(|part| part.connection).collect();
    let is_its = |owner: &OwnerReport| {
        owner.connection.is_some_and(|connection| connections.contains(&connection))
    };
    Scope {
        flows: flows(report, is_its),
        ports: BTreeSet::new(),
        communicators: all.iter().map(|one| one.communicator.as_str()).collect(),
        ranks: Ranks::All { late: late.map(|one| (one.rank, one.cause.name())).collect() },
        span: Some(span),
    }
}

fn flows(report: &Report, is_its: impl Fn(&OwnerReport) -> bool) -> BTreeSet<u32> {
    let has_owner = |flow: &&FlowReport| flow.owner.as_ref().is_some_and(&is_its);
    report.flows.iter().filter(has_owner).map(|flow| flow.id).collect()
}

impl Scope<'_> {
    fn holds(&self, finding: &FindingReport) -> bool {
        self.overlaps(finding) && self.is_about(finding)
    }

    fn overlaps(&self, finding: &FindingReport) -> bool {
        match (self.span, finding.first_ns.zip(finding.last_ns)) {
            (Some((start, end)), Some((first, last))) => first <= end && start <= last,
            _ => true,
        }
    }

    fn is_about(&self, finding: &FindingReport) -> bool {
        if !finding.flows.is_empty() {
            return finding.flows.iter().any(|flow| self.flows.contains(flow));
        }
        let subject = &finding.subject;
        let Some(communicator) = subject.communicator.as_deref() else {
            return subject.port.as_deref().is_some_and(|port| self.ports.contains(port));
        };
        self.communicators.contains(communicator)
            && match (subject.rank, &self.ranks) {
                (_, Ranks::None) => false,
                (None, _) => true,
                (Some(rank), Ranks::One(one)) => rank == *one,
                (Some(rank), Ranks::All { late }) => {
                    finding.id != "straggler" || late.contains(&(rank, finding.cause.unwrap_or("")))
                }
            }
    }
}
