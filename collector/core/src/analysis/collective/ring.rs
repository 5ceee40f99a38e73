//! Ring AllReduce, AllGather and ReduceScatter: every connection of a ring carries the same number
//! of messages, in passes of n - 1 chunks. An AllGather or ReduceScatter has one pass per loop, an
//! AllReduce two; every loop but the last has full chunks.

use super::forwarding::{self, Forwarding, NextLane};
use super::lane::Lane;
use super::plan::{chunk_bytes, chunk_of_send, last_chunk};
use super::reading::{Fences, Pattern, Reading, end_of, is_joint};
use super::slicing::{ElementSizes, Slicing};
use super::thresholds::{CONTRADICTION, CROSSINGS, RARER, SAMPLED_CHUNKS};
use crate::model::nccl::{CollectiveKind, Protocol};

/// A ring's connections that were seen, with their cursors.
pub struct Ring<'a> {
    /// Lanes in the order of the ring, each with the place of its next message.
    pub lanes: Vec<(&'a Lane, usize)>,
    /// Their places in the communicator's lanes.
    pub places: &'a [usize],
    /// Distance of their senders from rank 0 along the ring; `None` if the ring is unknown.
    pub positions: &'a [Option<u64>],
    /// For each lane, the next lane along the ring.
    pub next: &'a [NextLane],
    /// Ranks.
    pub nranks: usize,
    /// Chunks of the last loop follow the rule of NCCL 2.22 and later; `None` if the release is
    /// not known.
    pub is_cell_split: Option<bool>,
}

/// One pass: n - 1 chunks on every lane.
struct Pass {
    /// Bytes of data by lane and send; `None` if they were not seen.
    chunks: Vec<Option<u64>>,
    /// Element sizes that fit all of it.
    elements: ElementSizes,
    /// All chunks that were seen have the same size, if one was seen.
    uniform: Option<Option<u64>>,
    forwarding: Forwarding,
    /// Whether the CTSs before the pass allow a boundary.
    start: Fences,
}

impl Pass {
    fn is_full(&self, slicing: &Slicing) -> bool {
        self.uniform.is_some_and(|bytes| bytes.is_none_or(|bytes| bytes == slicing.full))
    }
}

