//! The search for the collectives that explain a communicator's messages at the least cost: a
//! shortest path over the progress of each connection.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::calls::{Call, Size};
use super::cut;
use super::lane::Lane;
use super::reading::{Fences, Pattern, Reading, end_of};
use super::ring::Ring;
use super::slicing::Slicing;
use super::stream;
use super::thresholds::{
    ALTERNATIVE, APART, BEHIND, BORROWED, CHEAPEST, CONTRADICTION, OPERATION, STATES, UNPROVEN,
};
use super::traffic::{ChannelLanes, Traffic};
use crate::model::nccl::{CollectiveKind, Protocol};
use crate::model::time::Timestamp;

/// Number of explained messages, by lane.
type Cursors = Box<[u32]>;

/// One collective that was found.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// How its messages are cut.
    pub protocol: Protocol,
    /// The slicing of its chunks; `None` if it was cut off.
    pub slicing: Option<Slicing>,
    /// The part on each channel.
    pub readings: Vec<Reading>,
    /// Kinds that explain the same messages as well.
    pub alternatives: Vec<CollectiveKind>,
    /// Where its messages begin, by lane.
    pub from: Box<[u32]>,
}

struct State {
    cost: u64,
    parent: usize,
    /// Collectives so far.
    count: usize,
    explanation: Option<Explanation>,
    cursors: Cursors,
}

/// The collectives of `traffic`, in order, without sends and receives.
#[must_use]
pub fn explain(traffic: &Traffic) -> Vec<Explanation> {
    let mut search = Search::new(traffic);
    let mut reached = None;
    while let Some((_, Open { at, cost })) = search.open.pop_first() {
        reached = Some(at);
        if !search.is_behind(cost) {
            search.expand(at);
            search.prune();
        }
    }
    let mut found = Vec::new();
    while let Some(at) = reached {
        let state = &mut search.states[at];
        let Some(explanation) = state.explanation.take() else { break };
        found.push(explanation);
        reached = Some(state.parent);
    }
    found.reverse();
    found
}

/// When ranks began what one channel carries, by their ends of what another does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Beginning {
    /// A rank that was not done yet.
    Before,
    /// Each rank sent later.
    SentLater,
    /// Each rank asked later: NCCL's proxy asks on all channels of a collective at once
    /// (`proxy.cc`), so this is the next one, which a rank that is done begins while others are not.
    AskedLater,
}

#[derive(Clone, Copy)]
struct Open {
    at: usize,
    cost: u64,
}

struct Search<'a> {
    traffic: &'a Traffic,
    /// By lane and message: the fences of those before it.
    fences: Vec<Vec<Fences>>,
    states: Vec<State>,
    /// States to continue from, by number of messages explained, with their costs.
    open: BTreeMap<(u64, Cursors), Open>,
}

impl<'a> Search<'a> {
    fn new(traffic: &'a Traffic) -> Self {
        let mut cursors: Cursors = vec![0; traffic.lanes.len()].into();
        for place in &traffic.point_to_point {
            cursors[*place] = traffic.lanes[*place].messages.len() as u32;
        }
        let first = Open { at: 0, cost: 0 };
        let open = BTreeMap::from([((sum(&cursors), cursors.clone()), first)]);
        let start = State { cost: 0, parent: 0, count: 0, explanation: None, cursors };
        let fences = traffic.lanes.iter().map(fences_before).collect();
        Self { traffic, fences, states: vec![start], open }
    }

