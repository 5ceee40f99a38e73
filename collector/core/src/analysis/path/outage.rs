//! Times in which ports tried again and again and nothing came back.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::passage::{Passage, Passages};
use super::tally::{Direction, FlowEnds, Tally};
use crate::analysis::state::State;
use crate::decode::counter::measure::Measure;
use crate::flow::episode::{Episodes, LONGEST_DELAY_NS, Outage as FlowOutage};
use crate::flow::state::Flow;
use crate::link::position::Position;
use crate::model::address::HostAddress;
use crate::model::tap::TapId;
use crate::model::time::{Span, Timestamp};

/// From so many expired timers in a row without an answer on, a flow alone shows an outage. One resend
/// may be lost by chance, two in a row hardly ever.
const LEAST_TRIES: u32 = 2;

/// From so many flows on, whose timers expired once, and at the same time, they show one together: a
/// timer of seconds expires once in a short outage.
const LEAST_AT_ONCE: usize = 3;

/// A NIC may count a link that goes down this much before or after packets stop: it waits before it
/// does, and an idle link carries nothing.
const LINK_DOWN_APART_NS: u64 = 5_000_000_000;

/// Fewer expired timers, over all flows of an outage, are chance.
const LEAST_IN_ALL: u64 = 3;

/// A packet that had no ACK for this long has none under way: timers of seconds (`NCCL_IB_TIMEOUT`) expire later.
pub(super) const UNANSWERED_NS: u64 = 100_000_000;

/// A sender that has not tried again for so many times its timer has given up: a NIC may wait up to four times as
/// long as it was told (IBTA volume 1, 9.7.6.1.3).
const LATE_TRIES: u64 = 4;

/// So many flows that wait for their first ACK show an outage together: one last packet may be lost by chance.
const LEAST_WAITING: usize = 2;

/// Outages of one capture that are judged, those with most expired timers.
const MOST: usize = 32;

/// Timeouts in a row that loss is expected to cause more often than this are no outage.
const MOST_BY_LOSS: f64 = 0.5;

/// Outages of several flows that overlap, in order of time.
#[derive(Clone, Debug)]
pub struct Outage {
    /// From the first packet without an answer to the last answer, or to the end of the capture.
    pub span: Span,
    /// The longest time in which one flow tried and had no answer.
    pub longest: Span,
    /// When its flows tried: senders give up, and their packets say nothing of what comes later.
    pub tried: Span,
    /// Median time of a round trip of that flow; `None` if it had none.
    pub round_trip_ns: Option<u64>,
    /// Nothing came back until the end.
    pub is_open: bool,
    /// Flows that had no answer, by place in the flow table.
    pub flows: BTreeSet<u32>,
    /// Source and destination of these flows, with their number.
    pub directions: BTreeMap<(IpAddr, IpAddr), u64>,
    /// Its flows wait for their first ACK, most of them without a timer that has expired yet.
    pub is_waiting: bool,
    /// Timers that expired, over all flows.
    pub tries: u64,
    /// Timers that expired on one flow.
    pub most_tries: u32,
    /// Timers of these flows that expired over the whole capture.
    pub timeouts: u64,
    /// Packets of these flows that were sent again.
    resent: u64,
    /// All packets of these flows.
    frames: u64,
}

/// Whether the tap of a flow would see answers to it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hearing {
    /// It sees packets from the flow's destination to its source.
    Peer,
    /// It sees packets from others to the source.
    Others,
    /// It sees nothing that is sent to the source.
    Nothing,
}

/// One flow without an answer.
#[derive(Clone)]
struct Silent {
    at: u32,
    direction: (IpAddr, IpAddr),
    span: Span,
    /// Until its answer, or until the next try would have been due.
    tried: Span,
    is_open: bool,
    tries: u32,
    timeouts: u64,
    resent: u64,
    frames: u64,
    round_trip_ns: Option<u64>,
}

