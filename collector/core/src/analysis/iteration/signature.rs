//! Training steps by the calls that repeat: communicator, kind, algorithm and bytes of each
//! collective, in order.
//!
//! Calls of one communicator keep their order; those of two may overtake each other. So repetition
//! is looked for in each communicator, and one of them leads: of those whose training steps are the
//! longest, the one with the longest silence before them.

use std::collections::BTreeMap;

use super::repeat::{Symbol, UNKNOWN};
use super::rhythm::{Piece, Rhythm};
use super::thresholds::EQUALLY_LONG;
use super::timeline::{Call, Slot, Timeline};
use super::unit::{Sequence, Unit};
use super::{cut, rotation};
use crate::link::job::CommunicatorId;
use crate::model::spread::lower_median;

/// A communicator that may lead.
struct Candidate {
    rhythm: Rhythm,
    length_ns: u64,
    silence_ns: u64,
}

/// The training steps of a job; `None` if no calls repeat as training does.
pub(super) fn rhythm(timeline: &Timeline, group: &[CommunicatorId]) -> Option<Rhythm> {
    let candidates: Vec<Candidate> =
        group.iter().filter_map(|id| of_communicator(timeline, *id)).collect();
    let longest = candidates.iter().map(|one| one.length_ns).max()?;
    candidates
        .into_iter()
        .filter(|one| one.length_ns as f64 >= EQUALLY_LONG * longest as f64)
        .max_by_key(|one| (one.silence_ns, std::cmp::Reverse(one.rhythm.communicator)))
        .map(|one| one.rhythm)
}

fn of_communicator(timeline: &Timeline, id: CommunicatorId) -> Option<Candidate> {
    let is_its = |(_, slot): &(usize, &Slot)| slot.communicator == id;
    let (places, slots): (Vec<usize>, Vec<&Slot>) =
        timeline.slots.iter().enumerate().filter(is_its).unzip();
    let exactly = sequence(&slots, |call| *call);
    let (sequence, unit) = match Unit::from_sequence(&exactly) {
        Some(unit) => (exactly, unit),
        None => {
            // Sizes vary in expert parallelism; benchmarks vary sizes too, but not kinds.
            let by_kind = sequence(&slots, |call| Call { bytes: 0, ..*call });
            let unit = Unit::from_sequence(&by_kind).filter(|unit| !unit.is_of_equals())?;
            (by_kind, unit)
        }
    };
    let first = rotation::first_call(&sequence, &unit);
    let silence_ns = unit.silences(&sequence).get(first).copied()?;
    let symbols = [&unit.symbols[first..], &unit.symbols[..first]].concat();
    let occurrences = cut::occurrences(&sequence, &symbols, silence_ns);
    let mut pieces: Vec<Piece> = Vec::new();
    let mut end = 0;
    for one in occurrences {
        let slots = places.get(one.first..one.first + one.calls)?.to_vec();
        pieces.push(Piece { slots, is_whole: one.is_whole, is_adjacent: one.first == end });
        end = one.first + one.calls;
    }
    let start = |piece: &Piece| piece.slots.first().map(|at| timeline.slots[*at].span.first);
    let adjacent = pieces.windows(2).filter(|pair| pair[1].is_adjacent);
    let lengths = adjacent.filter_map(|pair| Some(start(&pair[1])?.nanos_since(start(&pair[0])?)));
    let length_ns = lower_median(lengths).unwrap_or(0);
    Some(Candidate { rhythm: Rhythm { communicator: id, pieces }, length_ns, silence_ns })
}

fn sequence(slots: &[&Slot], key: impl Fn(&Call) -> Call) -> Sequence {
    let mut numbers: BTreeMap<Call, Symbol> = BTreeMap::new();
    let mut symbol = |slot: &&Slot| match slot.call.as_ref().map(&key) {
        None => UNKNOWN,
        Some(call) => {
            let next = numbers.len() as Symbol + 1;
            *numbers.entry(call).or_insert(next)
        }
    };
    Sequence {
        symbols: slots.iter().map(&mut symbol).collect(),
        silences: slots.iter().map(|slot| slot.silence_ns).collect(),
        starts: slots.iter().map(|slot| slot.span.first.as_nanos()).collect(),
        is_from_init: slots.first().is_some_and(|slot| slot.is_counted_from_init),
    }
}
