//! Packets recognised at several taps: which packet, where, when.
//!
//! A sample is kept, drawn by a hash of fields that are the same in every copy of a packet, so that
//! all taps choose the same packets. When it is full, the sample is halved. Only sampled packets
//! are examined further.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use serde::{Deserialize, Serialize};

use crate::decode::packet::{Body, Ip, Packet, TcpFlags};
use crate::decode::roce::bth::Bth;
use crate::flow::state::COPY_LIMIT_NS;
use crate::model::address::HostAddress;
use crate::model::frame::Frame;
use crate::model::opcode::Traits;
use crate::model::tap::TapId;
use crate::model::time::Timestamp;

/// Default number of sightings: what a table of 2^16 slots takes before it grows, seven eighths. At 33 bytes per
/// slot, 2 MB.
pub const SIGHTING_CAPACITY: usize = (1 << 16) / 8 * 7;

/// Spreads consecutive numbers evenly over all hashes: 2^32 divided by the golden ratio, odd.
const SPREAD: u32 = 0x9E37_79B9;

/// Most pairs of hosts.
const ROUTE_CAPACITY: usize = 1 << 16;

/// Bytes that identify a RoCEv2 packet, besides its addresses: UDP header (8), BTH (12) and the
/// start of the first extension header, or the ICRC (4) of a packet without one.
const IDENTITY_LEN: usize = 24;

/// Place of FECN and BECN in the BTH.
const BTH_MARKS: usize = 4;

/// Two hosts, the lower address first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Route {
    /// The host with the lower address.
    pub low: HostAddress,
    /// The other.
    pub high: HostAddress,
}

/// Direction of a packet between two hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Way {
    /// Index of the hosts in [`Sightings::routes`].
    pub route: u32,
    /// Whether it goes from the lower address to the higher.
    pub is_upward: bool,
}

/// One packet at two taps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Its direction.
    pub way: Way,
    /// When each tap saw it, by its own clock.
    pub times: [Timestamp; 2],
}

/// One packet at one tap.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Sighting {
    /// Its sampling hash, and below it the lower half of its full hash.
    digest: u64,
    time: Timestamp,
    tap: TapId,
    way: Way,
    /// Whether a similar packet came later, so that sightings cannot be matched.
    is_repeated: bool,
}

/// The sample. One that was written and read can be joined to another one.
#[derive(Clone, Serialize, Deserialize)]
#[serde(from = "Sample", into = "Sample")]
pub struct Sightings {
    capacity: usize,
    table: HashTable<Sighting>,
    hasher: FixedState,
    /// Hashes with fewer leading zeros are not sampled.
    leading_zeros: u32,
    routes: Vec<Route>,
    places: HashMap<Route, u32, FixedState>,
}

/// What is written of it.
#[derive(Serialize, Deserialize)]
struct Sample {
    sightings: Vec<Sighting>,
    leading_zeros: u32,
    routes: Vec<Route>,
}

impl From<Sightings> for Sample {
    fn from(of: Sightings) -> Self {
        let Sightings { table, leading_zeros, routes, .. } = of;
        let mut sightings: Vec<Sighting> = table.into_iter().collect();
        sightings.sort_unstable_by_key(|one| (one.digest, one.tap));
        Self { sightings, leading_zeros, routes }
    }
}

impl From<Sample> for Sightings {
    fn from(of: Sample) -> Self {
        let Sample { sightings, leading_zeros, routes } = of;
        let mut new = Self { leading_zeros, routes, ..Self::new(sightings.len()) };
        for one in sightings {
            let hash = |one: &Sighting| new.hasher.hash_one((one.digest, one.tap));
            new.table.insert_unique(hash(&one), one, hash);
        }
        new
    }
}

