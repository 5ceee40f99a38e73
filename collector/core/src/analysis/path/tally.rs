//! Packets sent from one port to another, and how many of them never arrived.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use crate::analysis::state::State;
use crate::flow::state::Flow;
use crate::link::position::Position;
use crate::model::tap::TapId;
use crate::model::time::Timestamp;

/// Longest time between the first frames of a flow at its two ends; beyond that, one of the captures
/// began later.
const STARTS_APART_NS: u64 = 50_000_000;

/// A capture that lacks more of a flow than this, in time, began or stopped within it: packets are on
/// their way for a while, and clocks are not exact.
const CUT_NS: u64 = 1_000_000;

/// One direction between two ports: source and destination.
pub type Direction = (IpAddr, IpAddr);

/// The other end of a direction that has this port at one.
#[must_use]
pub fn peer_of(port: IpAddr, (source, destination): Direction) -> Option<IpAddr> {
    match port {
        _ if port == source => Some(destination),
        _ if port == destination => Some(source),
        _ => None,
    }
}

/// The packets of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Packets that left the source: those that its tap saw, and those missing there.
    pub sent: u64,
    /// Of these, packets that did not arrive: sent here and never seen there. Without taps at
    /// both ends, a lower bound: gaps that a tap behind the loss found.
    pub lost: u64,
    /// Taps at both ends saw the packets, so all that were lost are counted.
    pub is_whole: bool,
}

/// One flow as its sender's tap and its receiver's tap saw it.
#[derive(Clone, Copy)]
pub struct Ends<'a> {
    /// Any view of it.
    flow: &'a Flow,
    /// Its view at the sender's tap.
    pub sender: Option<&'a Flow>,
    /// Its view at the receiver's tap.
    pub receiver: Option<&'a Flow>,
}

/// The two ends of all flows. ACKs and CNPs are flows of their own.
pub struct FlowEnds<'a> {
    state: &'a State,
    all: Vec<Ends<'a>>,
    /// When any tap saw the last frame of each port.
    latest: BTreeMap<IpAddr, Timestamp>,
    /// Ports whose own captures ended before, and when.
    cut: BTreeMap<IpAddr, Timestamp>,
}

impl<'a> FlowEnds<'a> {
    /// Of all flows of a state.
    #[must_use]
    pub fn new(state: &'a State) -> Self {
        let latest = latest_sent(state);
        let of_flow = |views: &[u32]| {
            let views = || views.iter().map(|at| (state.tracker.flows().at(*at), Reverse(*at)));
            let fullest = |position| {
                let there = views().filter(|(flow, _)| state.position(flow) == position);
                there.max_by_key(|(flow, place)| (flow.frames, *place)).map(|(flow, _)| flow)
            };
            let [sender, receiver] = [Position::Sender, Position::Receiver].map(fullest);
            Some(Ends { flow: views().next()?.0, sender, receiver })
        };
        let mut all = Vec::with_capacity(state.flows_over_taps().count());
        all.extend(state.flows_over_taps().filter_map(of_flow));
        Self { state, all, cut: cut_short(state, &latest), latest }
    }

    /// Those of each flow.
    pub fn iter(&self) -> impl Iterator<Item = &Ends<'a>> {
        self.all.iter()
    }

    /// The receiver's tap ended before its port sent its last frame, which other taps saw: as a file does that
    /// was copied while it was written.
    #[must_use]
    pub fn is_cut_short(&self, ends: &Ends<'_>) -> bool {
        ends.receiver.is_some_and(|receiver| {
            let sent = self.latest.get(&receiver.key.destination.to_ip());
            has_ended_before(self.state, receiver.key.tap, sent)
        })
    }

    /// When the captures at a port ended, if that was before the port sent its last frame.
    #[must_use]
    pub fn cut_at(&self, port: IpAddr) -> Option<Timestamp> {
        self.cut.get(&port).copied()
    }

    /// The packets of every direction.
    #[must_use]
    pub fn tallies(&self) -> BTreeMap<Direction, Tally> {
        let mut tallies: BTreeMap<Direction, Tally> = BTreeMap::new();
        for ends in &self.all {
            let Some(tally) = ends.tally(self.state) else { continue };
            let whole = Tally { is_whole: true, ..Tally::default() };
            let known = tallies.entry(ends.direction()).or_insert(whole);
            known.sent += tally.sent;
            known.lost += tally.lost;
            known.is_whole &= tally.is_whole;
        }
        tallies
    }
}

/// The ports whose own captures ended before the port sent its last frame, which other taps saw, and when.
#[must_use]
pub fn cut_short_at_source(state: &State) -> BTreeMap<IpAddr, Timestamp> {
    cut_short(state, &latest_sent(state))
}

fn cut_short(state: &State, latest: &BTreeMap<IpAddr, Timestamp>) -> BTreeMap<IpAddr, Timestamp> {
    let flows = state.tracker.flows().flows().iter();
    let near = flows.filter(|flow| state.position(flow) == Position::Sender);
    let near: BTreeSet<(IpAddr, TapId)> =
        near.map(|flow| (flow.key.source.to_ip(), flow.key.tap)).collect();
    // Of captures one after the other, the last counts.
    let mut ended: BTreeMap<IpAddr, Timestamp> = BTreeMap::new();
    for (port, tap) in near {
        let Some(end) = state.last_frame(tap) else { continue };
        let known = ended.entry(port).or_insert(end);
        *known = end.max(*known);
    }
    ended.retain(|port, end| latest.get(port).is_some_and(|sent| end.plus_nanos(CUT_NS) < *sent));
    ended
}

