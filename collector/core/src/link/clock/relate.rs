//! Finds the clocks of all taps: from each tap over taps that saw the same packets to the first
//! one, on the path with the least total uncertainty.
//!
//! A management network and a fabric have no packet in common. If the control plane shows that two
//! taps are next to the same machine, they are assumed to share its clock.

use std::collections::{BTreeMap, BTreeSet};

use super::clocks::{Clocks, TapClock};
use super::sighting::{Route, Sightings};
use super::track::{Track, WhyUnknown};
use super::upstream::{self, Upstream};
use crate::flow::tap::TapState;
use crate::link::control::facts::{ControlFacts, Endpoint};
use crate::link::position::TapPosition;
use crate::model::address::HostAddress;
use crate::model::tap::TapId;

/// Whether the clocks of `taps` may differ: live taps of this machine share one.
#[must_use]
pub fn has_clocks(taps: &[TapState]) -> bool {
    taps.len() > 1 && !taps.iter().all(|state| state.tap.format.is_live())
}

/// Relates the clocks of `taps`, located at `positions`, by the packets they saw and by the hosts
/// that the control plane names.
#[must_use]
pub fn relate(
    sightings: &Sightings,
    taps: &[TapState],
    positions: &[TapPosition],
    facts: &ControlFacts,
) -> Clocks {
    let mut clocks = Clocks::new(vec![TapClock::default(); positions.len()]);
    if positions.len() < 2 {
        return clocks;
    }
    if !has_clocks(taps) {
        let taps = (0..).map(TapId).take(positions.len());
        clocks.add(TapId(0), taps.map(|tap| (tap, Track::same())).collect(), None);
        return clocks;
    }
    let relations = Relations::new(sightings, taps, positions);
    let machines = Machines::new(facts, relations.near);
    for root in (0..).map(TapId).take(positions.len()) {
        if clocks.taps[root.0 as usize].reference.is_some() {
            continue;
        }
        let reached = relations.tracks.reached_from(root);
        if reached.len() < 2 {
            let why = relations.failures.get(&root).copied();
            clocks.taps[root.0 as usize].why_unknown = why.or(Some(WhyUnknown::NoCommonPackets));
            continue;
        }
        let shared =
            reached.keys().find_map(|tap| Some((*tap, machines.companion(*tap, &clocks)?)));
        match shared {
            Some((tap, companion)) if tap == root => clocks.add(root, reached, Some(companion)),
            Some((tap, companion)) => {
                clocks.add(tap, relations.tracks.reached_from(tap), Some(companion));
            }
            None => clocks.add(root, reached, None),
        }
    }
    clocks
}

impl Clocks {
    /// Adds taps with their offsets from `reference`, which is itself or shares the clock of its
    /// `companion`.
    fn add(&mut self, reference: TapId, reached: BTreeMap<TapId, Track>, companion: Option<TapId>) {
        let companion = companion.and_then(|tap| self.clock(tap)).cloned();
        let beyond = companion.as_ref().map(|clock| clock.timeline.clone()).unwrap_or_default();
        for (tap, track) in reached {
            let is_bounded = track.uncertainty_ns.is_some();
            self.taps[tap.0 as usize] = TapClock {
                reference: Some(reference),
                timeline: track.then(&beyond),
                track,
                why_unknown: (!is_bounded).then_some(WhyUnknown::OneWay),
            };
        }
        if let Some(companion) = companion {
            let unbounded =
                Track { uncertainty_ns: None, drift_uncertainty: None, ..companion.track };
            self.taps[reference.0 as usize] = TapClock {
                reference: companion.reference,
                track: unbounded,
                timeline: beyond,
                why_unknown: Some(WhyUnknown::SameMachine),
            };
        }
    }
}

/// Relations between pairs of taps.
struct Relations {
    tracks: Tracks,
    /// Why the clocks of two taps with common packets could not be compared.
    failures: BTreeMap<TapId, WhyUnknown>,
    /// Hosts that a tap is nearer to than another tap is.
    near: BTreeMap<TapId, BTreeSet<HostAddress>>,
}

/// By tap: its offset from each tap that saw some of its packets.
#[derive(Default)]
struct Tracks(BTreeMap<TapId, BTreeMap<TapId, Track>>);