/// The outages of all flows, in order of time. Of flows of a communicator that has `stalled`, by place in the flow
/// table, packets that wait for their first ACK show one, too.
#[must_use]
pub fn outages(
    state: &State,
    ends: &FlowEnds<'_>,
    tallies: &BTreeMap<Direction, Tally>,
    stalled: &BTreeSet<u32>,
) -> Vec<Outage> {
    let taps = (0..).map(TapId).zip(state.tracker.taps());
    let lasts = taps.filter_map(|(id, tap)| Some(state.aligned(id, tap.span?.last)));
    let end = lasts.max().unwrap_or_default();
    let all = state.tracker.flows().flows();
    let is_silent = |flow: &Flow| {
        flow.episodes.as_deref().is_some_and(|episodes| !episodes.outages().is_empty())
    };
    if stalled.is_empty() && !all.iter().any(is_silent) {
        return Vec::new();
    }
    // Taps that see what is sent to a port would see answers to it.
    let heard: BTreeSet<(TapId, HostAddress)> =
        all.iter().map(|flow| (flow.key.tap, flow.key.destination)).collect();
    let pairs: BTreeSet<(TapId, HostAddress, HostAddress)> =
        all.iter().map(|flow| (flow.key.tap, flow.key.source, flow.key.destination)).collect();
    let hearing = |flow: &Flow| {
        let key = &flow.key;
        match () {
            () if pairs.contains(&(key.tap, key.destination, key.source)) => Hearing::Peer,
            () if heard.contains(&(key.tap, key.source)) => Hearing::Others,
            () => Hearing::Nothing,
        }
    };
    // Only the tap next to the sender sees both what is sent again and all answers; without one, that next
    // to the receiver sees what arrives again, and that nothing is sent back.
    let sources: BTreeSet<HostAddress> = all
        .iter()
        .filter(|flow| state.position(flow) == Position::Sender)
        .map(|flow| flow.key.source)
        .filter(|source| ends.cut_at(source.to_ip()).is_none())
        .collect();
    let sees = |flow: &Flow| match state.position(flow) {
        Position::Sender | Position::Unknown => true,
        Position::Receiver => !sources.contains(&flow.key.source),
        Position::Fabric => false,
    };
    let seen = || (0..).zip(all).filter(|(_, flow)| sees(flow));
    let silent = seen().flat_map(|(at, flow)| silent(state, at, flow, end, hearing(flow)));
    let (again, mut once): (Vec<_>, Vec<_>) = silent.partition(|one| one.tries >= LEAST_TRIES);
    let is_waiting = |one: &Silent| one.is_open && stalled.contains(&one.at);
    let mut waiting: Vec<Silent> = once.extract_if(.., |one| is_waiting(one)).collect();
    let mut outages = together(again.clone());
    outages.retain(|outage| outage.expected_by_loss(tallies) < MOST_BY_LOSS);
    let few: Vec<Outage> = outages.extract_if(.., |one| one.tries < LEAST_IN_ALL).collect();
    let is_of_few = |one: &Silent| few.iter().any(|outage| outage.has(one));
    waiting.extend(again.into_iter().filter(|one| is_waiting(one) && is_of_few(one)));
    let mut short = together(once);
    short.retain(|one| !one.is_part_of(&outages) && one.is_shown_by_single_tries(state, ends));
    outages.extend(short);
    let of_stalled = seen().filter(|(at, _)| stalled.contains(at));
    let heard = of_stalled.filter(|(_, flow)| hearing(flow) == Hearing::Peer);
    waiting.extend(heard.filter_map(|(at, flow)| unanswered(state, at, flow, end)));
    let mut waiting = together(waiting);
    waiting.iter_mut().for_each(|one| one.is_waiting = true);
    waiting.retain(|one| {
        let is_shown =
            || one.is_shown_by_waiting(state, ends) || one.is_shown_by_single_tries(state, ends);
        !one.is_part_of(&outages) && is_shown()
    });
    outages.extend(waiting);
    outages.sort_by_key(|outage| Reverse(outage.tries));
    outages.truncate(MOST);
    outages.sort_by_key(|outage| outage.span.first);
    outages
}

/// Flows that were silent at the same time.
fn together(mut silent: Vec<Silent>) -> Vec<Outage> {
    silent.sort_by_key(|one| (one.tried.first, one.at));
    let mut outages: Vec<Outage> = Vec::new();
    for one in silent {
        match outages.last_mut().filter(|open| one.tried.first <= open.tried.last) {
            Some(outage) => outage.add(&one),
            None => {
                let mut outage = Outage {
                    span: one.span,
                    longest: one.tried,
                    tried: one.tried,
                    round_trip_ns: one.round_trip_ns,
                    is_open: false,
                    is_waiting: false,
                    flows: BTreeSet::new(),
                    directions: BTreeMap::new(),
                    tries: 0,
                    most_tries: 0,
                    timeouts: 0,
                    resent: 0,
                    frames: 0,
                };
                outage.add(&one);
                outages.push(outage);
            }
        }
    }
    outages
}