impl Sightings {
    /// Keeps at most `capacity` sightings.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self {
            capacity,
            table: HashTable::new(),
            hasher: FixedState::default(),
            leading_zeros: 0,
            routes: Vec::new(),
            places: HashMap::default(),
        }
    }

    /// Processes the next frame.
    #[inline]
    pub fn observe(&mut self, frame: &Frame<'_>, packet: &Packet<'_>) {
        let Some(ip) = &packet.ip else { return };
        let Some(lot) = lot(&packet.body) else { return };
        if lot.leading_zeros() >= self.leading_zeros
            && let Some(hash) = self.hash(ip, &packet.body)
        {
            self.keep(u64::from(lot) << 32 | hash & u64::from(u32::MAX), frame, ip);
        }
    }

    /// A hash of everything that is the same in every copy of a packet; `None` for one that is too
    /// short.
    fn hash(&self, ip: &Ip, body: &Body<'_>) -> Option<u64> {
        let ends = (ip.source, ip.destination, ip.identification);
        match body {
            Body::Roce(roce) => {
                let mut identity = *roce.after_ip.first_chunk::<IDENTITY_LEN>()?;
                // Switches of native InfiniBand, which has no UDP header, mark congestion here.
                if roce.udp_source_port == 0 {
                    identity[BTH_MARKS] &= !Bth::MARKS;
                }
                Some(self.hasher.hash_one((ends, identity)))
            }
            // Segments may be split and joined on the way into a host: the first byte stays.
            Body::Tcp(tcp) => {
                let ports = (tcp.ports.source, tcp.ports.destination);
                let marks = (tcp.flags.has(TcpFlags::SYN), tcp.payload_len > 0);
                let numbers = (tcp.sequence, tcp.acknowledgment);
                Some(self.hasher.hash_one((ends, ports, marks, numbers)))
            }
            _ => None,
        }
    }

    fn keep(&mut self, digest: u64, frame: &Frame<'_>, ip: &Ip) {
        let key = (digest, frame.tap);
        let is_same = |one: &Sighting| (one.digest, one.tap) == key;
        if let Some(known) = self.table.find_mut(self.hasher.hash_one(key), is_same) {
            known.is_repeated |= frame.time.nanos_since(known.time) > COPY_LIMIT_NS;
            return;
        }
        let Some(way) = way(&mut self.routes, &mut self.places, ip) else { return };
        let (time, tap) = (frame.time, frame.tap);
        self.insert(Sighting { digest, time, tap, way, is_repeated: false });
    }

    /// Adds a sighting that is not there yet, if it is sampled; if there is no room for it, the sample is halved.
    #[inline]
    fn insert(&mut self, new: Sighting) {
        while new.digest.leading_zeros() >= self.leading_zeros {
            if self.table.len() < self.capacity {
                let hash = |one: &Sighting| self.hasher.hash_one((one.digest, one.tap));
                self.table.insert_unique(hash(&new), new, hash);
                return;
            }
            self.halve();
        }
    }

    /// Halves the sample.
    #[cold]
    fn halve(&mut self) {
        self.leading_zeros = self.leading_zeros.saturating_add(1);
        self.thin_out();
    }

    /// Leaves what is still sampled, in a new table: one that was deleted from grows before it is full.
    fn thin_out(&mut self) {
        let mut kept = HashTable::with_capacity(self.capacity);
        let hash = |one: &Sighting| self.hasher.hash_one((one.digest, one.tap));
        let limit = self.leading_zeros;
        for one in std::mem::take(&mut self.table) {
            if one.digest.leading_zeros() >= limit {
                kept.insert_unique(hash(&one), one, hash);
            }
        }
        self.table = kept;
    }

    /// The sample that would have been drawn with this capacity, if it is less.
    #[must_use]
    pub fn limited(mut self, capacity: usize) -> Self {
        self.capacity = self.capacity.min(capacity);
        while self.table.len() > self.capacity {
            self.halve();
        }
        self
    }

    /// Takes over the sample of `other`, whose tap n is `taps[n]` here. The result is the sample that one
    /// alone would have drawn from all taps, if neither had less capacity.
    pub fn join(&mut self, other: Self, taps: &[TapId]) {
        if other.leading_zeros > self.leading_zeros {
            self.leading_zeros = other.leading_zeros;
            self.thin_out();
        }
        let route = |one: &Sighting| other.routes.get(one.way.route as usize).copied();
        // Routes without a sighting left, and their order, depend on how large the sample was before.
        let routes: BTreeSet<Route> = other.table.iter().filter_map(route).collect();
        for route in routes {
            place(&mut self.routes, &mut self.places, route);
        }
        for mut one in other.table {
            let route = other.routes.get(one.way.route as usize);
            let Some(route) = route.and_then(|route| self.places.get(route)) else { continue };
            one.way.route = *route;
            one.tap = one.tap.among(taps);
            self.insert(one);
        }
    }

    /// The pairs of hosts with traffic.
    #[must_use]
    pub fn routes(&self) -> &[Route] {
        &self.routes
    }

    /// The packets that two taps saw, by these taps, in order of the first tap's clock. A packet
    /// seen by more taps is a pair for each two consecutive ones.
    #[must_use]
    pub fn pairs(&self) -> BTreeMap<[TapId; 2], Vec<Pair>> {
        let mut sightings: Vec<&Sighting> =
            self.table.iter().filter(|one| !one.is_repeated).collect();
        sightings.sort_unstable_by_key(|one| (one.digest, one.tap));
        let mut pairs: BTreeMap<[TapId; 2], Vec<Pair>> = BTreeMap::new();
        for (one, other) in sightings.iter().zip(sightings.iter().skip(1)) {
            if one.digest == other.digest && one.way == other.way {
                let pair = Pair { way: one.way, times: [one.time, other.time] };
                pairs.entry([one.tap, other.tap]).or_default().push(pair);
            }
        }
        for pairs in pairs.values_mut() {
            pairs.sort_unstable_by_key(|pair| (pair.times, pair.way));
        }
        pairs
    }
}