/// Whether the tap ended before that frame was sent.
fn has_ended_before(state: &State, tap: TapId, sent: Option<&Timestamp>) -> bool {
    let end = state.last_frame(tap);
    end.zip(sent).is_some_and(|(end, sent)| end.plus_nanos(CUT_NS) < *sent)
}

/// When any tap saw the last frame of each port.
fn latest_sent(state: &State) -> BTreeMap<IpAddr, Timestamp> {
    let mut latest: BTreeMap<IpAddr, Timestamp> = BTreeMap::new();
    for flow in state.tracker.flows().flows() {
        let last = state.aligned_span(flow).last;
        let known = latest.entry(flow.key.source.to_ip()).or_insert(last);
        *known = last.max(*known);
    }
    latest
}

impl Ends<'_> {
    /// From where to where it goes.
    #[must_use]
    pub fn direction(&self) -> Direction {
        (self.flow.key.source.to_ip(), self.flow.key.destination.to_ip())
    }

    fn tally(&self, state: &State) -> Option<Tally> {
        match (self.sender, self.receiver) {
            (Some(sender), Some(receiver)) if is_comparable(state, sender, receiver) => {
                let uncaptured = receiver.requester().requests.counts().uncaptured_packets;
                let sent = sender.frames + missing_at_source(sender);
                let (only_sent, only_arrived) = outside(state, sender, receiver);
                let arrived = (receiver.frames + uncaptured).saturating_sub(only_arrived);
                let lost = sent.saturating_sub(only_sent + arrived);
                Some(Tally { sent, lost, is_whole: true })
            }
            (_, Some(receiver)) => {
                let counts = receiver.requester().requests.counts();
                let lost = counts
                    .gap_packets
                    .saturating_sub(counts.uncaptured_packets + counts.out_of_order_packets);
                Some(Tally { sent: receiver.frames + lost, lost, is_whole: false })
            }
            (Some(sender), None) => {
                let uncaptured = sender.requester().requests.counts().uncaptured_packets;
                let lost = missing_at_source(sender).saturating_sub(uncaptured);
                Some(Tally { sent: sender.frames + lost, lost, is_whole: false })
            }
            (None, None) => None,
        }
    }
}

/// Packets that the sender's own tap never saw, though later ones passed: lost in the host or its NIC, or
/// not captured.
fn missing_at_source(sender: &Flow) -> u64 {
    let counts = sender.requester().requests.counts();
    counts.gap_packets.saturating_sub(counts.out_of_order_packets + counts.unresolved_packets)
}

/// Packets before and after the part of the flow that both captures hold: those only the sender's holds,
/// and those only the receiver's does. Captures hardly ever start and stop at the same packet.
fn outside(state: &State, sender: &Flow, receiver: &Flow) -> (u64, u64) {
    let (Some(sent), Some(arrived)) =
        (sender.requester().requests.first(), receiver.requester().requests.first())
    else {
        return (0, 0);
    };
    let later = i64::from(arrived.distance_from(sent));
    let longer =
        sender.requester().requests.length() - (later + receiver.requester().requests.length());
    let ahead = |packets: i64, is_cut: bool| if is_cut { packets.max(0).unsigned_abs() } else { 0 };
    let (at_sender, at_receiver) = (cuts(state, sender, receiver), cuts(state, receiver, sender));
    (
        ahead(later, at_receiver.0) + ahead(longer, at_receiver.1),
        ahead(-later, at_sender.0) + ahead(-longer, at_sender.1),
    )
}

/// Whether the tap of `one` began after the other end saw the flow, and whether it stopped before the
/// other end saw the last of it.
fn cuts(state: &State, one: &Flow, other: &Flow) -> (bool, bool) {
    let tap = one.key.tap;
    let Some(span) = state.tracker.tap(tap).and_then(|tap| tap.span) else { return (false, false) };
    let other = state.aligned_span(other);
    let (first, last) = (state.aligned(tap, span.first), state.aligned(tap, span.last));
    (other.first.plus_nanos(CUT_NS) < first, last.plus_nanos(CUT_NS) < other.last)
}

/// Whether both taps saw the flow from its start, and the receiver's lost no frame itself. Where one of
/// them stopped early, numbers show how much it lacks of requests, but not of ACKs.
fn is_comparable(state: &State, sender: &Flow, receiver: &Flow) -> bool {
    let first = |flow: &Flow| state.aligned(flow.key.tap, flow.span.first);
    let is_cut = cuts(state, sender, receiver) != (false, false)
        || cuts(state, receiver, sender) != (false, false);
    let has_requests_only =
        sender.requester().requests.first().is_some() && sender.responses.psns().is_none();
    state.tracker.lost_frames(receiver.key.tap) == 0
        && first(receiver).relative_to(first(sender)).unsigned_abs() <= STARTS_APART_NS
        && (!is_cut || has_requests_only)
}
