//! One connection of a bootstrap ring: keeps the frames of both directions until the initial
//! gathers are complete, then their content; after that it looks for splits.

use super::direction::Direction;
use super::ends::{Ends, Progress, Speaker};
use super::facts::{ControlFacts, Ring, RootReply, Split, SplitRequest};
use super::gathers::{Gathers, rank_at};
use super::pools::Pools;
use crate::decode::nccl::layout::{LAYOUTS, narrow};
use crate::decode::nccl::root_reply;
use crate::decode::nccl::split::{SPLIT_4, SPLIT_8, SplitElement, color_or_key};
use crate::model::time::Span;
use crate::model::witness::Witness;

/// More than the gathers of 10,000 ranks, in bytes.
const SIZE_LIMIT: usize = 32 << 20;

/// Splits kept per communicator.
const SPLIT_LIMIT: usize = 1024;

/// A ring connection; or a root's reply of 2.22 or before, which starts the same way.
#[derive(Clone, Debug)]
pub(super) struct RingConnection {
    forward: Direction,
    backward: Direction,
    gathers: Option<Gathers>,
    /// Colours by position, forwards and backwards, until the keys follow (up to 2.22).
    colors: Option<Vec<i32>>,
    splits: Vec<Split>,
    has_topology: bool,
    /// Frames after the first topology that are not topologies.
    later_frames: usize,
    witness: Option<Witness>,
    span: Span,
}

impl RingConnection {
    /// A ring whose first gather has elements of `len` bytes; `None` if none has that length.
    pub(super) fn begins_with(len: usize, span: Span) -> Option<Self> {
        let begins = narrow(&LAYOUTS, |layout| layout.addresses.gathers.first() == Some(&len));
        (!begins.is_empty()).then(|| Self {
            forward: Direction::default(),
            backward: Direction::default(),
            gathers: None,
            colors: None,
            splits: Vec::new(),
            has_topology: false,
            later_frames: 0,
            witness: None,
            span,
        })
    }

    pub(super) fn frame(
        &mut self,
        from: Speaker,
        frame: &[u8],
        witness: Witness,
        pools: &mut Pools,
    ) -> Progress {
        self.witness.get_or_insert(witness);
        let shared = pools.frames.frame(frame);
        match from {
            Speaker::Connector => self.forward.push(shared, witness),
            Speaker::Listener => self.backward.push(shared, witness),
        }
        let is_topology = LAYOUTS.iter().any(|layout| layout.topology.len == frame.len());
        // The bootstrap ends with the topologies; what follows belongs to collectives and splits.
        if let Witness::Frame { time, .. } = witness
            && (is_topology || !self.has_topology)
        {
            self.span.last = self.span.last.max(time);
        }
        if self.gathers.is_none() && self.has_topology && !is_topology {
            // A frame after the topologies means that they are complete, unless the other direction
            // lags.
            self.later_frames += 1;
            if self.later_frames.is_power_of_two() {
                self.read_gathers(false, pools);
            }
        }
        self.has_topology |= is_topology;
        if self.forward.size() + self.backward.size() > SIZE_LIMIT {
            return Progress::Oversized;
        }
        self.read_splits()
    }

    fn read_gathers(&mut self, is_over: bool, pools: &mut Pools) {
        let gathers = Gathers::read(&self.forward, &self.backward);
        let is_clear = |gathers: &Gathers| gathers.is_whole && (is_over || !gathers.may_be_half);
        let Some(gathers) = gathers.filter(is_clear) else { return };
        self.forward.drop_first(gathers.count * gathers.forward);
        self.backward.drop_first(gathers.count * gathers.backward);
        self.gathers = Some(gathers.share(&mut pools.members));
    }

