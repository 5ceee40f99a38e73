//! The collective within which a capture begins: connections show different rests of it, which the
//! search may take for several.

use super::{Collective, ConnectionTransfers, assemble};
use crate::link::job::Job;
use crate::model::nccl::CollectiveKind;

/// Joins what cannot be explained at the beginning, as long as it happens at one time.
pub fn join(job: &Job, found: &mut Vec<Collective>) {
    let is_unknown = |one: &&Collective| one.kind == CollectiveKind::Unknown;
    let count = found.iter().take_while(is_unknown).count();
    let mut rest = found.split_off(count.min(1));
    if let Some(first) = found.first_mut() {
        let mut joined = 0;
        for next in rest.iter().take(count.saturating_sub(1)) {
            if next.span.first > first.span.last {
                break;
            }
            add(first, next);
            joined += 1;
        }
        if joined > 0 {
            first.evidence.clear();
            assemble::complete(job, first);
        }
        rest.drain(..joined);
    }
    found.append(&mut rest);
}

fn add(whole: &mut Collective, part: &Collective) {
    whole.span.last = whole.span.last.max(part.span.last);
    whole.channels = whole.channels.max(part.channels);
    whole.is_estimated |= part.is_estimated;
    for on in &part.transfers {
        let is_same = |known: &&mut ConnectionTransfers| known.connection == on.connection;
        match whole.transfers.iter_mut().find(is_same) {
            Some(known) => known.places.end = known.places.end.max(on.places.end),
            None => whole.transfers.push(on.clone()),
        }
    }
}
