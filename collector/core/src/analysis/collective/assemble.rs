//! From an explanation of messages to a collective: bytes, spans, parts, ranks' times.

use std::collections::BTreeMap;
use std::ops::Range;

use super::lane::{Lane, Message};
use super::reading::{Pattern, Reading};
use super::search::Explanation;
use super::traffic::Traffic;
use super::{Collective, ConnectionTransfers, Part, RankTimes, RingOrder};
use crate::link::evidence::{Evidence, EvidenceKind};
use crate::link::job::{CommunicatorId, Job, Transfer};
use crate::model::grade::Grade;
use crate::model::nccl::{Algorithm, CollectiveKind, Protocol};
use crate::model::time::{Span, Timestamp};

/// Builds the collective from `found`; `None` if none of its messages was captured.
#[must_use]
pub fn ring_or_tree(
    job: &Job,
    communicator: CommunicatorId,
    traffic: &Traffic,
    found: &Explanation,
) -> Option<Collective> {
    let pattern = found.pattern();
    let ranges = ranges(traffic, found);
    let spans = |parts: &[(usize, Range<usize>)]| {
        span(parts.iter().flat_map(|(lane, range)| messages(&traffic.lanes[*lane], range)))
    };
    let is_partly_seen = ranges.iter().any(|(lane, range)| {
        messages(&traffic.lanes[*lane], range).iter().any(|message| message.bytes.is_none())
    });
    let algorithm = match pattern {
        Pattern::Ring | Pattern::Chain => Algorithm::Ring,
        Pattern::Tree => Algorithm::Tree,
        Pattern::Cut => Algorithm::Unknown,
    };
    let mut collective = Collective {
        communicator,
        sequence: 0,
        is_counted_from_init: false,
        kind: found.kind(),
        alternatives: found.alternatives.clone(),
        algorithm,
        protocol: found.protocol,
        bytes: found.bytes(traffic.nranks),
        is_estimated: is_partly_seen || matches!(found.protocol, Protocol::Ll | Protocol::Ll128),
        ring_order: ring_order(traffic, found),
        channels: found.readings.len() as u32,
        messages: 0,
        span: spans(&ranges)?,
        parts: parts(traffic, found),
        ranks: Vec::new(),
        transfers: transfers(traffic, found),
        grade: Grade::Inferred,
        evidence: Vec::new(),
    };
    if found.readings.iter().all(|reading| reading.is_witnessed) {
        let count = found.readings.len() as u64;
        collective.evidence.push(Evidence { kind: EvidenceKind::Payload, witness: None, count });
    }
    complete(job, &mut collective);
    Some(collective)
}

/// Derives spans, parts and rank times from the transfers of `collective`.
pub fn complete(job: &Job, collective: &mut Collective) {
    collective.transfers.sort_by_key(|on| on.connection);
    collective.messages = collective.transfers.iter().map(|on| on.places.len() as u64).sum();
    collective.ranks = ranks(job, &collective.transfers);
    let mut with_cts =
        transfers_of(job, &collective.transfers).filter(|(_, transfer)| transfer.cts.is_some());
    let witness = with_cts.next().map(|(_, transfer)| transfer.witness);
    let count = u64::from(witness.is_some()) + with_cts.count() as u64;
    if count > 0 {
        collective.evidence.push(Evidence { kind: EvidenceKind::CtsMatch, witness, count });
    }
}

/// First and last packet of some messages.
#[must_use]
pub fn span<'a>(messages: impl Iterator<Item = &'a Message>) -> Option<Span> {
    let mut whole: Option<Span> = None;
    for message in messages {
        let (Some(first), Some(last)) = (message.first, message.last) else { continue };
        let span = whole.get_or_insert(Span { first, last });
        span.first = span.first.min(first);
        span.last = span.last.max(last);
    }
    whole
}

/// The messages of each lane.
fn ranges(traffic: &Traffic, found: &Explanation) -> Vec<(usize, Range<usize>)> {
    let lanes = found.readings.iter().flat_map(|reading| &reading.lanes);
    let range = |&(lane, count): &(usize, usize)| {
        let from = found.from[lane] as usize;
        (lane, from..(from + count).min(traffic.lanes[lane].messages.len()))
    };
    lanes.map(range).collect()
}

fn messages<'a>(lane: &'a Lane, range: &Range<usize>) -> &'a [Message] {
    lane.messages.get(range.clone()).unwrap_or(&[])
}

/// Messages on each connection per pass of a ring collective.
fn per_pass(traffic: &Traffic, found: &Explanation) -> usize {
    let per_chunk = found.slicing.map_or(1, |slicing| slicing.per_chunk);
    match found.pattern() {
        Pattern::Ring => (traffic.nranks - 1) * per_chunk,
        Pattern::Chain | Pattern::Tree | Pattern::Cut => 1,
    }
}