impl Outage {
    /// How often as many timers of one flow are expected to expire in a row by loss: other timeouts
    /// show how often the first one does, the loss of its directions how often the next ones do.
    fn expected_by_loss(&self, tallies: &BTreeMap<Direction, Tally>) -> f64 {
        let others = self.timeouts.saturating_sub(self.tries);
        let ways = self.directions.keys().flat_map(|(one, other)| [(*one, *other), (*other, *one)]);
        let tallies: Vec<&Tally> = ways.filter_map(|way| tallies.get(&way)).collect();
        let shares = tallies.iter().map(|tally| tally.lost as f64 / tally.sent.max(1) as f64);
        // Without taps at both ends, what was sent again is an upper bound.
        let is_counted = tallies.iter().any(|tally| tally.is_whole);
        let resent = self.resent as f64 / self.frames.max(1) as f64;
        let share = shares.fold(if is_counted { 0.0 } else { resent }, f64::max);
        let more = self.most_tries.saturating_sub(1);
        others as f64 * share.powi(i32::try_from(more).unwrap_or(i32::MAX))
    }

    /// Whether flows whose timers expired once show an outage: the NIC of a port counted a link that
    /// went down; or several flows fell silent at once, never else, and nothing passed in the meantime.
    fn is_shown_by_single_tries(&self, state: &State, ends: &FlowEnds<'_>) -> bool {
        let is_at_once = self.flows.len() >= LEAST_AT_ONCE
            && self.tried.length_ns()
                <= self.longest.length_ns().saturating_add(self.longest.length_ns() / 4)
            && self.timeouts == self.tries;
        let is_dead = || {
            let passages = Passages::new(state, ends, self);
            let mut dead = passages.directions(Passage::Dead);
            dead.any(|(one, other)| self.is_between(one, other))
        };
        self.counted_down(state).is_some() || (is_at_once && is_dead())
    }

    /// Whether packets that wait for their first ACK show an outage: several flows have some, or they arrived.
    fn is_shown_by_waiting(&self, state: &State, ends: &FlowEnds<'_>) -> bool {
        let has_arrived = || {
            let passages = Passages::new(state, ends, self);
            let mut arrived = passages.directions(Passage::Alive);
            arrived.any(|direction| self.directions.contains_key(&direction))
        };
        self.flows.len() >= LEAST_WAITING || has_arrived()
    }

    /// Whether one of these was at one of its ports at the same time.
    fn is_part_of(&self, outages: &[Self]) -> bool {
        outages.iter().any(|outage| {
            outage.tried.overlaps(self.tried) && outage.ports().any(|port| self.has_end(port))
        })
    }

    /// The only one of its ports whose NIC counted that its link went down.
    #[must_use]
    pub fn counted_down(&self, state: &State) -> Option<IpAddr> {
        let is_down = |port: &IpAddr| {
            let mut nics = state.counters.of_port(*port);
            nics.any(|nic| {
                let rises = nic.of_measure(Measure::LinkDown).flat_map(|(_, one)| one.rises());
                let mut spans = rises.filter(|(_, rise)| *rise > 0).map(|(span, _)| span);
                spans.any(|span| {
                    span.first <= self.tried.last.plus_nanos(LINK_DOWN_APART_NS)
                        && self.tried.first <= span.last.plus_nanos(LINK_DOWN_APART_NS)
                })
            })
        };
        let down: BTreeSet<IpAddr> = self.ports().filter(is_down).collect();
        down.first().copied().filter(|_| down.len() == 1)
    }

    /// Its ports; those of several directions come several times.
    fn ports(&self) -> impl Iterator<Item = IpAddr> {
        self.directions.keys().flat_map(|(one, other)| [*one, *other])
    }

    /// Whether it is one of its ports.
    #[must_use]
    pub fn has_end(&self, port: IpAddr) -> bool {
        self.ports().any(|own| own == port)
    }

    /// Whether requests from one of these ports to the other had no answer.
    #[must_use]
    pub fn is_between(&self, one: IpAddr, other: IpAddr) -> bool {
        [(one, other), (other, one)].iter().any(|way| self.directions.contains_key(way))
    }

