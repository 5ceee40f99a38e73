//! Sends and receives, and the AlltoAlls that are made of them.
//!
//! A send's bytes are divided among some of the pair's channels; each part is sent in chunks, all
//! alike but the last (NCCL `src/enqueue.cc`, `src/device/sendrecv.h`). Parts of one send have about
//! the same size.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::assemble;
use super::lane::Lane;
use super::thresholds::{ALL_TO_ALL_RANKS, LEAST_CHUNK, ONE_PART_IN, PART_DIFFERENCE, SENDS_APART};
use super::traffic::Traffic;
use super::{Collective, ConnectionTransfers};
use crate::link::job::{CommunicatorId, Job};
use crate::model::grade::Grade;
use crate::model::nccl::{Algorithm, CollectiveKind, Protocol};
use crate::model::time::Span;

/// The part of a send that one connection carries.
#[derive(Clone, Debug)]
struct SendPart {
    lane: usize,
    range: Range<usize>,
    bytes: Option<u64>,
    span: Span,
}

/// A send from one rank to another.
#[derive(Clone, Debug)]
struct Send {
    parts: Vec<SendPart>,
}

type Pair = (Option<u32>, Option<u32>);

/// The sends of `traffic`, as AlltoAlls where every pair takes part alike.
#[must_use]
pub fn collectives(job: &Job, communicator: CommunicatorId, traffic: &Traffic) -> Vec<Collective> {
    let mut by_pair: BTreeMap<Pair, Vec<usize>> = BTreeMap::new();
    for place in &traffic.point_to_point {
        let lane = &traffic.lanes[*place];
        by_pair.entry((lane.sender, lane.receiver)).or_default().push(*place);
    }
    let sends: BTreeMap<Pair, Vec<Send>> =
        by_pair.into_iter().map(|(pair, lanes)| (pair, sends(traffic, &lanes))).collect();
    let collective = |group: &[Send], kind| collective(job, communicator, traffic, group, kind);
    let mut found: Vec<Collective> = if is_all_to_all(&sends) {
        let rounds = sends.values().map(Vec::len).max().unwrap_or(0);
        let round = |number: usize| -> Vec<Send> {
            sends.values().filter_map(|sends| sends.get(number).cloned()).collect()
        };
        let all = (0..rounds).map(round);
        all.filter_map(|round| collective(&round, CollectiveKind::AllToAll)).collect()
    } else {
        let single = sends.values().flatten().map(std::slice::from_ref);
        single.filter_map(|send| collective(send, CollectiveKind::SendRecv)).collect()
    };
    found.sort_by_key(|one| (one.span.first, one.span.last));
    found
}

/// Every rank sends to every rank on another node, equally often.
fn is_all_to_all(sends: &BTreeMap<Pair, Vec<Send>>) -> bool {
    let ranks: BTreeSet<Option<u32>> = sends.keys().flat_map(|(from, to)| [*from, *to]).collect();
    let counts: BTreeSet<usize> = sends.values().map(Vec::len).collect();
    let partners = |rank: &Option<u32>| sends.keys().filter(|(from, _)| from == rank).count();
    let partner_counts: BTreeSet<usize> = ranks.iter().map(partners).collect();
    let is_regular = partner_counts.len() == 1;
    let is_both_ways = sends.keys().all(|(from, to)| sends.contains_key(&(*to, *from)));
    let range = counts.first().zip(counts.last());
    let is_even = range.is_some_and(|(least, most)| most - least <= SENDS_APART);
    ranks.len() >= ALL_TO_ALL_RANKS && is_regular && is_both_ways && is_even
}

/// The sends of one pair, in order.
fn sends(traffic: &Traffic, lanes: &[usize]) -> Vec<Send> {
    let mut parts: Vec<SendPart> =
        lanes.iter().flat_map(|place| parts(&traffic.lanes[*place], *place)).collect();
    parts.sort_by_key(|part| (part.span.first, part.lane));
    let mut sends: Vec<Send> = Vec::new();
    for part in parts {
        match sends.last_mut().filter(|send| send.takes(&part)) {
            Some(send) => send.parts.push(part),
            None => sends.push(Send { parts: vec![part] }),
        }
    }
    sends
}