impl Ring<'_> {
    /// Everything that may begin at the cursors.
    #[must_use]
    pub fn readings(&self, slicing: &Slicing) -> Vec<Reading> {
        let mut found = Vec::new();
        if self.lanes.is_empty() || self.nranks < 2 {
            return found;
        }
        let mut passes: Vec<Pass> = Vec::new();
        let mut usual = Fences::default();
        let mut crossed = 0;
        let per_pass = (self.nranks - 1) * slicing.per_chunk;
        while let Some(pass) = self.pass(passes.len() * per_pass, slicing) {
            if !passes.is_empty() && pass.start.is_clean() {
                crossed += 1;
            }
            // The second message of a chunk has its CTS early more often than the first.
            for chunk in 1..(self.nranks - 1).min(SAMPLED_CHUNKS) {
                let ahead = passes.len() * per_pass + chunk * slicing.per_chunk;
                usual.add(Fences::at(&self.lanes, ahead));
            }
            passes.push(pass);
            let end = Fences::at(&self.lanes, passes.len() * per_pass);
            found.extend(self.passes_as_loops(&passes, slicing, usual, end));
            if passes.len().is_multiple_of(2) {
                found.extend(self.pairs_as_loops(&passes, slicing, usual, end));
            }
            // Only full loops are followed by others, and a loop of an AllReduce has two passes.
            let is_open = match passes.as_slice() {
                [.., last] if last.is_full(slicing) => true,
                [before @ .., _] if passes.len() % 2 == 1 => {
                    before.iter().all(|pass| pass.is_full(slicing))
                }
                _ => false,
            };
            if !is_open || crossed > CROSSINGS {
                break;
            }
        }
        found.retain(|reading| {
            reading.lanes.first().is_some_and(|(_, count)| is_joint(&self.lanes, *count))
        });
        found
    }

    /// The pass that starts `ahead` messages after the cursors.
    fn pass(&self, ahead: usize, slicing: &Slicing) -> Option<Pass> {
        let sends = self.nranks - 1;
        // Not allocated beforehand: the number of ranks comes from the wire.
        let mut chunks = Vec::new();
        let mut elements = ElementSizes::ANY;
        for (lane, cursor) in &self.lanes {
            for send in 0..sends {
                let at = cursor + ahead + send * slicing.per_chunk;
                let (bytes, fitting) = chunk(lane, at, slicing)?;
                chunks.push(bytes);
                elements = elements.and(fitting);
            }
        }
        if elements.is_none() {
            return None;
        }
        let mut seen = chunks.iter().copied().flatten();
        let first = seen.next();
        let uniform = seen.all(|bytes| Some(bytes) == first).then_some(first);
        let how = (slicing.protocol, slicing.per_chunk);
        let forwarding = forwarding::of_pass(&self.lanes, self.next, ahead, self.nranks, how);
        let start = Fences::at(&self.lanes, ahead);
        Some(Pass { chunks, elements, uniform, forwarding, start })
    }

    /// The passes as the loops of one AllGather and of one ReduceScatter.
    fn passes_as_loops(
        &self,
        passes: &[Pass],
        slicing: &Slicing,
        usual: Fences,
        end: Fences,
    ) -> Vec<Reading> {
        let Some((last, before)) = passes.split_last() else { return Vec::new() };
        let Some(uniform) = last.uniform else { return Vec::new() };
        let is_empty = uniform == Some(0);
        if is_empty || !before.iter().all(|pass| pass.is_full(slicing)) {
            return Vec::new();
        }
        let cost = self.crossings(passes, usual) + end.cost_of_end() + RARER;
        let share = uniform.map(|bytes| bytes + before.len() as u64 * slicing.full);
        let has_byte = passes.iter().all(|pass| pass.elements.has_byte());
        let all_gather = self.reading(CollectiveKind::AllGather, passes.len(), share, slicing);
        let reduce_scatter =
            self.reading(CollectiveKind::ReduceScatter, passes.len(), share, slicing);
        let with = |mut reading: Reading, expected: Forwarding, other: Forwarding| {
            let against = passes.iter().filter(|pass| pass.forwarding == other).count();
            reading.is_witnessed = passes.iter().any(|pass| pass.forwarding == expected);
            reading.cost = cost + if against > 0 { CONTRADICTION } else { 0 };
            reading
        };
        let mut found = Vec::new();
        if has_byte {
            found.push(with(all_gather, Forwarding::Forwarded, Forwarding::Changed));
        }
        found.push(with(reduce_scatter, Forwarding::Changed, Forwarding::Forwarded));
        found
    }

    /// The passes, in pairs, as the loops of one AllReduce.
    fn pairs_as_loops(
        &self,
        passes: &[Pass],
        slicing: &Slicing,
        usual: Fences,
        end: Fences,
    ) -> Option<Reading> {
        let (before, last) = passes.split_at(passes.len() - 2);
        if !before.iter().all(|pass| pass.is_full(slicing)) {
            return None;
        }
        let [first, second] = last else { return None };
        let rest = self.loop_bytes(first, second, slicing)?;
        if rest == Some(0) {
            return None;
        }
        let full_loop = slicing.full * self.nranks as u64;
        let share = rest.map(|rest| rest + (before.len() / 2) as u64 * full_loop);
        let pairs = || passes.chunks_exact(2);
        let is_contradicted = pairs().any(|pair| {
            pair[0].forwarding == Forwarding::Forwarded || pair[1].forwarding == Forwarding::Changed
        });
        let is_witnessed = pairs().any(|pair| {
            pair[0].forwarding == Forwarding::Changed && pair[1].forwarding == Forwarding::Forwarded
        });
        let contradiction = if is_contradicted { CONTRADICTION } else { 0 };
        let cost = self.crossings(passes, usual) + end.cost_of_end() + contradiction;
        let loops = passes.len() / 2;
        let reading = self.reading(CollectiveKind::AllReduce, loops, share, slicing);
        Some(Reading { cost, is_witnessed, ..reading })
    }

    /// Bytes of the AllReduce loop that these passes form; `None` if they cannot form one,
    /// `Some(None)` if too little was captured.
    fn loop_bytes(&self, first: &Pass, second: &Pass, slicing: &Slicing) -> Option<Option<u64>> {
        let nranks = self.nranks as u64;
        if let (Some(a), Some(b)) = (first.uniform, second.uniform) {
            match (a, b) {
                (Some(a), Some(b)) if a == b => return Some(Some(a * nranks)),
                (Some(known), None) | (None, Some(known)) => return Some(Some(known * nranks)),
                (None, None) => return Some(None),
                _ => {}
            }
        }
        let sends = self.nranks - 1;
        let mut chunks: Vec<Option<u64>> = vec![None; self.nranks];
        for (lane, known) in self.positions.iter().enumerate() {
            let bytes_of = |send: usize| {
                let (pass, send) =
                    if send < sends { (first, send) } else { (second, send - sends) };
                pass.chunks.get(lane * sends + send).copied().flatten()
            };
            let position = known.or_else(|| self.rotation(&bytes_of))?;
            for send in 0..2 * sends {
                let Some(bytes) = bytes_of(send) else { continue };
                let chunk = chunk_of_send(position, send as u64, nranks) as usize;
                match chunks.get_mut(chunk)? {
                    Some(known) if *known != bytes => return None,
                    place => *place = Some(bytes),
                }
            }
        }
        is_cut_evenly(&chunks, slicing, self.is_cell_split)
    }

    /// A lane's position in the ring, derived from where its chunks become shorter.
    fn rotation(&self, bytes_of: &dyn Fn(usize) -> Option<u64>) -> Option<u64> {
        let nranks = self.nranks;
        let rise = (0..nranks).find(|&send| {
            let after = bytes_of((send + 1) % nranks);
            bytes_of(send).zip(after).is_some_and(|(bytes, after)| bytes > after)
        });
        // That send is of chunk 0: (position - 1 - send) mod n = 0.
        rise.map(|send| (send as u64 + 1) % nranks as u64)
    }

    /// Cost of the places between passes at which a collective may have ended.
    fn crossings(&self, passes: &[Pass], usual: Fences) -> u32 {
        passes.iter().skip(1).map(|pass| pass.start.cost_of_crossing(usual)).sum()
    }

    fn reading(
        &self,
        kind: CollectiveKind,
        loops: usize,
        share: Option<u64>,
        slicing: &Slicing,
    ) -> Reading {
        let passes = if kind == CollectiveKind::AllReduce { 2 * loops } else { loops };
        let count = passes * (self.nranks - 1) * slicing.per_chunk;
        Reading {
            pattern: Pattern::Ring,
            kind,
            loops: loops as u32,
            share,
            lanes: self.places.iter().map(|place| (*place, count)).collect(),
            cost: 0,
            end: end_of(&self.lanes, count),
            is_witnessed: false,
        }
    }
}

