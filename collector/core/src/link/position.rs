//! The position of a tap: next to a host, or in the fabric. It limits what the tap can know: next
//! to the sender, no switch has marked a packet yet, and an ACK round trip is complete.

use std::collections::{BTreeMap, BTreeSet};

use crate::flow::state::Flow;
use crate::flow::tap::TapState;
use crate::flow::tracker::FlowTracker;
use crate::model::address::HostAddress;
use crate::model::direction::Direction;

/// Ratio of round trips in both directions above which the near side is known.
const NEAR_RATIO: u64 = 4;

/// Round trips required in both directions before they are compared.
const ROUND_TRIPS_WANTED: u64 = 16;

/// A tap's position relative to one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// Next to the flow's sender.
    Sender,
    /// Next to the flow's receiver.
    Receiver,
    /// Next to neither.
    Fabric,
    /// Nothing shows where it is.
    Unknown,
}

/// Why a host is considered next to a tap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NearEvidence {
    /// The capture says which frames the interface sent and which it received.
    Direction,
    /// It takes part in all traffic at the tap, with several peers.
    CommonHost,
    /// Its requests show complete round trips, its peer's only the turnaround.
    RoundTrip,
    /// Of two taps between the same two hosts, this one sees the longer round trips of its requests.
    LongerRoundTrip,
}

/// The hosts next to one tap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TapPosition {
    /// Hosts whose own link the tap observes, with the reason.
    pub near: BTreeMap<HostAddress, NearEvidence>,
    /// Whether the frames come from a switch's mirror session.
    pub is_mirror: bool,
}

impl TapPosition {
    /// The tap's position relative to a flow from `source` to `destination`.
    #[must_use]
    pub fn for_flow(&self, source: HostAddress, destination: HostAddress) -> Position {
        let near = |address| self.near.contains_key(&address);
        match (near(source), near(destination)) {
            (true, false) => Position::Sender,
            (false, true) => Position::Receiver,
            (false, false) if self.is_mirror || !self.near.is_empty() => Position::Fabric,
            _ => Position::Unknown,
        }
    }
}

/// The position of every tap, from the flows it saw.
#[must_use]
pub fn of_taps(tracker: &FlowTracker) -> Vec<TapPosition> {
    let taps = tracker.taps();
    let mut flows = vec![Vec::new(); taps.len()];
    for flow in tracker.flows().flows() {
        flows[flow.key.tap.0 as usize].push(flow);
    }
    let mut positions: Vec<TapPosition> =
        taps.iter().zip(&flows).map(|(tap, flows)| of_tap(tap, flows)).collect();
    compare_pairs(&flows, &mut positions);
    positions
}

/// Where just two taps see all traffic of two hosts: the round trip of a request includes that which
/// a tap further down the path sees, so it is longer at the tap nearer to its sender. That holds
/// also where a slow host makes its peer's round trips the longer ones at both taps.
fn compare_pairs(flows: &[Vec<&Flow>], positions: &mut [TapPosition]) {
    let mut pairs: BTreeMap<[HostAddress; 2], Vec<usize>> = BTreeMap::new();
    for (tap, flows) in flows.iter().enumerate() {
        let hosts: BTreeSet<HostAddress> =
            flows.iter().flat_map(|flow| [flow.key.source, flow.key.destination]).collect();
        if let [one, other] = hosts.into_iter().collect::<Vec<_>>()[..] {
            pairs.entry([one, other]).or_default().push(tap);
        }
    }
    for (hosts, taps) in pairs {
        let [first, second] = taps[..] else { continue };
        let round_trips = [first, second].map(|tap| round_trips(&flows[tap]));
        // Positive where the first tap sees the longer round trips of a host.
        let longer = hosts.map(|host| {
            let [at_first, at_second] = [0, 1].map(|at: usize| round_trips[at].get(&host));
            at_first
                .zip(at_second)
                .map_or(0, |(one, other)| i64::from(one > other) - i64::from(one < other))
        });
        let near = match longer {
            [1, 0 | -1] | [0, -1] => hosts,
            [-1, 0 | 1] | [0, 1] => [hosts[1], hosts[0]],
            _ => {
                contradict(first, second, positions);
                continue;
            }
        };
        for (tap, host) in [first, second].into_iter().zip(near) {
            let position = &mut positions[tap];
            if position.near.values().all(|evidence| *evidence == NearEvidence::RoundTrip)
                && !position.is_mirror
            {
                position.near = BTreeMap::from([(host, NearEvidence::LongerRoundTrip)]);
            }
        }
    }
}

