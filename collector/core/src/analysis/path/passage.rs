//! Whether packets passed between two ports while senders had no answer.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::outage::{Outage, UNANSWERED_NS};
use super::tally::{Direction, FlowEnds, peer_of};
use crate::analysis::state::State;
use crate::flow::episode::Outage as FlowOutage;
use crate::flow::requester::Requester;
use crate::flow::state::Flow;
use crate::model::psn::Psn;
use crate::model::tap::TapId;
use crate::model::time::{Span, Timestamp};

/// Packets still arrive for this many round trips after the first unanswered one: they were in flight,
/// or sent before its answer was due.
const ROUND_TRIPS: u64 = 4;

/// The least time for that: queues may be longer than usual.
const IN_FLIGHT_NS: u64 = 100_000;

/// The length of a round trip where none was measured.
const ROUND_TRIP_NS: u64 = 25_000;

/// A resend that is lost before one that arrives is sent in the middle of the outage. Timers differ, so it may be
/// later than that by this part of the outage, one in so many.
const TIMERS_APART: u64 = 50;

/// A tap that stopped this much before a frame was sent was off: clocks differ, and packets are on their
/// way for a while.
const CLOCKS_APART_NS: u64 = 50_000_000;

/// A flow whose last packet is unanswered belongs to an outage that began this much later, at most: what did not
/// get an answer in an earlier job is another outage.
const LAST_SENT_BEFORE_NS: u64 = 1_000_000_000;

/// What became of the packets of one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// The source sent, and nothing arrived.
    Dead,
    /// Packets arrived.
    Alive,
    /// The source sent nothing, or one end was not captured.
    Unknown,
}

/// What passed in the first half of an outage, up to what was sent again in its middle. In the second half the path
/// may have worked again, unnoticed until the next timer expired.
#[derive(Clone, Debug, Default)]
pub struct Passages {
    by_direction: BTreeMap<Direction, Passage>,
    /// Ports whose own tap saw no frame of theirs, though it captured.
    silent: BTreeSet<IpAddr>,
    /// When each port sent its last frame before that time, at its own tap.
    last_sent: BTreeMap<IpAddr, Timestamp>,
    /// Directions with unanswered requests in that time.
    waiting: BTreeSet<Direction>,
    /// Directions whose source's own tap was on in that time.
    watched: BTreeSet<Direction>,
    /// Directions of which some tap saw a packet in that time.
    heard: BTreeSet<Direction>,
    /// A round trip before the first unanswered packet.
    began: Timestamp,
}

impl Passages {
    /// What passed during `outage`: its longest part begins with the first unanswered packet.
    #[must_use]
    pub fn new(state: &State, flows: &FlowEnds<'_>, outage: &Outage) -> Self {
        let Span { first, .. } = outage.longest;
        let round_trip_ns = outage.round_trip_ns.unwrap_or(ROUND_TRIP_NS);
        let in_flight_ns = round_trip_ns.saturating_mul(ROUND_TRIPS).max(IN_FLIGHT_NS);
        let length_ns = outage.longest.length_ns();
        // What is sent again must have time to arrive.
        let half_ns = (length_ns / 2 + length_ns / TIMERS_APART).saturating_add(in_flight_ns);
        let half_ns = half_ns.min(length_ns);
        let half = Span { first: first.plus_nanos(in_flight_ns), last: first.plus_nanos(half_ns) };
        let is_silent = |flow: &Flow| flow.is_silent_in(by_clock_of(state, flow, half));
        let began = first.plus(-i64::try_from(round_trip_ns).unwrap_or(0));
        let mut passages = Self { began, ..Self::default() };
        let heard = state.tracker.flows().flows().iter().filter(|flow| !is_silent(flow));
        passages.heard =
            heard.map(|flow| (flow.key.source.to_ip(), flow.key.destination.to_ip())).collect();
        let mut talkative: BTreeSet<IpAddr> = BTreeSet::new();
        for ends in flows.iter() {
            let (source, destination) = ends.direction();
            // After the end of its tap, a port may have sent unseen.
            let ended = flows.cut_at(source);
            let is_seen = |sent: &bool| *sent || ended.is_none_or(|ended| half.last <= ended);
            let sent = ends.sender.map(|flow| !is_silent(flow)).filter(is_seen);
            if sent.is_some() {
                passages.watched.insert((source, destination));
            }
            // A tap that ended early must have gone on until the last packet was sent.
            let (until, slack_ns) =
                if flows.is_cut_short(ends) { (half.last, 0) } else { (first, CLOCKS_APART_NS) };
            let due = ends.sender.and_then(|flow| last_before(state, flow, until));
            let captured =
                ends.receiver.filter(|flow| is_on(state, flow, half.first, (due, slack_ns)));
            let arrived = captured.map(|flow| !is_silent(flow));
            // What is sent once, or again only after seconds, shows it only by whether it arrived.
            let unanswered = ends.sender.filter(|_| outage.is_waiting);
            let unanswered = unanswered.and_then(|flow| {
                Unanswered::new(state, flow, by_clock_of(state, flow, outage.span).first)
            });
            let (sent, arrived) = match unanswered {
                Some(one) => (Some(true), captured.and_then(|flow| one.has_arrived(state, flow))),
                None => (sent, arrived),
            };
            let passage = match (sent, arrived) {
                (_, Some(true)) => Passage::Alive,
                (Some(true), Some(false)) => Passage::Dead,
                _ => Passage::Unknown,
            };
            passages.add((source, destination), passage);
            if ends.sender.is_some_and(|flow| is_waiting(state, flow, outage)) {
                passages.waiting.insert((source, destination));
            }
            let last = ends.sender.and_then(|flow| last_before(state, flow, half.first));
            if let Some(last) = last {
                let known = passages.last_sent.entry(source).or_insert(last);
                *known = last.max(*known);
            }
            match sent {
                Some(true) => _ = talkative.insert(source),
                Some(false) => _ = passages.silent.insert(source),
                None => {}
            }
        }
        passages.silent.retain(|port| !talkative.contains(port));
        passages
    }

