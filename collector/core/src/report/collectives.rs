//! Collectives: what was called, how it was carried out, how long it took.

use schemars::JsonSchema;
use serde::Serialize;

use super::context::Detail;
use super::evidence::EvidenceReport;
use super::sources::Sources;
use super::stragglers::StragglerReport;
use super::waits::{self, CollectiveRankReport, WaitsReport};
use crate::analysis::collective::{Collective, ConnectionTransfers};
use crate::analysis::hang::unfinished;
use crate::analysis::judged::JudgedIteration;
use crate::analysis::wait::CollectiveWaits;
use crate::link::job::{Communicator, Job};
use crate::model::time::Timestamp;

/// A collective: what it was, when, how fast, and where its time went.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CollectiveReport {
    /// Number that other sections refer to, in order of time.
    pub id: u32,
    /// `id` of its communicator.
    pub communicator: String,
    /// Number on its communicator.
    pub sequence: u64,
    /// Where numbering starts: `init`, or `capture` if earlier collectives were not seen.
    pub sequence_origin: &'static str,
    /// `all_reduce`, `all_gather`, `reduce_scatter`, `broadcast`, `reduce`, `all_to_all`,
    /// `send_recv` or `unknown`.
    pub kind: &'static str,
    /// Other kinds that its traffic also fits.
    pub alternatives: Vec<&'static str>,
    /// `ring`, `tree` or `unknown`.
    pub algorithm: &'static str,
    /// `simple`, `ll`, `ll128` or `unknown`.
    pub protocol: &'static str,
    /// Bytes as nccl-tests counts them; `null` if messages are missing.
    pub bytes: Option<u64>,
    /// The bytes are rounded by the protocol, or partly unseen.
    pub estimated: bool,
    /// Channels that carry it.
    pub channels: u32,
    /// Messages seen.
    pub messages: u64,
    /// First data packet.
    pub start_ns: i64,
    /// Last data packet, or the end of the recovery that delivered it.
    pub end_ns: i64,
    /// Its communicator stands still in it: it did not end.
    pub unfinished: bool,
    /// Algorithm bandwidth: bytes divided by duration.
    pub algbw_bytes_per_s: Option<u64>,
    /// Bus bandwidth, as nccl-tests computes it: what each link of a ring carries.
    pub busbw_bytes_per_s: Option<u64>,
    /// The training step it belongs to.
    pub iteration: Option<u32>,
    /// `proven`, `inferred` or `unknown`.
    pub grade: &'static str,
    /// What shows its kind and its messages, the strongest first.
    pub evidence: Vec<EvidenceReport>,
    /// Its parts, loop by loop.
    pub parts: Vec<PartReport>,
    /// When each rank took part and how long it waited, ascending.
    pub ranks: Vec<CollectiveRankReport>,
    /// The rank that the others waited for; `null` if none stands out.
    pub straggler: Option<StragglerReport>,
    /// Its messages by connection, numbered from the first one seen on the connection.
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

/// A collective's messages on one connection.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CollectiveConnectionReport {
    /// `id` of the connection.
    pub connection: u32,
    /// Index of its first message among those seen on the connection, from 0.
    pub first_message: u64,
    /// Number of its messages on the connection.
    pub messages: u64,
    /// Bytes on the wire.
    pub bytes: u64,
    /// Indices, from this collective's first message, at which the AllGather part of each loop
    /// begins.
    pub part_boundaries: Vec<u64>,
    /// Where its time went; `null` without full detail, and if no single tap saw all its messages.
    pub waits: Option<WaitsReport>,
}

/// The collectives in order of time.
pub(super) fn section(sources: &Sources<'_>) -> Vec<CollectiveReport> {
    let Some(job) = &sources.state.job else { return Vec::new() };
    let collectives = &sources.understanding.collectives;
    let mut iterations = vec![None; collectives.len()];
    for JudgedIteration { iteration, .. } in &sources.understanding.iterations {
        for at in &iteration.collectives {
            if let Some(known) = iterations.get_mut(*at) {
                *known = Some(iteration.number);
            }
        }
    }
    let unfinished = unfinished(sources.understanding);
    let all = (0..).zip(collectives).zip(iterations);
    let known = all.filter_map(|((id, judged), iteration)| {
        let communicator = job.communicator(judged.collective.communicator)?;
        Some(CollectiveReport {
            iteration,
            unfinished: unfinished.contains(&(id as usize)),
            ranks: waits::ranks(sources, judged),
            connections: connections(sources, job, &judged.collective, &judged.waits),
            straggler: judged.straggler.as_ref().map(|one| StragglerReport::new(sources, one)),
            ..report(sources, communicator, id, &judged.collective)
        })
    });
    known.collect()
}

fn report(
    sources: &Sources<'_>,
    communicator: &Communicator,
    id: u32,
    collective: &Collective,
) -> CollectiveReport {
    let nranks = communicator.nranks;
    let time = |time: Timestamp| sources.relative_ns(time);
    CollectiveReport {
        id,
        communicator: communicator.identity.to_string(),
        sequence: collective.sequence,
        sequence_origin: if collective.is_counted_from_init { "init" } else { "capture" },
        kind: collective.kind.name(),
        unfinished: false,
        alternatives: collective.alternatives.iter().map(|kind| kind.name()).collect(),
        algorithm: collective.algorithm.name(),
        protocol: collective.protocol.name(),
        bytes: collective.bytes,
        estimated: collective.is_estimated,
        channels: collective.channels,
        messages: collective.messages,
        start_ns: time(collective.span.first),
        end_ns: time(collective.span.last),
        algbw_bytes_per_s: collective.algorithm_bandwidth(),
        busbw_bytes_per_s: nranks.and_then(|nranks| collective.bus_bandwidth(nranks)),
        iteration: None,
        grade: collective.grade.name(),
        evidence: EvidenceReport::list(sources, &collective.evidence),
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
        ranks: Vec::new(),
        straggler: None,
        connections: Vec::new(),
    }
}

fn connections(
    sources: &Sources<'_>,
    job: &Job,
    collective: &Collective,
    waits: &CollectiveWaits,
) -> Vec<CollectiveConnectionReport> {
    let is_full = sources.context.detail == Detail::Full;
    let waits_of = |part: &ConnectionTransfers| {
        let at = waits.edges.binary_search_by_key(&part.connection, |edge| edge.connection);
        at.ok().and_then(|at| waits.edges.get(at)).filter(|_| is_full)
    };
    let report = |part: &ConnectionTransfers| CollectiveConnectionReport {
        waits: waits_of(part).map(|edge| WaitsReport::new(sources, edge)),
        ..connection(job, part)
    };
    collective.transfers.iter().map(report).collect()
}

fn connection(job: &Job, part: &ConnectionTransfers) -> CollectiveConnectionReport {
    let all = job.connection(part.connection);
    let transfers = all.and_then(|known| known.transfers.get(part.places.clone()));
    let transfers = transfers.unwrap_or_default();
    let start = part.places.start;
    CollectiveConnectionReport {
        connection: part.connection.0,
        first_message: start as u64,
        messages: transfers.len() as u64,
        bytes: transfers.iter().filter_map(|transfer| transfer.bytes).sum(),
        part_boundaries: part.boundaries.iter().map(|at| at.saturating_sub(start) as u64).collect(),
        waits: None,
    }
}
