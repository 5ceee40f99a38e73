//! Packets sent from one port to another, and how many of them never arrived.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::analysis::state::State;
use crate::flow::state::Flow;
use crate::link::position::Position;
use crate::model::qpn::Qpn;

/// Longest time between the first frames of a flow at its two ends; beyond that, one of the captures
/// began later.
const STARTS_APART_NS: u64 = 50_000_000;

/// One direction between two ports: source and destination.
pub type Direction = (IpAddr, IpAddr);

/// The packets of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Packets seen to leave the source.
    pub sent: u64,
    /// Of these, packets that did not arrive: sent here and never seen there. Without a tap at the
    /// destination, a lower bound: gaps that a tap behind the loss found.
    pub lost: u64,
    /// Taps at both ends saw the packets.
    pub is_whole: bool,
}

/// One flow as its sender's tap and its receiver's tap saw it.
#[derive(Clone, Copy, Default)]
pub struct Ends<'a> {
    /// Its view at the sender's tap.
    pub sender: Option<&'a Flow>,
    /// Its view at the receiver's tap.
    pub receiver: Option<&'a Flow>,
}

/// The two ends of every flow, with its direction. ACKs and CNPs are flows of their own.
#[must_use]
pub fn ends(state: &State) -> Vec<(Direction, Ends<'_>)> {
    let mut flows: BTreeMap<(IpAddr, IpAddr, Qpn, u32), Ends<'_>> = BTreeMap::new();
    for flow in state.tracker.flows().flows() {
        let key = &flow.key;
        let name = (key.source.to_ip(), key.destination.to_ip(), key.dest_qpn, flow.epoch);
        let ends = flows.entry(name).or_default();
        let end = match state.position(flow) {
            Position::Sender => &mut ends.sender,
            Position::Receiver => &mut ends.receiver,
            Position::Fabric | Position::Unknown => continue,
        };
        if end.is_none_or(|known| known.frames < flow.frames) {
            *end = Some(flow);
        }
    }
    flows
        .into_iter()
        .map(|((source, destination, ..), ends)| ((source, destination), ends))
        .collect()
}

/// The packets of every direction.
#[must_use]
pub fn tallies(state: &State, ends: &[(Direction, Ends<'_>)]) -> BTreeMap<Direction, Tally> {
    let mut tallies: BTreeMap<Direction, Tally> = BTreeMap::new();
    for (direction, ends) in ends {
        let Some(tally) = ends.tally(state) else { continue };
        let known =
            tallies.entry(*direction).or_insert(Tally { is_whole: true, ..Tally::default() });
        known.sent += tally.sent;
        known.lost += tally.lost;
        known.is_whole &= tally.is_whole;
    }
    tallies
}

impl Ends<'_> {
    fn tally(&self, state: &State) -> Option<Tally> {
        match (self.sender, self.receiver) {
            (Some(sender), Some(receiver)) if is_comparable(state, sender, receiver) => {
                let uncaptured = receiver.requests.counts().uncaptured_packets;
                let lost = sender.frames.saturating_sub(receiver.frames + uncaptured);
                Some(Tally { sent: sender.frames, lost, is_whole: true })
            }
            (_, Some(receiver)) => {
                let counts = receiver.requests.counts();
                let lost = counts
                    .gap_packets
                    .saturating_sub(counts.uncaptured_packets + counts.out_of_order_packets);
                Some(Tally { sent: receiver.frames + lost, lost, is_whole: false })
            }
            (Some(sender), None) => Some(Tally { sent: sender.frames, lost: 0, is_whole: false }),
            (None, None) => None,
        }
    }
}

/// Whether both taps saw the flow from its start, and the receiver's lost no frame itself.
fn is_comparable(state: &State, sender: &Flow, receiver: &Flow) -> bool {
    let first = |flow: &Flow| state.aligned(flow.key.tap, flow.span.first);
    state.tracker.lost_frames(receiver.key.tap) == 0
        && first(receiver).relative_to(first(sender)).unsigned_abs() <= STARTS_APART_NS
}