    /// One live flow proves that packets pass; else one dead flow that they do not.
    fn add(&mut self, direction: Direction, passage: Passage) {
        let known = self.by_direction.entry(direction).or_insert(Passage::Unknown);
        *known = match (*known, passage) {
            (Passage::Alive, _) | (_, Passage::Alive) => Passage::Alive,
            (Passage::Dead, _) | (_, Passage::Dead) => Passage::Dead,
            _ => Passage::Unknown,
        };
    }

    /// What became of the packets of `direction`.
    #[must_use]
    pub fn of(&self, direction: Direction) -> Passage {
        self.by_direction.get(&direction).copied().unwrap_or(Passage::Unknown)
    }

    /// The directions of which this became.
    pub fn directions(&self, passage: Passage) -> impl Iterator<Item = Direction> {
        let all = self.by_direction.iter().filter(move |(_, one)| **one == passage);
        all.map(|(direction, _)| *direction)
    }

    /// Whether the port had sent nothing for a round trip when the first unanswered packet was sent to
    /// it: where all ranks begin a collective at once, it could not.
    #[must_use]
    pub fn never_began(&self, port: IpAddr) -> bool {
        self.last_sent.get(&port).is_some_and(|last| *last < self.began)
    }

    /// Whether the port's own tap saw it send something after `time`, before nothing came back.
    #[must_use]
    pub fn has_sent_since(&self, port: IpAddr, time: Timestamp) -> bool {
        self.last_sent.get(&port).is_some_and(|last| *last >= time)
    }

    /// Whether the port had requests to send again.
    #[must_use]
    pub fn is_waiting(&self, port: IpAddr) -> bool {
        self.waiting.iter().any(|(source, _)| *source == port)
    }

    /// Whether a port exchanges packets with several others, and all but one of them well: those of which no tap
    /// shows whether they miss answers do not count.
    #[must_use]
    pub fn has_one_sick_peer(&self, port: IpAddr) -> bool {
        let peer = |direction: &Direction| peer_of(port, *direction);
        let dead = self.by_direction.iter().filter(|(_, passage)| **passage == Passage::Dead);
        let sick: BTreeSet<IpAddr> =
            dead.map(|(direction, _)| direction).chain(&self.waiting).filter_map(peer).collect();
        let is_known = |direction: &&Direction| {
            self.watched.contains(*direction) && direction.1 == port
                || self.of(**direction) == Passage::Alive
        };
        let known = self.by_direction.keys().filter(is_known).filter_map(peer);
        let all: BTreeSet<IpAddr> = known.chain(sick.iter().copied()).collect();
        all.len() > 1 && sick.len() == 1
    }

    /// Whether some tap saw the port send something to others than `peer`.
    #[must_use]
    pub fn talks_beside(&self, port: IpAddr, peer: IpAddr) -> bool {
        self.heard.iter().any(|(source, other)| *source == port && *other != peer)
    }

    /// Whether some tap saw the port send anything.
    #[must_use]
    pub fn talks(&self, port: IpAddr) -> bool {
        self.heard.iter().any(|(source, _)| *source == port)
    }

    /// Whether the port's own tap saw it send nothing at all.
    #[must_use]
    pub fn is_silent(&self, port: IpAddr) -> bool {
        self.silent.contains(&port)
    }
}