/// Two taps whose own round trips put both next to one host: one of them is wrong, and nothing shows which.
fn contradict(first: usize, second: usize, positions: &mut [TapPosition]) {
    let by_round_trip =
        |near: &Near| near.values().all(|evidence| *evidence == NearEvidence::RoundTrip);
    let [one, other] = [first, second].map(|tap| positions[tap].near.clone());
    if !one.is_empty() && one == other && by_round_trip(&one) {
        positions[first].near.clear();
        positions[second].near.clear();
    }
}

/// The shortest median round trip of each host's requests.
fn round_trips(flows: &[&Flow]) -> BTreeMap<HostAddress, u64> {
    let mut shortest: BTreeMap<HostAddress, u64> = BTreeMap::new();
    for flow in flows {
        let durations = flow.requester().round_trips.durations();
        if durations.samples() >= ROUND_TRIPS_WANTED
            && let Some(median) = durations.quantile_ns(0.5)
        {
            let known = shortest.entry(flow.key.source).or_insert(median);
            *known = median.min(*known);
        }
    }
    shortest
}

fn of_tap(tap: &TapState, flows: &[&Flow]) -> TapPosition {
    if tap.mirrored_frames > tap.frames / 2 {
        return TapPosition { near: BTreeMap::new(), is_mirror: true };
    }
    let near = by_direction(flows)
        .or_else(|| by_common_host(flows))
        .or_else(|| by_round_trip(flows))
        .unwrap_or_default();
    TapPosition { near, is_mirror: false }
}

type Near = BTreeMap<HostAddress, NearEvidence>;

fn by_direction(flows: &[&Flow]) -> Option<Near> {
    let near: Near = flows
        .iter()
        .filter_map(|flow| match flow.direction? {
            Direction::Sent => Some(flow.key.source),
            Direction::Received => Some(flow.key.destination),
        })
        .map(|host| (host, NearEvidence::Direction))
        .collect();
    (!near.is_empty()).then_some(near)
}

fn by_common_host(flows: &[&Flow]) -> Option<Near> {
    let host = common_host(flows.iter().map(|flow| (flow.key.source, flow.key.destination)))?;
    Some(BTreeMap::from([(host, NearEvidence::CommonHost)]))
}

/// The host that takes part in all traffic between pairs of hosts, with several peers.
pub(super) fn common_host(
    traffic: impl Iterator<Item = (HostAddress, HostAddress)>,
) -> Option<HostAddress> {
    let mut peers: BTreeMap<HostAddress, BTreeSet<HostAddress>> = BTreeMap::new();
    let mut pairs = BTreeSet::new();
    for (one, other) in traffic {
        peers.entry(one).or_default().insert(other);
        peers.entry(other).or_default().insert(one);
        pairs.insert((one.min(other), one.max(other)));
    }
    let mut common = peers.iter().filter(|(_, of)| of.len() >= 2 && of.len() == pairs.len());
    common.next().map(|(host, _)| *host)
}

/// The tap is near the host whose requests take longer to be acknowledged, if both hosts send requests.
fn by_round_trip(flows: &[&Flow]) -> Option<Near> {
    let [(one, one_ns), (other, other_ns)] = round_trips(flows).into_iter().collect::<Vec<_>>()[..]
    else {
        return None;
    };
    let near = if one_ns > other_ns.saturating_mul(NEAR_RATIO) {
        one
    } else if other_ns > one_ns.saturating_mul(NEAR_RATIO) {
        other
    } else {
        return None;
    };
    Some(BTreeMap::from([(near, NearEvidence::RoundTrip)]))
}