impl Send {
    fn takes(&self, part: &SendPart) -> bool {
        let is_like = |own: &SendPart| match (own.bytes, part.bytes) {
            (Some(own), Some(other)) => {
                own.abs_diff(other) <= PART_DIFFERENCE.max(own / ONE_PART_IN)
            }
            _ => true,
        };
        self.parts.iter().all(|own| own.lane != part.lane && is_like(own))
    }

    fn bytes(&self) -> Option<u64> {
        self.parts.iter().map(|part| part.bytes).sum()
    }
}

/// The parts that one connection carried.
fn parts(lane: &Lane, place: usize) -> Vec<SendPart> {
    let mut found = Vec::new();
    let mut from = 0;
    for at in 1..=lane.messages.len() {
        if !ends_part(lane, from, at) {
            continue;
        }
        let messages = lane.messages.get(from..at).unwrap_or(&[]);
        if let Some(span) = assemble::span(messages.iter()) {
            let bytes = messages.iter().map(|message| message.bytes).sum();
            found.push(SendPart { lane: place, range: from..at, bytes, span });
        }
        from = at;
    }
    found
}

/// Whether the part that begins at `from` ends before the message at `at`. Its CTSs offer the chunk
/// or, if that is less, the whole part: a message shorter than its offer is the last one.
fn ends_part(lane: &Lane, from: usize, at: usize) -> bool {
    let (Some(first), Some(last)) = (lane.message(from), lane.message(at - 1)) else { return true };
    let Some(next) = lane.message(at) else { return true };
    let is_less = |a: Option<u64>, b: Option<u64>| a.zip(b).is_some_and(|(a, b)| a < b);
    let offer = first.capacity.or(first.bytes);
    let is_offer_changed = next.capacity.is_some() && next.capacity != offer;
    if is_offer_changed || is_less(last.bytes, offer) || is_less(offer, next.bytes) {
        return true;
    }
    let is_chunk = offer.is_some_and(|offer| offer.is_power_of_two() && offer >= LEAST_CHUNK);
    let is_tail = is_less(next.bytes, next.capacity);
    !is_tail && (!is_chunk || next.is_fenced == Some(true))
}

fn collective(
    job: &Job,
    communicator: CommunicatorId,
    traffic: &Traffic,
    group: &[Send],
    kind: CollectiveKind,
) -> Option<Collective> {
    let parts = || group.iter().flat_map(|send| &send.parts);
    let first = parts().map(|part| part.span.first).min()?;
    let last = parts().map(|part| part.span.last).max()?;
    let connection = |part: &SendPart| {
        let lane = &traffic.lanes[part.lane];
        ConnectionTransfers {
            connection: lane.connection,
            places: lane.place_at(part.range.start)..lane.place_at(part.range.end),
            boundaries: Vec::new(),
        }
    };
    let channels: BTreeSet<Option<u32>> = parts().map(|part| channel(job, traffic, part)).collect();
    let sizes: BTreeSet<Option<u64>> = group.iter().map(Send::bytes).collect();
    let (bytes, is_estimated) = match (kind, sizes.iter().next()) {
        (CollectiveKind::AllToAll, Some(Some(each))) if sizes.len() == 1 => {
            (Some(each * traffic.nranks as u64), false)
        }
        (CollectiveKind::AllToAll, _) => (None, false),
        (_, Some(bytes)) => (*bytes, bytes.is_none()),
        (_, None) => (None, false),
    };
    let mut collective = Collective {
        communicator,
        sequence: 0,
        is_counted_from_init: false,
        kind,
        alternatives: Vec::new(),
        algorithm: Algorithm::Unknown,
        protocol: Protocol::Simple,
        bytes,
        is_estimated,
        ring_order: None,
        channels: channels.len() as u32,
        messages: 0,
        span: Span { first, last },
        parts: Vec::new(),
        ranks: Vec::new(),
        transfers: parts().map(connection).collect(),
        grade: Grade::Inferred,
        evidence: Vec::new(),
    };
    assemble::complete(job, &mut collective);
    Some(collective)
}

fn channel(job: &Job, traffic: &Traffic, part: &SendPart) -> Option<u32> {
    let connection = traffic.lanes[part.lane].connection;
    job.connection(connection)?.channel
}
