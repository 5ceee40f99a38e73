//! Collectives: what was called, how it was carried out, how long it took.

use schemars::JsonSchema;
use serde::Serialize;

use super::evidence::EvidenceReport;
use super::stragglers::StragglerReport;
use super::{Sources, communicators};
use crate::analysis::collective::{Collective, ConnectionTransfers};
use crate::link::job::Job;
use crate::model::nccl::CollectiveKind;
use crate::model::time::Timestamp;

/// A collective.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CollectiveReport {
    /// Number that other sections name it by, in order of time.
    pub id: u32,
    /// `id` of its communicator.
    pub communicator: String,
    /// Number on its communicator.
    pub sequence: u64,
    /// Where numbers start: `init`, or `capture` where earlier collectives were not seen.
    pub sequence_origin: &'static str,
    /// `all_reduce`, `all_gather`, `reduce_scatter`, `broadcast`, `reduce`, `all_to_all`,
    /// `send_recv` or `unknown`.
    pub kind: &'static str,
    /// What it could be as well: its traffic does not tell.
    pub alternatives: Vec<&'static str>,
    /// `ring`, `tree` or `unknown`.
    pub algorithm: &'static str,
    /// `simple`, `ll`, `ll128` or `unknown`.
    pub protocol: &'static str,
    /// Bytes as nccl-tests counts them; `null` where messages are missing.
    pub bytes: Option<u64>,
    /// The bytes are rounded by the protocol, or part of them was not seen.
    pub estimated: bool,
    /// Channels that carry it.
    pub channels: u32,
    /// Messages that were seen.
    pub messages: u64,
    /// First data packet.
    pub start_ns: i64,
    /// Last data packet.
    pub end_ns: i64,
    /// Bytes by duration.
    pub algbw_bytes_per_s: Option<u64>,
    /// What each link of a ring carries, as nccl-tests computes it.
    pub busbw_bytes_per_s: Option<u64>,
    /// The training step it belongs to.
    pub iteration: Option<u32>,
    /// `proven`, `inferred` or `unknown`.
    pub grade: &'static str,
    /// Reasons.
    pub evidence: Vec<EvidenceReport>,
    /// Its parts, loop by loop.
    pub parts: Vec<PartReport>,
    /// Its ranks.
    pub ranks: Vec<CollectiveRankReport>,
    /// The rank that the others waited for; `null` where nobody stands out.
    pub straggler: Option<StragglerReport>,
    /// Its messages by connection: counted from the first that was seen on the connection.
    pub connections: Vec<CollectiveConnectionReport>,
}

/// A part of one loop.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PartReport {
    /// `reduce_scatter`, `all_gather`, or the collective's kind.
    pub part: &'static str,
    /// Number of the loop, from 0.
    #[serde(rename = "loop")]
    pub ring_loop: u32,
    /// First data packet.
    pub start_ns: i64,
    /// Last data packet.
    pub end_ns: i64,
}

/// When a rank took part.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CollectiveRankReport {
    /// The rank.
    pub rank: u32,
    /// First CTS that it sent.
    pub first_cts_ns: Option<i64>,
    /// First data packet that it sent.
    pub first_send_ns: Option<i64>,
    /// Last data packet that it received.
    pub last_receive_ns: Option<i64>,
}

/// A collective's messages on one connection.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CollectiveConnectionReport {
    /// `id` of the connection.
    pub connection: u32,
    /// Place of the first message among those that were seen on the connection, from 0.
    pub first_message: u64,
    /// Messages.
    pub messages: u64,
    /// Bytes on the wire.
    pub bytes: u64,
    /// Places, counted from this collective's first message, at which the AllGather part of each
    /// loop begins.
    pub part_boundaries: Vec<u64>,
}