    fn expand(&mut self, at: usize) {
        let state = &self.states[at];
        let (cost, cursors) = (state.cost, state.cursors.clone());
        let call = self.traffic.expected(state.count);
        let Some(lead) = self.lead(&cursors) else { return };
        let mut options = self.options(lead, &cursors);
        let is_first = cursors
            .iter()
            .zip(&self.traffic.lanes)
            .all(|(cursor, lane)| *cursor == 0 || lane.messages.len() == *cursor as usize);
        let may_begin_amid = is_first && !self.traffic.is_from_start();
        if options.is_empty() || may_begin_amid {
            options.extend(self.cut_off(lead, &cursors, options.is_empty()));
        }
        let mut by_target: BTreeMap<Cursors, Vec<(u32, Explanation)>> = BTreeMap::new();
        for (cost, explanation) in options {
            let is_called =
                call.is_none_or(|call| explanation.is_called(call, self.traffic.nranks));
            let cost = cost + if is_called { 0 } else { CONTRADICTION };
            let mut target = cursors.clone();
            for (lane, count) in explanation.readings.iter().flat_map(|reading| &reading.lanes) {
                target[*lane] += *count as u32;
            }
            by_target.entry(target).or_default().push((cost, explanation));
        }
        for (target, mut same) in by_target {
            same.sort_by_key(|(cost, _)| *cost);
            let kinds: Vec<(u32, CollectiveKind)> =
                same.iter().map(|(cost, found)| (*cost, found.kind())).collect();
            let Some((own_cost, mut best)) = same.into_iter().next() else { continue };
            for (cost, kind) in kinds {
                let is_new = kind != best.kind() && !best.alternatives.contains(&kind);
                if is_new && cost < own_cost + ALTERNATIVE {
                    best.alternatives.push(kind);
                }
            }
            let doubt = self.doubt(&best, &cursors);
            self.reach(at, target, cost + u64::from(own_cost) + u64::from(doubt), best);
        }
    }

    /// Cost of a collective at `cursors` whose end or beginning no CTS proves.
    fn doubt(&self, explanation: &Explanation, cursors: &[u32]) -> u32 {
        let (mut end, mut inside) = (Fences::default(), Fences::default());
        let mut begin = Fences::default();
        let mut lanes = 0;
        for (place, count) in explanation.readings.iter().flat_map(|reading| &reading.lanes) {
            let from = cursors[*place] as usize;
            let lane = &self.traffic.lanes[*place];
            lanes += 1;
            begin.add_known(lane.begins_at(from));
            end.add_message(lane, from + count);
            let fences = &self.fences[*place];
            if let Some((to, first)) = fences.get(from + count).zip(fences.get(from + 1)) {
                inside.add(to.since(*first));
            }
        }
        match explanation.pattern() {
            Pattern::Cut => UNPROVEN,
            _ if begin.denies() => {
                end.cost_of_doubt(inside).saturating_add(inside.cost_of_hiding(lanes))
            }
            _ => end.cost_of_doubt(inside),
        }
    }

    fn reach(&mut self, parent: usize, cursors: Cursors, cost: u64, explanation: Explanation) {
        let key = (sum(&cursors), cursors);
        if self.open.get(&key).is_some_and(|known| known.cost <= cost) {
            return;
        }
        let cursors = key.1.clone();
        let count = self.states[parent].count + 1;
        self.states.push(State { cost, parent, count, explanation: Some(explanation), cursors });
        self.open.insert(key, Open { at: self.states.len() - 1, cost });
    }

    /// A state that explains more costs much less.
    fn is_behind(&self, cost: u64) -> bool {
        self.open.values().any(|other| other.cost + BEHIND < cost)
    }

    /// Keeps [`CHEAPEST`] states for their cost, the others for their cost per message.
    fn prune(&mut self) {
        let count = self.open.len();
        if count <= STATES {
            return;
        }
        let costs: Vec<(u64, u64)> = self
            .open
            .iter()
            .map(|((messages, _), open)| (open.cost, open.cost * 1000 / (messages + 1)))
            .collect();
        let mut places: Vec<usize> = (0..count).collect();
        // At equal cost, those that explain more.
        places.sort_unstable_by_key(|place| (costs[*place].0, Reverse(*place)));
        let dear = &mut places[CHEAPEST..];
        dear.sort_unstable_by_key(|place| (costs[*place].1, Reverse(*place)));
        let mut is_kept = vec![false; count];
        places.iter().take(STATES).for_each(|place| is_kept[*place] = true);
        let mut is_kept = is_kept.into_iter();
        self.open.retain(|_, _| is_kept.next().unwrap_or(false));
    }

