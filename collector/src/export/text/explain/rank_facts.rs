//! Everything that the report has about a rank.

use std::cmp::Reverse;

use serde::Serialize;

use super::missing::Missing;
use crate::export::text::rank_list::ranges;
use railscope_core::model::spread::lower_median;
use railscope_core::report::Report;
use railscope_core::report::collectives::CollectiveReport;
use railscope_core::report::communicators::{CommunicatorReport, ConnectionReport, RankReport};
use railscope_core::report::flows::FlowReport;
use railscope_core::report::queue_pairs::QueuePairReport;
use railscope_core::report::waits::CollectiveRankReport;

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
    /// When it did what in them.
    pub(super) timings: [Timing; 3],
}

/// A connection with its data: the queue pairs that carry it, and their flows at every tap.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ConnectionFlows<'a> {
    pub(super) connection: &'a ConnectionReport,
    pub(super) queue_pairs: Vec<&'a QueuePairReport>,
    pub(super) flows: Vec<&'a FlowReport>,
}

/// A rank's part in a collective.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Participation<'a> {
    pub(super) collective: u32,
    pub(super) start_ns: i64,
    pub(super) part: &'a CollectiveRankReport,
}

/// When a rank did something, relative to the first data packet of each collective.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Timing {
    /// `first_cts`, `first_send` or `last_receive`.
    pub(super) what: &'static str,
    /// Collectives in which the time is known.
    pub(super) collectives: usize,
    pub(super) earliest_ns: Option<i64>,
    /// The lower one of two in the middle.
    pub(super) median_ns: Option<i64>,
    pub(super) latest_ns: Option<i64>,
    /// `id` of the collective in which it was latest; the first of several.
    pub(super) latest_in: Option<u32>,
}

impl Timing {
    fn new(
        what: &'static str,
        all: &[Participation<'_>],
        time: fn(&CollectiveRankReport) -> Option<i64>,
    ) -> Self {
        let after = all
            .iter()
            .filter_map(|one| Some((time(one.part)?.saturating_sub(one.start_ns), one.collective)));
        let times = || after.clone().map(|(after_ns, _)| after_ns);
        let latest = after.clone().max_by_key(|(after_ns, id)| (*after_ns, Reverse(*id)));
        Self {
            what,
            collectives: times().count(),
            earliest_ns: times().min(),
            median_ns: lower_median(times()),
            latest_ns: latest.map(|(after_ns, _)| after_ns),
            latest_in: latest.map(|(_, id)| id),
        }
    }
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
        let collectives = participations(report, communicator, number);
        Ok(Self {
            communicator: &communicator.id,
            nranks: communicator.nranks,
            nccl_version: communicator.nccl_version.as_deref(),
            rank,
            sends: connections(|connection| connection.sender),
            receives: connections(|connection| connection.receiver),
            timings: [
                Timing::new("first_cts", &collectives, |part| part.first_cts_ns),
                Timing::new("first_send", &collectives, |part| part.first_send_ns),
                Timing::new("last_receive", &collectives, |part| part.last_receive_ns),
            ],
            collectives,
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
        let carries = |pair: &&QueuePairReport| {
            pair.connection == Some(connection.id) && pair.role == Some("data")
        };
        Self {
            connection,
            queue_pairs: report.queue_pairs.iter().filter(carries).collect(),
            flows: report.flows.iter().filter(is_its).collect(),
        }
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
