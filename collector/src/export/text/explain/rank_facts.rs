//! Everything that the report has about a rank.

use serde::Serialize;

use super::missing::Missing;
use crate::export::text::rank_list::ranges;
use railscope_core::report::Report;
use railscope_core::report::collectives::{CollectiveRankReport, CollectiveReport};
use railscope_core::report::communicators::{CommunicatorReport, ConnectionReport, RankReport};
use railscope_core::report::flows::FlowReport;

/// A rank, its connections, and when it took part in collectives.
#[derive(Clone, Debug, Serialize)]
pub struct RankFacts<'a> {
    /// `id` of its communicator.
    pub(super) communicator: &'a str,
    /// Ranks of the communicator.
    pub(super) nranks: Option<u32>,
    /// NCCL release.
    pub(super) nccl_version: Option<&'a str>,
    /// The rank itself.
    pub(super) rank: &'a RankReport,
    /// Connections on which it sends.
    pub(super) sends: Vec<ConnectionFlows<'a>>,
    /// Connections on which it receives.
    pub(super) receives: Vec<ConnectionFlows<'a>>,
    /// Collectives that it took part in, in order of time.
    pub(super) collectives: Vec<Participation<'a>>,
}

/// A connection with the flows that carry its data, at every tap.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ConnectionFlows<'a> {
    pub(super) connection: &'a ConnectionReport,
    pub(super) flows: Vec<&'a FlowReport>,
}

/// A rank's part in a collective.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Participation<'a> {
    pub(super) collective: u32,
    pub(super) start_ns: i64,
    pub(super) part: &'a CollectiveRankReport,
}

impl<'a> RankFacts<'a> {
    /// Finds rank `number` of `communicator`.
    pub(super) fn find(
        report: &'a Report,
        communicator: &'a CommunicatorReport,
        number: u32,
    ) -> Result<Self, Missing> {
        let known = || communicator.ranks.iter();
        let rank = known().find(|rank| rank.rank == number).ok_or_else(|| {
            let numbers: Vec<u32> = known().map(|rank| rank.rank).collect();
            let id = &communicator.id;
            Missing(format!("no rank {number}: communicator {id} has ranks {}", ranges(&numbers)))
        })?;
        let connections = |is_end: fn(&ConnectionReport) -> Option<u32>| {
            let all = communicator.connections.iter();
            let its = all.filter(move |connection| is_end(connection) == Some(number));
            its.map(|connection| ConnectionFlows::new(report, connection)).collect()
        };
        Ok(Self {
            communicator: &communicator.id,
            nranks: communicator.nranks,
            nccl_version: communicator.nccl_version.as_deref(),
            rank,
            sends: connections(|connection| connection.sender),
            receives: connections(|connection| connection.receiver),
            collectives: participations(report, communicator, number),
        })
    }
}

impl<'a> ConnectionFlows<'a> {
    fn new(report: &'a Report, connection: &'a ConnectionReport) -> Self {
        let is_its = |flow: &&FlowReport| {
            let owner = flow.owner.as_ref();
            owner.is_some_and(|owner| {
                owner.connection == Some(connection.id) && owner.role == Some("data")
            })
        };
        Self { connection, flows: report.flows.iter().filter(is_its).collect() }
    }
}

fn participations<'a>(
    report: &'a Report,
    communicator: &CommunicatorReport,
    number: u32,
) -> Vec<Participation<'a>> {
    let part = |one: &'a CollectiveReport| {
        let part = one.ranks.iter().find(|part| part.rank == number)?;
        Some(Participation { collective: one.id, start_ns: one.start_ns, part })
    };
    report
        .collectives
        .iter()
        .filter(|one| one.communicator == communicator.id)
        .filter_map(part)
        .collect()
}