    /// The channel with the earliest message that is not explained yet.
    fn lead(&self, cursors: &[u32]) -> Option<usize> {
        let start = |channel: &ChannelLanes| {
            let open = channel.places().into_iter().filter(|place| self.is_open(*place, cursors));
            open.map(|place| self.start(place, cursors)).min()
        };
        let starts = self.traffic.channels.iter().map(start).enumerate();
        starts
            .filter_map(|(channel, start)| Some((start?, channel)))
            .min()
            .map(|(_, channel)| channel)
    }

    fn start(&self, place: usize, cursors: &[u32]) -> Timestamp {
        let (lane, cursor) = self.lane(place, cursors);
        lane.time_at(cursor).unwrap_or(Timestamp::MAX)
    }

    fn lane(&self, place: usize, cursors: &[u32]) -> (&'a Lane, usize) {
        (&self.traffic.lanes[place], cursors[place] as usize)
    }

    /// There are messages left to explain.
    fn is_open(&self, place: usize, cursors: &[u32]) -> bool {
        let (lane, cursor) = self.lane(place, cursors);
        lane.remaining(cursor) > 0
    }

    fn lanes(&self, places: &[usize], cursors: &[u32]) -> Vec<(&'a Lane, usize)> {
        places.iter().map(|place| self.lane(*place, cursors)).collect()
    }

    /// What the next messages of the channels offer, by the earliest lane of each.
    fn capacity(&self, channel: &ChannelLanes, cursors: &[u32]) -> Option<u64> {
        let lanes = channel.ring.iter().chain(&channel.tree);
        let open = lanes
            .filter(|place| self.lane(**place, cursors).0.remaining(cursors[**place] as usize) > 0);
        let earliest = open.min_by_key(|place| self.start(**place, cursors))?;
        let (lane, cursor) = self.lane(*earliest, cursors);
        lane.capacity_at(cursor)
    }

    /// Everything that may begin at `cursors` on the channel `lead`, with what other channels add.
    fn options(&self, lead: usize, cursors: &[u32]) -> Vec<(u32, Explanation)> {
        let channels = &self.traffic.channels;
        let capacity = self.capacity(&channels[lead], cursors);
        let slicings = self.traffic.slicings(capacity);
        let mut found = Vec::new();
        for (slicing, is_ring) in [(slicings.0, true), (slicings.1, false)] {
            let Some(slicing) = slicing else { continue };
            let leading = self.readings(&channels[lead], cursors, &slicing, is_ring);
            if leading.is_empty() {
                continue;
            }
            let others: Vec<(Timestamp, Vec<Reading>)> = channels
                .iter()
                .enumerate()
                .filter(|(place, _)| *place != lead)
                .map(|(_, channel)| {
                    let readings = self.readings(channel, cursors, &slicing, is_ring);
                    let places = readings.first().map_or(&[][..], |reading| &reading.lanes);
                    let start = places.iter().map(|(place, _)| self.start(*place, cursors)).min();
                    (start.unwrap_or(Timestamp::MAX), readings)
                })
                .collect();
            for reading in leading {
                let next = self.next_start(&reading, cursors);
                let others: Vec<&(Timestamp, Vec<Reading>)> =
                    others.iter().filter(|(start, _)| *start <= next).collect();
                found.extend(self.join(reading, &others, &slicing, cursors));
            }
        }
        found
    }