    fn has(&self, one: &Silent) -> bool {
        self.flows.contains(&one.at) && self.tried.overlaps(one.tried)
    }

    fn add(&mut self, one: &Silent) {
        self.span.last = self.span.last.max(one.span.last);
        self.is_open |= one.is_open;
        self.tried.last = self.tried.last.max(one.tried.last);
        if one.tried.length_ns() > self.longest.length_ns() {
            self.longest = one.tried;
            self.round_trip_ns = one.round_trip_ns;
        }
        *self.directions.entry(one.direction).or_default() += 1;
        self.tries += u64::from(one.tries);
        self.most_tries = self.most_tries.max(one.tries);
        // A flow may have been silent twice in it.
        if self.flows.insert(one.at) {
            self.timeouts += one.timeouts;
            self.resent += one.resent;
            self.frames += one.frames;
        }
    }
}

/// Whether it tried again only after longer than a receiver may tell it to wait.
fn is_spaced(outage: &FlowOutage) -> bool {
    let between = u64::from(outage.tries.saturating_sub(1));
    let length_ns = outage.last_try.nanos_since(outage.first_resend.time);
    between > 0 && length_ns / between > LONGEST_DELAY_NS
}

/// Time between two tries, in nanoseconds.
fn between(outage: &FlowOutage) -> u64 {
    outage.last_try.nanos_since(outage.start) / u64::from(outage.tries.max(1))
}

fn direction(flow: &Flow) -> Direction {
    (flow.key.source.to_ip(), flow.key.destination.to_ip())
}

/// A flow that waits for an ACK from then until `end`, aligned, though its tap went on and misses nothing.
fn unanswered(state: &State, at: u32, flow: &Flow, end: Timestamp) -> Option<Silent> {
    let sent = flow.requester().round_trips.waits_since()?;
    let tap = flow.key.tap;
    let first = state.aligned(tap, sent);
    let watched_ns = state.last_frame(tap)?.nanos_since(first);
    let durations = flow.requester().round_trips.durations();
    let is_seen = durations.samples() > 0 && state.tracker.lost_frames(tap) == 0;
    let span = Span { first, last: end.max(first) };
    (is_seen && watched_ns >= UNANSWERED_NS).then(|| Silent {
        at,
        direction: direction(flow),
        span,
        tried: span,
        is_open: true,
        tries: 0,
        timeouts: 0,
        resent: 0,
        frames: flow.frames,
        round_trip_ns: durations.quantile_ns(0.5),
    })
}

/// The outages of one flow until `end`, aligned, as its tap saw them.
fn silent(
    state: &State,
    at: u32,
    flow: &Flow,
    end: Timestamp,
    hearing: Hearing,
) -> impl Iterator<Item = Silent> {
    let episodes = flow.episodes.as_deref();
    let outages = episodes.map(Episodes::outages).unwrap_or_default();
    let timeouts = episodes.map_or(0, Episodes::expired);
    let tap = flow.key.tap;
    let is_near = state.position(flow) == Position::Sender;
    outages.iter().filter_map(move |outage| {
        // A sender that goes on had an answer, seen or not.
        let went_on = flow.requester().requests.length() > outage.sent;
        let unseen = (!outage.has_way_back && went_on).then_some(outage.last_try);
        let answered = outage.end.or(unseen);
        let would_be_seen = match hearing {
            Hearing::Peer => true,
            Hearing::Others => outage.has_way_back || answered.is_none(),
            // One that sends the same again until the end had no answer, unless it is told to wait each time.
            Hearing::Nothing => {
                outage.has_way_back || (answered.is_none() && (is_near || is_spaced(outage)))
            }
        };
        let first = state.aligned(tap, outage.start);
        let last = answered.map_or(end, |answered| state.aligned(tap, answered));
        let span = Span { first, last: last.max(first) };
        let due = state
            .aligned(tap, outage.last_try.plus_nanos(between(outage).saturating_mul(LATE_TRIES)));
        let tried = Span { first, last: span.last.min(due.max(first)) };
        would_be_seen.then(|| Silent {
            at,
            direction: direction(flow),
            span,
            tried,
            is_open: answered.is_none(),
            tries: outage.tries,
            timeouts,
            resent: flow.requester().requests.counts().retransmitted_packets,
            frames: flow.frames,
            round_trip_ns: flow.requester().round_trips.durations().quantile_ns(0.5),
        })
    })
}