/// Whether packets of a flow left its sender, never came to its receiver and have had no ACK, though the taps of both went
/// on for `patience_ns` and lack nothing.
#[must_use]
pub fn never_arrived(state: &State, sender: &Flow, receiver: &Flow, patience_ns: u64) -> bool {
    let round_trips = &sender.requester().round_trips;
    // A tap that sees no ACKs shows nothing.
    if round_trips.durations().samples() == 0 {
        return false;
    }
    let Some(waits_since) = round_trips.waits_since() else { return false };
    let sent = state.aligned(sender.key.tap, waits_since);
    let is_whole = |tap: TapId| {
        let last = state.last_frame(tap);
        let goes_on = last.is_some_and(|last| last.nanos_since(sent) >= patience_ns);
        goes_on && state.tracker.lost_frames(tap) == 0
    };
    let unanswered = || Unanswered::new(state, sender, Timestamp::EPOCH);
    is_whole(sender.key.tap)
        && is_whole(receiver.key.tap)
        && unanswered().is_some_and(|one| one.has_arrived(state, receiver) == Some(false))
}

/// Packets of a flow that have had no ACK.
struct Unanswered {
    first: Psn,
    last: Psn,
    /// When its last frame was sent, aligned.
    sent: Timestamp,
    /// It was sent so long ago that its ACK is not under way.
    is_due: bool,
}

impl Unanswered {
    /// Those sent since then, by the clock of the flow's own tap; `None` if there are none.
    fn new(state: &State, flow: &Flow, since: Timestamp) -> Option<Self> {
        let Requester { requests, round_trips, .. } = flow.requester();
        let first = round_trips.outstanding_since(since)?;
        let tap = flow.key.tap;
        let sent = state.aligned(tap, flow.span.last);
        let end = state.last_frame(tap)?;
        Some(Self {
            first: requests.wrap(first),
            last: requests.high()?,
            sent,
            is_due: end.nanos_since(sent) >= UNANSWERED_NS,
        })
    }

    /// Whether they arrived at the tap of `receiver`; `None` if it may have missed them. The first ones of a message
    /// may arrive before the path dies, and are not acknowledged without the last one.
    fn has_arrived(&self, state: &State, receiver: &Flow) -> Option<bool> {
        let high = receiver.requester().requests.high();
        let has = |psn: Psn| high.is_some_and(|high| !psn.is_after(high));
        if !has(self.first) {
            return Some(false);
        }
        if has(self.last) || !self.is_due {
            return Some(true);
        }
        let tap = receiver.key.tap;
        let goes_on = state.last_frame(tap).is_some_and(|last| last >= self.sent);
        (goes_on && state.tracker.lost_frames(tap) == 0).then_some(false)
    }
}

/// Whether the tap of `receiver` captured at `time`: it had begun, and had not stopped, but for `slack_ns`, before
/// the frame that is `due` there was sent.
fn is_on(
    state: &State,
    receiver: &Flow,
    time: Timestamp,
    (due, slack_ns): (Option<Timestamp>, u64),
) -> bool {
    let tap = receiver.key.tap;
    let Some(span) = state.tracker.tap(tap).and_then(|tap| tap.span) else { return false };
    let (first, last) = (state.aligned(tap, span.first), state.aligned(tap, span.last));
    first <= time && due.is_none_or(|due| due <= last.plus_nanos(slack_ns))
}

/// The last frame of the flow that may have left before `time`, aligned: where a long silence covers it,
/// the frame before that; `None` if the flow began later.
fn last_before(state: &State, flow: &Flow, time: Timestamp) -> Option<Timestamp> {
    let aligned = |at: Timestamp| state.aligned(flow.key.tap, at);
    let covering = flow
        .longest_silences
        .iter()
        .find(|one| aligned(one.first) <= time && time <= aligned(one.last));
    let last = covering.map_or_else(|| aligned(flow.span.last).min(time), |one| aligned(one.first));
    (aligned(flow.span.first) <= time).then_some(last)
}

/// Whether requests of the flow had no answer during the outage: they were sent again at its end, or
/// never were.
fn is_waiting(state: &State, flow: &Flow, outage: &Outage) -> bool {
    let outage = by_clock_of(state, flow, outage.longest);
    let resent = flow.episodes.as_ref().map(|episodes| episodes.outages()).unwrap_or_default();
    let overlaps = |own: &FlowOutage| {
        own.start <= outage.last && outage.first <= own.end.unwrap_or(own.last_try)
    };
    let is_of_then = flow.span.last <= outage.last
        && outage.first <= flow.span.last.plus_nanos(LAST_SENT_BEFORE_NS);
    resent.iter().any(overlaps) || (flow.awaits_answer() && is_of_then)
}

/// `span`, which is aligned, by the clock of the flow's own tap.
fn by_clock_of(state: &State, flow: &Flow, span: Span) -> Span {
    let tap = flow.key.tap;
    let shift = |time: Timestamp| time.plus(-state.aligned(tap, time).relative_to(time));
    Span { first: shift(span.first), last: shift(span.last) }
}
