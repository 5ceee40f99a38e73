//! Times in which ports tried again and again and nothing came back.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::tally::{Direction, Tally};
use crate::analysis::state::State;
use crate::flow::episode::Trigger;
use crate::flow::state::Flow;
use crate::link::position::Position;
use crate::model::time::{Span, Timestamp};
use crate::model::witness::Witness;

/// Timers that must have expired in a row without an answer. One resend may be lost by chance, two
/// in a row hardly ever.
const LEAST_TRIES: u32 = 2;

/// Outages of several flows that overlap, in order of time.
#[derive(Clone, Debug)]
pub struct Outage {
    /// From the first packet without an answer to the last answer, or to the end of the capture.
    pub span: Span,
    /// The longest time in which one flow had no answer.
    pub longest: Span,
    /// Median time of a round trip of that flow; `None` if it had none.
    pub round_trip_ns: Option<u64>,
    /// Nothing came back until the end.
    pub is_open: bool,
    /// Flows that had no answer, by place in the flow table.
    pub flows: BTreeSet<u32>,
    /// Source and destination of these flows, with their number.
    pub directions: BTreeMap<(IpAddr, IpAddr), u64>,
    /// Timers that expired, over all flows.
    pub tries: u64,
    /// Timers that expired on one flow.
    pub most_tries: u32,
    /// Timers of these flows that expired over the whole capture.
    pub timeouts: u64,
    /// The first retransmission.
    pub witness: Witness,
}

/// One flow without an answer.
struct Silent {
    at: u32,
    direction: (IpAddr, IpAddr),
    span: Span,
    is_open: bool,
    tries: u32,
    timeouts: u64,
    round_trip_ns: Option<u64>,
    witness: Witness,
}

/// Fewer expired timers, over all flows of an outage, are chance.
const LEAST_IN_ALL: u64 = 3;

/// Outages of one capture that are judged, those with most expired timers.
const MOST: usize = 32;

/// Timeouts in a row that loss is expected to cause more often than this are no outage.
const MOST_BY_LOSS: f64 = 0.5;

/// The outages of all flows, in order of time.
#[must_use]
pub fn outages(state: &State, tallies: &BTreeMap<Direction, Tally>) -> Vec<Outage> {
    let ends = state.tracker.taps().iter().filter_map(|tap| tap.span).map(|span| span.last);
    let end = ends.max().unwrap_or_default();
    let flows = (0..).zip(state.tracker.flows().flows());
    let mut silent: Vec<Silent> =
        flows.filter_map(|(at, flow)| silent(state, at, flow, end)).collect();
    silent.sort_by_key(|one| (one.span.first, one.at));
    let mut outages: Vec<Outage> = Vec::new();
    for one in silent {
        match outages.last_mut().filter(|open| one.span.first <= open.span.last) {
            Some(outage) => outage.add(&one),
            None => {
                let mut outage = Outage {
                    span: one.span,
                    longest: one.span,
                    round_trip_ns: one.round_trip_ns,
                    is_open: false,
                    flows: BTreeSet::new(),
                    directions: BTreeMap::new(),
                    tries: 0,
                    most_tries: 0,
                    timeouts: 0,
                    witness: one.witness,
                };
                outage.add(&one);
                outages.push(outage);
            }
        }
    }
    outages.retain(|outage| {
        outage.tries >= LEAST_IN_ALL && outage.expected_by_loss(tallies) < MOST_BY_LOSS
    });
    outages.sort_by_key(|outage| Reverse(outage.tries));
    outages.truncate(MOST);
    outages.sort_by_key(|outage| outage.span.first);
    outages
}

impl Outage {
    /// How often as many timers of one flow are expected to expire in a row by loss: other timeouts
    /// show how often the first one does, the loss of its directions how often the next ones do.
    fn expected_by_loss(&self, tallies: &BTreeMap<Direction, Tally>) -> f64 {
        let others = self.timeouts.saturating_sub(self.tries);
        let ways = self.directions.keys().flat_map(|(one, other)| [(*one, *other), (*other, *one)]);
        let shares = ways
            .filter_map(|way| tallies.get(&way))
            .map(|tally| tally.lost as f64 / tally.sent.max(1) as f64);
        let share = shares.fold(0.0, f64::max);
        let more = self.most_tries.saturating_sub(1);
        others as f64 * share.powi(i32::try_from(more).unwrap_or(i32::MAX))
    }

    fn add(&mut self, one: &Silent) {
        self.span.last = self.span.last.max(one.span.last);
        self.is_open |= one.is_open;
        if one.span.length_ns() > self.longest.length_ns() {
            self.longest = one.span;
            self.round_trip_ns = one.round_trip_ns;
        }
        self.flows.insert(one.at);
        *self.directions.entry(one.direction).or_default() += 1;
        self.tries += u64::from(one.tries);
        self.most_tries = self.most_tries.max(one.tries);
        self.timeouts += one.timeouts;
    }
}

/// The outage of one flow, as the tap next to its sender saw it: only that one sees both the
/// retransmissions and that nothing came back.
fn silent(state: &State, at: u32, flow: &Flow, end: Timestamp) -> Option<Silent> {
    let episodes = flow.episodes.as_ref()?;
    let outage = episodes.worst_outage()?;
    let is_near = matches!(state.position(flow), Position::Sender | Position::Unknown);
    if outage.tries < LEAST_TRIES || !is_near {
        return None;
    }
    let tap = flow.key.tap;
    let last = outage.end.unwrap_or(end);
    Some(Silent {
        at,
        direction: (flow.key.source.to_ip(), flow.key.destination.to_ip()),
        span: Span {
            first: state.aligned(tap, outage.start),
            last: state.aligned(tap, last.max(outage.start)),
        },
        is_open: outage.end.is_none(),
        tries: outage.tries,
        timeouts: episodes.totals(Trigger::Timeout).count,
        round_trip_ns: flow.round_trips.durations().quantile_ns(0.5),
        witness: state.frame(tap, outage.first_resend.frame, outage.first_resend.time),
    })
}