    /// Processes later gathers that are complete. Only their length shows what they are; all but
    /// splits are skipped.
    fn read_splits(&mut self) -> Progress {
        let Some(gathers) = &self.gathers else { return Progress::More };
        let (ahead, back) = (gathers.forward, gathers.backward);
        while self.forward.len() >= ahead && self.backward.len() >= back {
            let places = || {
                let forward = (0..ahead).map(|place| (true, &self.forward, place));
                forward.chain((0..back).map(|place| (false, &self.backward, place)))
            };
            let frames = || places().filter_map(|(_, direction, place)| direction.get(place));
            let len = self.forward.get(0).map_or(0, <[u8]>::len);
            if frames().any(|frame| frame.len() != len) {
                return Progress::Malformed;
            }
            let rank = |(is_forward, _, place)| {
                rank_at(gathers.connector_rank, gathers.nranks, is_forward, place)
            };
            let mut requests: Vec<SplitRequest> = Vec::new();
            match len {
                SPLIT_8 => {
                    let elements = frames().filter_map(|frame| frame.first_chunk());
                    let elements = elements.filter_map(SplitElement::decode);
                    requests.extend(places().map(rank).zip(elements).map(|(rank, element)| {
                        SplitRequest { rank, color: element.color, key: Some(element.key) }
                    }));
                }
                SPLIT_4 => {
                    let values = frames().filter_map(|frame| frame.first_chunk()).map(color_or_key);
                    if let Some(colors) = self.colors.take() {
                        let asked = places().map(rank).zip(colors).zip(values);
                        requests.extend(asked.map(|((rank, color), key)| SplitRequest {
                            rank,
                            color,
                            key: Some(key),
                        }));
                    } else {
                        self.colors = Some(values.collect());
                    }
                }
                _ => {}
            }
            let last = ahead.checked_sub(1).and_then(|last| self.forward.witness(last));
            if let Some(witness) = last.filter(|_| !requests.is_empty()) {
                if self.splits.len() == SPLIT_LIMIT {
                    return Progress::Oversized;
                }
                requests.sort_unstable_by_key(|request| request.rank);
                self.splits.push(Split { requests, witness });
            }
            self.forward.drop_first(ahead);
            self.backward.drop_first(back);
        }
        Progress::More
    }

    /// The connection has ended.
    pub(super) fn end(&mut self, pools: &mut Pools) {
        if self.gathers.is_none() {
            self.read_gathers(true, pools);
            self.read_splits();
        }
        if self.gathers.is_none() {
            let partial = Gathers::read(&self.forward, &self.backward);
            self.gathers = partial.map(|gathers| gathers.share(&mut pools.members));
        }
        if self.as_root_reply().is_none() {
            (self.forward, self.backward) = (Direction::default(), Direction::default());
        }
    }

    pub(super) fn push_fact(&self, magic: u64, ends: &Ends, facts: &mut ControlFacts) {
        let Some(witness) = self.witness else { return };
        let partial = || Gathers::read(&self.forward, &self.backward).map(std::borrow::Cow::Owned);
        let whole = self.gathers.as_ref().map(std::borrow::Cow::Borrowed);
        if let Some(gathers) = whole.or_else(partial) {
            facts.rings.push(Ring {
                magic: Some(magic),
                comm_hash: gathers.comm_hash,
                connector: ends.connector,
                listener: ends.listener,
                connector_rank: Some(gathers.connector_rank),
                nranks: Some(gathers.nranks),
                members: gathers.members.clone(),
                splits: self.splits.clone(),
                releases: gathers.releases,
                span: self.span,
                witness,
            });
        } else if let Some(reply) = self.as_root_reply() {
            facts.root_replies.push(RootReply {
                magic: Some(magic),
                root: ends.connector.ip(),
                root_listener: ends.listener,
                next_ring_listener: root_reply::next_ring_listener(reply),
                witness,
            });
        }
    }

    /// The only frame, if it can be a root's reply.
    fn as_root_reply(&self) -> Option<&[u8]> {
        let is_alone = self.forward.len() == 1 && self.backward.len() == 0;
        let frame = self.forward.get(0).filter(|_| is_alone)?;
        root_reply::next_ring_listener(frame).map(|_| frame)
    }

    /// Bytes of memory, without those of frames.
    pub(super) fn kept(&self) -> usize {
        let requests: usize = self.splits.iter().map(|split| split.requests.capacity()).sum();
        self.forward.kept()
            + self.backward.kept()
            + self.gathers.as_ref().map_or(0, Gathers::kept)
            + requests * size_of::<SplitRequest>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::control::direction::COST;

    #[test]
    fn the_gathers_of_ten_thousand_ranks_are_read() {
        for layout in &LAYOUTS {
            let addresses = layout.addresses.gathers;
            let lens = addresses.iter().copied().chain([layout.peer_info.len, layout.topology.len]);
            let rank: usize = lens.map(|len| len + COST).sum();
            assert!(10_000 * rank < SIZE_LIMIT, "{rank} bytes a rank");
        }
    }
}