    /// The collective that `reading` is part of: with the channels that a rank used at the
    /// same time, and with all that fit.
    fn join(
        &self,
        reading: Reading,
        others: &[&(Timestamp, Vec<Reading>)],
        slicing: &Slicing,
        cursors: &[u32],
    ) -> Vec<(u32, Explanation)> {
        let ends = self.ends_by_rank(&reading, cursors);
        let mut overlapping = vec![reading.clone()];
        let mut fitting = vec![reading.clone()];
        let mut apart = 0;
        for (start, readings) in others {
            let same = readings
                .iter()
                .filter(|other| other.kind == reading.kind && other.pattern == reading.pattern);
            let distance = |other: &&Reading| (other.cost, other.loops.abs_diff(reading.loops));
            let Some(partner) = same.min_by_key(distance) else { continue };
            let is_after = reading.end.is_some_and(|end| *start > end);
            match self.beginning(partner, &ends, cursors) {
                Some(Beginning::AskedLater) => continue,
                Some(Beginning::Before) | None if !is_after => overlapping.push(partner.clone()),
                _ => apart += APART,
            }
            fitting.push(partner.clone());
        }
        let explain = |readings: Vec<Reading>, extra: u32| {
            let worst = readings.iter().map(|reading| reading.cost).max().unwrap_or(0);
            let explanation = Explanation {
                protocol: slicing.protocol,
                slicing: Some(*slicing),
                readings,
                alternatives: Vec::new(),
                from: cursors.into(),
            };
            (OPERATION + worst + extra, explanation)
        };
        let mut found = vec![explain(overlapping, 0)];
        if apart > 0 {
            found.push(explain(fitting, apart));
        }
        found
    }

    /// When each rank had sent and received the last of `reading`.
    fn ends_by_rank(&self, reading: &Reading, cursors: &[u32]) -> BTreeMap<u32, Timestamp> {
        let mut ends = BTreeMap::new();
        for (place, count) in &reading.lanes {
            let lane = self.lane(*place, cursors);
            let Some(end) = end_of(&[lane], *count) else { continue };
            for rank in lane.0.sender.into_iter().chain(lane.0.receiver) {
                let known = ends.entry(rank).or_insert(end);
                *known = end.max(*known);
            }
        }
        ends
    }

    /// When ranks began `other`, by their `ends` of what another channel carries; `None` where no
    /// rank is known.
    fn beginning(
        &self,
        other: &Reading,
        ends: &BTreeMap<u32, Timestamp>,
        cursors: &[u32],
    ) -> Option<Beginning> {
        let mut found = None;
        for (place, _) in &other.lanes {
            let (lane, cursor) = self.lane(*place, cursors);
            let offered = lane.message(cursor).and_then(|first| first.offered);
            let events = [
                (lane.sender, lane.time_at(cursor), Beginning::SentLater),
                (lane.receiver, offered, Beginning::AskedLater),
            ];
            for (rank, began, later) in events {
                let end = rank.and_then(|rank| ends.get(&rank));
                let Some((began, end)) = began.zip(end) else { continue };
                if began <= *end {
                    return Some(Beginning::Before);
                }
                found = found.max(Some(later));
            }
        }
        found
    }

    /// When the channel's next messages begin after `reading`. A rank begins its next collective when this one
    /// has ended on all channels: one that begins later has no part in it.
    fn next_start(&self, reading: &Reading, cursors: &[u32]) -> Timestamp {
        let next = reading.lanes.iter().filter_map(|(place, count)| {
            let (lane, cursor) = self.lane(*place, cursors);
            lane.time_at(cursor + count)
        });
        next.min().unwrap_or(Timestamp::MAX)
    }