impl Relations {
    fn new(sightings: &Sightings, states: &[TapState], positions: &[TapPosition]) -> Self {
        let mut relations =
            Self { tracks: Tracks::default(), failures: BTreeMap::new(), near: BTreeMap::new() };
        for (taps, pairs) in &sightings.pairs() {
            let [Some(first), Some(second)] = taps.map(|tap| positions.get(tap.0 as usize)) else {
                continue;
            };
            let upstream = upstream::upstream_routes(pairs, sightings.routes(), [first, second]);
            relations.add_near(*taps, &upstream, sightings.routes());
            for which in [0, 1] {
                let (tap, other) = (taps[which], taps[1 - which]);
                let state = states.get(tap.0 as usize);
                let Some(frames) = state.and_then(|state| state.span) else { continue };
                match Track::between(pairs, &upstream, which, frames) {
                    Ok(track) => {
                        relations.tracks.0.entry(tap).or_default().insert(other, track);
                    }
                    Err(why) => {
                        relations.failures.entry(tap).or_insert(why);
                    }
                }
            }
        }
        relations
    }

    fn add_near(&mut self, taps: [TapId; 2], upstream: &Upstream, routes: &[Route]) {
        for (route, is_first_near_low) in upstream {
            let Some(route) = routes.get(*route as usize) else { continue };
            let [one, other] = taps;
            let (low, high) = if *is_first_near_low { (one, other) } else { (other, one) };
            self.near.entry(low).or_default().insert(route.low);
            self.near.entry(high).or_default().insert(route.high);
        }
    }
}

impl Tracks {
    /// The offset from `root` of each tap reachable from it, on the best path (Dijkstra): the
    /// fewest one-sided relations, then the least uncertainty.
    fn reached_from(&self, root: TapId) -> BTreeMap<TapId, Track> {
        let mut reached = BTreeMap::new();
        let mut best = BTreeMap::from([(root, ((0_u32, 0_u64), Track::same()))]);
        let mut waiting = BTreeSet::from([((0_u32, 0_u64), root)]);
        while let Some((cost, tap)) = waiting.pop_first() {
            let Some((_, track)) = best.get(&tap).cloned() else { continue };
            for neighbour in self.0.get(&tap).into_iter().flat_map(BTreeMap::keys) {
                let Some(near) = self.0.get(neighbour).and_then(|known| known.get(&tap)) else {
                    continue;
                };
                let (unbounded, uncertainty_ns) = cost;
                let cost = match near.uncertainty_ns {
                    Some(more) => (unbounded, uncertainty_ns.saturating_add(more)),
                    None => (unbounded + 1, uncertainty_ns),
                };
                if best.get(neighbour).is_none_or(|(known, _)| cost < *known) {
                    if let Some((known, _)) = best.insert(*neighbour, (cost, near.then(&track))) {
                        waiting.remove(&(known, *neighbour));
                    }
                    waiting.insert((cost, *neighbour));
                }
            }
            reached.insert(tap, track);
        }
        reached
    }
}

/// The machines next to taps.
struct Machines {
    near: BTreeMap<TapId, BTreeSet<HostAddress>>,
    /// The lowest known address of a machine with several.
    lowest: BTreeMap<HostAddress, HostAddress>,
}

impl Machines {
    /// The ends of an exchange of queue pairs name addresses of their machine on both networks.
    fn new(facts: &ControlFacts, near: BTreeMap<TapId, BTreeSet<HostAddress>>) -> Self {
        let mut machines = Self { near, lowest: BTreeMap::new() };
        for exchange in &facts.exchanges {
            let ends = [
                (exchange.connector.ip(), &exchange.sender),
                (exchange.listener.ip(), &exchange.receiver),
            ];
            for (address, endpoint) in ends {
                let addresses = endpoint.iter().flat_map(addresses);
                addresses.for_each(|other| machines.join(address.into(), other));
            }
        }
        machines
    }

    fn join(&mut self, one: HostAddress, other: HostAddress) {
        let (one, other) = (self.machine(one), self.machine(other));
        if one != other {
            self.lowest.insert(one.max(other), one.min(other));
        }
    }

    fn machine(&self, mut address: HostAddress) -> HostAddress {
        while let Some(lower) = self.lowest.get(&address) {
            address = *lower;
        }
        address
    }

    /// The first tap in `clocks` next to the same machine as `tap`.
    fn companion(&self, tap: TapId, clocks: &Clocks) -> Option<TapId> {
        let machines = |tap: TapId| -> BTreeSet<HostAddress> {
            let near = self.near.get(&tap).into_iter().flatten();
            near.map(|address| self.machine(*address)).collect()
        };
        let own = machines(tap);
        let known =
            (0..).map(TapId).zip(&clocks.taps).filter(|(_, clock)| clock.reference.is_some());
        let mut known = known.map(|(tap, _)| tap);
        known.find(|other| machines(*other).iter().any(|machine| own.contains(machine)))
    }
}

fn addresses(endpoint: &Endpoint) -> impl Iterator<Item = HostAddress> + '_ {
    let queue_pairs = endpoint.queue_pairs.iter();
    queue_pairs.filter_map(|queue_pair| queue_pair.address).map(HostAddress::from)
}