fn ring_order(traffic: &Traffic, found: &Explanation) -> Option<RingOrder> {
    let passes = match found.kind() {
        CollectiveKind::AllReduce => 2,
        CollectiveKind::AllGather | CollectiveKind::ReduceScatter => 1,
        _ => return None,
    };
    let is_whole = found.pattern() == Pattern::Ring && found.bytes(traffic.nranks).is_some();
    let slicing = found.slicing.filter(|_| is_whole)?;
    let per_loop = (passes * per_pass(traffic, found)) as u64;
    Some(RingOrder { per_chunk: slicing.per_chunk as u64, per_loop })
}

fn parts(traffic: &Traffic, found: &Explanation) -> Vec<Part> {
    if matches!(found.pattern(), Pattern::Tree | Pattern::Cut) {
        return Vec::new();
    }
    let kind = found.kind();
    let per_pass = per_pass(traffic, found);
    let passes_per_loop = if kind == CollectiveKind::AllReduce { 2 } else { 1 };
    let loops = found.readings.iter().map(|reading| reading.loops).max().unwrap_or(0);
    let mut parts = Vec::new();
    for pass in 0..loops as usize * passes_per_loop {
        let in_pass = |reading: &Reading| {
            let lanes = reading.lanes.iter().map(|(lane, count)| {
                let from = found.from[*lane] as usize;
                let begin = (pass * per_pass).min(*count);
                let end = ((pass + 1) * per_pass).min(*count);
                messages(&traffic.lanes[*lane], &(from + begin..from + end))
            });
            lanes.flatten().collect::<Vec<_>>()
        };
        let Some(span) = span(found.readings.iter().flat_map(in_pass)) else { continue };
        let kind = match (kind, pass % 2) {
            (CollectiveKind::AllReduce, 0) => CollectiveKind::ReduceScatter,
            (CollectiveKind::AllReduce, _) => CollectiveKind::AllGather,
            _ => kind,
        };
        parts.push(Part { kind, ring_loop: (pass / passes_per_loop) as u32, span });
    }
    parts
}

fn transfers(traffic: &Traffic, found: &Explanation) -> Vec<ConnectionTransfers> {
    let is_halved = found.pattern() == Pattern::Ring && found.kind() == CollectiveKind::AllReduce;
    let per_pass = per_pass(traffic, found);
    let mut transfers = Vec::new();
    for reading in &found.readings {
        for &(at, count) in &reading.lanes {
            let lane = &traffic.lanes[at];
            let from = found.from[at] as usize;
            let loops = if is_halved { reading.loops as usize } else { 0 };
            let boundary = |ring_loop: usize| lane.place_at(from + (2 * ring_loop + 1) * per_pass);
            transfers.push(ConnectionTransfers {
                connection: lane.connection,
                places: lane.place_at(from)..lane.place_at(from + count),
                boundaries: (0..loops).map(boundary).collect(),
            });
        }
    }
    transfers
}

fn transfers_of<'a>(
    job: &'a Job,
    transfers: &'a [ConnectionTransfers],
) -> impl Iterator<Item = (&'a ConnectionTransfers, &'a Transfer)> {
    transfers.iter().flat_map(|on| {
        let connection = job.connection(on.connection);
        let known = connection.and_then(|known| known.transfers.get(on.places.clone()));
        known.unwrap_or(&[]).iter().map(move |transfer| (on, transfer))
    })
}

fn ranks(job: &Job, transfers: &[ConnectionTransfers]) -> Vec<RankTimes> {
    let mut ranks: BTreeMap<u32, RankTimes> = BTreeMap::new();
    let mut of = |rank: u32, update: &dyn Fn(&mut RankTimes)| {
        let fresh = RankTimes { rank, first_cts: None, first_send: None, last_receive: None };
        update(ranks.entry(rank).or_insert(fresh));
    };
    for (on, transfer) in transfers_of(job, transfers) {
        let Some(connection) = job.connection(on.connection) else { continue };
        if let Some(rank) = connection.sender {
            of(rank, &|times| times.first_send = earlier(times.first_send, transfer.first_time()));
        }
        if let Some(rank) = connection.receiver {
            let posted = transfer.cts.and_then(|cts| cts.posted.or(cts.arrived));
            of(rank, &|times| {
                times.first_cts = earlier(times.first_cts, posted);
                times.last_receive = times.last_receive.max(transfer.last_time());
            });
        }
    }
    ranks.into_values().collect()
}

fn earlier(a: Option<Timestamp>, b: Option<Timestamp>) -> Option<Timestamp> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