/// The sampling hash of a packet; `None` for packets that are redundant or not unique.
#[inline]
fn lot(body: &Body<'_>) -> Option<u32> {
    let (flow, number) = match body {
        Body::Roce(roce) => {
            let wanted = Traits::RESPONSE.with(Traits::STARTS).with(Traits::ENDS);
            let is_wanted = roce.bth.opcode.traits().has_any(wanted);
            is_wanted.then_some((roce.bth.dest_qpn.value(), roce.bth.psn.value()))?
        }
        Body::Tcp(tcp) => (tcp.acknowledgment, tcp.sequence),
        _ => return None,
    };
    Some(flow.rotate_left(16).wrapping_add(number).wrapping_mul(SPREAD))
}

fn way(
    routes: &mut Vec<Route>,
    places: &mut HashMap<Route, u32, FixedState>,
    ip: &Ip,
) -> Option<Way> {
    let (source, destination) = (HostAddress::from(ip.source), HostAddress::from(ip.destination));
    let route = Route { low: source.min(destination), high: source.max(destination) };
    let route = place(routes, places, route)?;
    Some(Way { route, is_upward: source < destination })
}

/// Index of a route, which is added if there is room.
fn place(
    routes: &mut Vec<Route>,
    places: &mut HashMap<Route, u32, FixedState>,
    route: Route,
) -> Option<u32> {
    if let Some(place) = places.get(&route) {
        return Some(*place);
    }
    let place = routes.len();
    if place >= ROUTE_CAPACITY {
        return None;
    }
    routes.push(route);
    places.insert(route, place as u32);
    Some(place as u32)
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;

    /// What a table of 2^6 slots takes.
    const CAPACITY: usize = 56;

    fn route_to(end: u8) -> Route {
        let host = |end| IpAddr::from(Ipv4Addr::new(10, 0, 0, end)).into();
        Route { low: host(1), high: host(end) }
    }

    fn kept(numbers: impl IntoIterator<Item = u32>) -> Sightings {
        kept_of(CAPACITY, numbers)
    }

    fn kept_of(capacity: usize, numbers: impl IntoIterator<Item = u32>) -> Sightings {
        let mut sightings = Sightings::new(capacity);
        let way = Way { route: 0, is_upward: true };
        sightings.routes.push(route_to(2));
        for number in numbers {
            let digest = u64::from(number.wrapping_mul(SPREAD)) << 32;
            let (time, tap) = (Timestamp::from_nanos(number.into()), TapId(0));
            sightings.insert(Sighting { digest, time, tap, way, is_repeated: false });
            assert!(sightings.table.len() <= capacity && sightings.table.capacity() <= capacity);
        }
        sightings
    }

    fn times(of: &Sightings) -> (u32, Vec<Timestamp>) {
        let mut times: Vec<Timestamp> = of.table.iter().map(|one| one.time).collect();
        times.sort_unstable();
        (of.leading_zeros, times)
    }

    #[test]
    fn samples_joined_are_the_sample_of_all() {
        for all in [40, 57, 112, 1000, 20_000] {
            let whole = kept(0..all);
            assert_eq!(times(&kept((0..all).rev())), times(&whole), "{all}");
            for share in [0, 1, all / 3, all / 2, all] {
                let mut joined = kept(0..share);
                joined.join(kept(share..all), &[TapId(0)]);
                assert_eq!(times(&joined), times(&whole), "{share} of {all}");
                assert!(joined.table.capacity() <= CAPACITY);
            }
        }
    }

    #[test]
    fn a_sample_that_is_limited_later_is_as_one_that_was_from_the_beginning() {
        for all in [20, 40, 57, 112, 1000, 20_000] {
            let small = kept_of(CAPACITY / 2, 0..all);
            assert_eq!(times(&kept(0..all).limited(CAPACITY / 2)), times(&small), "{all}");
            assert_eq!(times(&kept(0..all).limited(2 * CAPACITY)), times(&kept(0..all)), "{all}");
        }
    }

    #[test]
    fn routes_are_those_of_the_sample() {
        // One sighting of each of two routes, and none of the third.
        let lane = |ends: [u8; 3]| {
            let mut lane = Sightings::new(CAPACITY);
            for (route, end) in (0..).zip(ends) {
                lane.routes.push(route_to(end));
                let (digest, time) = (end.into(), Timestamp::from_nanos(end.into()));
                let way = Way { route, is_upward: true };
                if end != 4 {
                    let tap = TapId(0);
                    lane.insert(Sighting { digest, time, tap, way, is_repeated: false });
                }
            }
            lane
        };
        for ends in [[2, 3, 4], [4, 3, 2], [3, 4, 2]] {
            let mut all = Sightings::new(CAPACITY);
            all.join(lane(ends), &[TapId(0)]);
            assert_eq!(all.routes(), [route_to(2), route_to(3)]);
            let mut routes: Vec<_> =
                all.table.iter().map(|one| (one.time.as_nanos(), one.way.route)).collect();
            routes.sort_unstable();
            assert_eq!(routes, [(2, 0), (3, 1)]);
        }
    }
}