    /// The readings of one channel.
    fn readings(
        &self,
        channel: &ChannelLanes,
        cursors: &[u32],
        slicing: &Slicing,
        is_ring: bool,
    ) -> Vec<Reading> {
        let lanes = self.lanes(&channel.ring, cursors);
        if is_ring {
            let ring = Ring {
                lanes,
                places: &channel.ring,
                positions: &channel.positions,
                next: &channel.next,
                nranks: self.traffic.nranks,
                is_cell_split: self.traffic.is_cell_split,
            };
            return ring.readings(slicing);
        }
        let mut found = stream::chain(&lanes, &channel.ring, channel.is_whole, slicing);
        let tree = stream::tree(&self.lanes(&channel.tree, cursors), &channel.tree, slicing);
        found.extend(tree.into_iter().map(|mut reading| {
            reading.cost += if channel.has_tree { 0 } else { BORROWED };
            reading
        }));
        found
    }

    /// The messages at `cursors` as part of a collective that was not captured completely.
    fn cut_off(
        &self,
        lead: usize,
        cursors: &[u32],
        is_last_resort: bool,
    ) -> Option<(u32, Explanation)> {
        let channels = &self.traffic.channels;
        let reading = |channel: &ChannelLanes| {
            let places = channel.places();
            let lanes = self.lanes(&places, cursors);
            let start = places.iter().map(|place| self.start(*place, cursors)).min();
            let reading = cut::reading(&lanes, &places, is_last_resort)?;
            Some((start.unwrap_or(Timestamp::MAX), reading))
        };
        let (_, leading) = reading(&channels[lead])?;
        let cost = OPERATION + leading.cost;
        let is_part = |(start, other): &(Timestamp, Reading)| {
            Some(*start) <= leading.end && other.cost == leading.cost
        };
        let others = channels.iter().enumerate().filter(|(place, _)| *place != lead);
        let others = others.filter_map(|(_, channel)| reading(channel)).filter(is_part);
        let others: Vec<Reading> = others.map(|(_, reading)| reading).collect();
        let capacity = self.capacity(&channels[lead], cursors);
        let protocol = capacity.map_or(Protocol::Unknown, |capacity| {
            let (ring, stream) = self.traffic.slicings(Some(capacity));
            ring.or(stream).map_or(Protocol::Unknown, |slicing| slicing.protocol)
        });
        let explanation = Explanation {
            protocol,
            slicing: None,
            readings: std::iter::once(leading).chain(others).collect(),
            alternatives: Vec::new(),
            from: cursors.into(),
        };
        Some((cost, explanation))
    }
}

impl Explanation {
    /// What it does.
    #[must_use]
    pub fn kind(&self) -> CollectiveKind {
        self.readings.first().map_or(CollectiveKind::Unknown, |reading| reading.kind)
    }

    /// Bytes as nccl-tests counts them; `None` if messages are missing.
    #[must_use]
    pub fn bytes(&self, nranks: usize) -> Option<u64> {
        let share: Option<u64> = self.readings.iter().map(|reading| reading.share).sum();
        let is_part =
            matches!(self.kind(), CollectiveKind::AllGather | CollectiveKind::ReduceScatter);
        share.map(|share| if is_part { share * nranks as u64 } else { share })
    }

    /// Whether it can be the collective of `call`.
    fn is_called(&self, call: &Call, nranks: usize) -> bool {
        let size = Size {
            bytes: self.bytes(nranks),
            channels: self.readings.len(),
            protocol: self.protocol,
        };
        self.pattern() == Pattern::Cut || (self.kind() == call.kind && call.has_size(size, nranks))
    }

    /// How it runs.
    #[must_use]
    pub fn pattern(&self) -> Pattern {
        self.readings.first().map_or(Pattern::Cut, |reading| reading.pattern)
    }
}

/// Per message, and after the last one: the fences of the messages before it.
fn fences_before(lane: &Lane) -> Vec<Fences> {
    let mut fences = Fences::default();
    let of_all = (0..lane.messages.len()).map(|at| {
        fences.add_message(lane, at);
        fences
    });
    std::iter::once(Fences::default()).chain(of_all).collect()
}

fn sum(cursors: &[u32]) -> u64 {
    cursors.iter().map(|cursor| u64::from(*cursor)).sum()
}

#[cfg(test)]
mod tests;
