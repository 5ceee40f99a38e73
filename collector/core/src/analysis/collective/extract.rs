//! From the messages of a job to its collectives.

use super::{Collective, assemble, beginning, point_to_point, search, traffic};
use crate::link::job::{CommunicatorId, Job, Transfer};
use crate::model::nccl::CollectiveKind;

/// The collectives of `job`, by communicator and order of time.
#[must_use]
pub fn collectives(job: &Job) -> Vec<Collective> {
    let mut all = Vec::new();
    for (place, communicator) in job.communicators.iter().enumerate() {
        let id = CommunicatorId(place as u32);
        let traffic = traffic::Traffic::new(job, id, communicator);
        let explained = search::explain(&traffic);
        let mut collectives = explained
            .iter()
            .filter_map(|explained| assemble::ring_or_tree(job, id, &traffic, explained))
            .collect();
        let is_counted_from_init = traffic.is_from_start();
        if !is_counted_from_init {
            beginning::join(job, &mut collectives);
        }
        let mut found = merge(collectives, point_to_point::collectives(job, id, &traffic));
        for (sequence, collective) in (0..).zip(&mut found) {
            collective.sequence = sequence;
            collective.is_counted_from_init = is_counted_from_init;
        }
        doubt_halves(job, id, &mut found);
        traffic.calls.settle(&mut found, traffic.nranks);
        all.append(&mut found);
    }
    all
}

/// Half of an AllReduce looks like a whole ReduceScatter or AllGather. So does an
/// AllReduce with missing messages: at both ends of the capture, and anywhere if it has holes.
fn doubt_halves(job: &Job, id: CommunicatorId, found: &mut [Collective]) {
    let may_be_half = |one: &Collective| {
        matches!(one.kind, CollectiveKind::ReduceScatter | CollectiveKind::AllGather)
            && !one.alternatives.contains(&CollectiveKind::AllReduce)
    };
    if !found.iter().any(may_be_half) {
        return;
    }
    let has_hole = |transfers: &[Transfer]| {
        transfers.windows(2).any(|pair| pair[1].number != pair[0].number + 1)
            || transfers.iter().any(|transfer| transfer.bytes.is_none())
    };
    let mut connections = job.connections.iter().filter(|one| one.communicator == id);
    let has_holes = connections.any(|one| one.unmatched > 0 || has_hole(&one.transfers));
    let last = found.len().saturating_sub(1);
    for (at, one) in found.iter_mut().enumerate() {
        let is_at_end = at == last || at == 0 && !one.is_counted_from_init;
        if (has_holes || is_at_end) && may_be_half(one) {
            one.alternatives.push(CollectiveKind::AllReduce);
        }
    }
}

/// Merges both in order of time; each keeps its own order.
fn merge(one: Vec<Collective>, other: Vec<Collective>) -> Vec<Collective> {
    let mut merged = Vec::with_capacity(one.len() + other.len());
    let mut other = other.into_iter().peekable();
    for next in one {
        merged.extend(std::iter::from_fn(|| {
            other.next_if(|earlier| earlier.span.first < next.span.first)
        }));
        merged.push(next);
    }
    merged.extend(other);
    merged
}