/// The collectives in order of time.
pub(super) fn section(sources: &Sources<'_>) -> Vec<CollectiveReport> {
    let Some(linked) = sources.linked else { return Vec::new() };
    let mut iterations = vec![None; linked.collectives.len()];
    for iteration in &linked.iterations {
        for at in &iteration.collectives {
            if let Some(known) = iterations.get_mut(*at) {
                *known = Some(iteration.number);
            }
        }
    }
    let stragglers = linked.stragglers.iter().map(Option::as_ref).chain(std::iter::repeat(None));
    (0..)
        .zip(&linked.collectives)
        .zip(iterations.into_iter().zip(stragglers))
        .map(|((id, collective), (iteration, straggler))| CollectiveReport {
            iteration,
            straggler: straggler.map(|one| StragglerReport::new(sources, one)),
            ..report(sources, &linked.job, id, collective)
        })
        .collect()
}

fn report(sources: &Sources<'_>, job: &Job, id: u32, collective: &Collective) -> CollectiveReport {
    let communicator = job.communicators.get(collective.communicator.0 as usize);
    let nranks = communicator.and_then(|communicator| communicator.nranks);
    let duration_ns = collective.span.last.nanos_since(collective.span.first);
    let rate = |bytes: u64| {
        let per_second = u128::from(bytes) * 1_000_000_000;
        per_second.checked_div(u128::from(duration_ns)).map(|rate| rate as u64)
    };
    let algbw = collective.bytes.and_then(rate);
    let busbw =
        algbw.zip(nranks).and_then(|(rate, nranks)| bus_rate(collective.kind, rate, nranks));
    let time = |time: Timestamp| sources.relative_ns(time);
    CollectiveReport {
        id,
        communicator: communicator.map(|one| communicators::name(one.identity)).unwrap_or_default(),
        sequence: collective.sequence,
        sequence_origin: if collective.is_counted_from_init { "init" } else { "capture" },
        kind: collective.kind.name(),
        alternatives: collective.alternatives.iter().map(|kind| kind.name()).collect(),
        algorithm: collective.algorithm.name(),
        protocol: collective.protocol.name(),
        bytes: collective.bytes,
        estimated: collective.is_estimated,
        channels: collective.channels,
        messages: collective.messages,
        start_ns: time(collective.span.first),
        end_ns: time(collective.span.last),
        algbw_bytes_per_s: algbw,
        busbw_bytes_per_s: busbw,
        iteration: None,
        grade: collective.grade.name(),
        evidence: EvidenceReport::of(sources, &collective.evidence),
        parts: collective
            .parts
            .iter()
            .map(|part| PartReport {
                part: part.kind.name(),
                ring_loop: part.ring_loop,
                start_ns: time(part.span.first),
                end_ns: time(part.span.last),
            })
            .collect(),
        ranks: collective
            .ranks
            .iter()
            .map(|rank| CollectiveRankReport {
                rank: rank.rank,
                first_cts_ns: rank.first_cts.map(time),
                first_send_ns: rank.first_send.map(time),
                last_receive_ns: rank.last_receive.map(time),
            })
            .collect(),
        straggler: None,
        connections: collective.transfers.iter().map(|part| connection(job, part)).collect(),
    }
}

/// nccl-tests' bus bandwidth: what each link of a ring carries.
fn bus_rate(kind: CollectiveKind, rate: u64, nranks: u32) -> Option<u64> {
    use CollectiveKind as K;
    let nranks = u128::from(nranks);
    let others = nranks.checked_sub(1)?;
    let factor = match kind {
        K::AllReduce => 2 * others,
        K::AllGather | K::ReduceScatter | K::AllToAll => others,
        K::Broadcast | K::Reduce | K::SendRecv => nranks,
        K::Unknown => return None,
    };
    u64::try_from((u128::from(rate) * factor).checked_div(nranks)?).ok()
}

fn connection(job: &Job, part: &ConnectionTransfers) -> CollectiveConnectionReport {
    let all = job.connections.get(part.connection.0 as usize);
    let transfers = all.and_then(|known| known.transfers.get(part.places.clone()));
    let transfers = transfers.unwrap_or_default();
    let start = part.places.start;
    CollectiveConnectionReport {
        connection: part.connection.0,
        first_message: start as u64,
        messages: transfers.len() as u64,
        bytes: transfers.iter().filter_map(|transfer| transfer.bytes).sum(),
        part_boundaries: part.boundaries.iter().map(|at| at.saturating_sub(start) as u64).collect(),
    }
}