/// Bytes of data of the chunk at `at` (`None` if part of it was not captured), and the element
/// sizes that fit it. `None` if there is no such chunk.
fn chunk(lane: &Lane, at: usize, slicing: &Slicing) -> Option<(Option<u64>, ElementSizes)> {
    let messages = lane.messages.get(at..at + slicing.per_chunk)?;
    let is_other = |capacity: u64| capacity != slicing.capacity;
    if messages.iter().any(|message| message.capacity.is_some_and(is_other)) {
        return None;
    }
    let mut wire = [Some(0); 2];
    for (place, message) in wire.iter_mut().zip(messages) {
        *place = message.bytes;
    }
    match wire {
        [Some(first), _] if first > slicing.capacity => None,
        [Some(first), Some(second)] => {
            let sizes = slicing.elements_of_wire([first, second]);
            (!sizes.is_none()).then(|| (Some(slicing.data(first) + slicing.data(second)), sizes))
        }
        _ => Some((None, ElementSizes::ANY)),
    }
}

/// Bytes of a loop that NCCL would cut into these chunks: equal ones, then a shorter one, then
/// empty ones. `None` if it would not, `Some(None)` if too little was captured.
fn is_cut_evenly(
    chunks: &[Option<u64>],
    slicing: &Slicing,
    is_cell_split: Option<bool>,
) -> Option<Option<u64>> {
    let nranks = chunks.len() as u64;
    let Some(seen) = chunks.iter().copied().collect::<Option<Vec<u64>>>() else {
        let size = chunks.first().copied().flatten();
        let is_fitting =
            chunks.iter().flatten().all(|bytes| size.is_none_or(|size| *bytes <= size));
        return is_fitting.then_some(None);
    };
    let size = *seen.first()?;
    let bytes: u64 = seen.iter().sum();
    let is_even = (0..).zip(&seen).all(|(chunk, seen)| chunk_bytes(bytes, size, chunk) == *seen);
    let least = bytes.saturating_sub(slicing.padding());
    let is_rounded = match is_cell_split {
        Some(true) if slicing.protocol != Protocol::Ll128 => {
            [bytes, least].map(|bytes| last_chunk(bytes, nranks)).contains(&size)
        }
        _ => size * nranks >= least,
    };
    (is_even && is_rounded).then_some(Some(bytes))
}
