//! The port or path that explains where packets were lost.
//!
//! Each place predicts in which directions packets are lost: a bad last hop to a port loses packets
//! from all its peers, a bad path only those between two ports. The place under which the counts are
//! most likely is named: all packets of its directions are lost with the same probability
//! (binomial). Places that are nearly as likely are kept as rivals.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::tally::{Direction, Tally};

/// Fewer lost packets locate nothing: they could be the last ones in flight when captures ended.
const LEAST_LOST: u64 = 3;

/// A place that is less likely than the best by this factor is no rival: e^1.6 = 5.
const RIVAL: f64 = 1.6;

/// A place is proven if all others are less likely by this factor: e^4.6 = 100.
const PROOF: f64 = 4.6;

/// Places that are looked for, one after the other.
const PLACES: usize = 3;

/// A direction refutes a place that should have lost so many of its packets, if less than [`REFUTING`] of that were
/// lost. Of 20 that are expected, chance makes none with a probability of e^-20, and one with e^-17.
const EXPECTED: f64 = 20.0;

/// See [`EXPECTED`]. Small packets may be lost less often than large ones.
const REFUTING: f64 = 0.1;

/// Probability of loss without a fault: one packet in ten million.
const FLOOR: f64 = 1e-7;

/// Where packets are sprayed, a path is less likely than a port by this factor, whatever was counted: e^3 = 20. Our
/// choice: more than chance makes of a peer that sends little, less than a proof.
const PATH_OF_SPRAYED: f64 = 3.0;

/// How packets pass the fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ways {
    /// Each flow has a way of its own, so that some ports may have one that others do not use.
    Own,
    /// Each packet takes another way: two ports share all ways but their own links with others.
    Shared,
}

/// Where packets are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// On the way to a port, from all its peers.
    Towards(IpAddr),
    /// On the way from a port, to all its peers.
    From(IpAddr),
    /// Both ways at a port.
    Port(IpAddr),
    /// From one port to one other.
    Path(IpAddr, IpAddr),
    /// Both ways between two ports.
    PathBoth(IpAddr, IpAddr),
    /// Wherever packets go.
    Everywhere,
}

/// Packets lost at one place.
#[derive(Clone, Debug, PartialEq)]
pub struct Located {
    /// The place.
    pub place: Place,
    /// Its directions in which packets were seen.
    pub directions: Vec<Direction>,
    /// Packets that it lost.
    pub lost: u64,
    /// Packets sent through it.
    pub sent: u64,
    /// Other places that explain the counts nearly as well.
    pub rivals: Vec<Place>,
    /// Every other place is far less likely.
    pub is_proven: bool,
}

impl Ways {
    /// Those of a fabric.
    #[must_use]
    pub const fn of(are_sprayed: bool) -> Self {
        if are_sprayed { Self::Shared } else { Self::Own }
    }

    /// How much less likely a fault is at a place than at a port, as a logarithm.
    const fn less_at(self, place: Place) -> f64 {
        match self {
            Self::Shared if place.is_path() => PATH_OF_SPRAYED,
            Self::Own | Self::Shared => 0.0,
        }
    }
}

impl Place {
    /// Whether packets of a direction pass it.
    #[must_use]
    pub fn includes(self, (source, destination): Direction) -> bool {
        match self {
            Self::Towards(port) => destination == port,
            Self::From(port) => source == port,
            Self::Port(port) => source == port || destination == port,
            Self::Path(from, to) => (source, destination) == (from, to),
            Self::PathBoth(one, other) => {
                [(one, other), (other, one)].contains(&(source, destination))
            }
            Self::Everywhere => true,
        }
    }

    /// The port that it is at; `None` of a path.
    #[must_use]
    pub const fn port(self) -> Option<IpAddr> {
        match self {
            Self::Towards(port) | Self::From(port) | Self::Port(port) => Some(port),
            Self::Path(..) | Self::PathBoth(..) | Self::Everywhere => None,
        }
    }

    /// Whether it is a path.
    #[must_use]
    pub const fn is_path(self) -> bool {
        matches!(self, Self::Path(..) | Self::PathBoth(..))
    }
}

/// Which places may be named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Candidates {
    All,
    /// Those that no direction refutes.
    Unrefuted,
}

impl Located {
    /// Whether it lost packets of directions that pass `place`, and of others.
    fn reaches_beyond(&self, place: Place, tallies: &BTreeMap<Direction, Tally>) -> bool {
        let is_sick =
            |direction: &&Direction| tallies.get(direction).is_some_and(|one| one.lost > 0);
        let mut within = self.directions.iter().filter(is_sick).map(|one| place.includes(*one));
        within.clone().any(|is_within| is_within) && within.any(|is_within| !is_within)
    }
}

/// The places where packets of `tallies` were lost, the worst first.
#[must_use]
pub fn locate(tallies: &BTreeMap<Direction, Tally>, ways: Ways) -> Vec<Located> {
    let (mut found, mut explained) = greatest_first(tallies, ways, Candidates::All);
    if let Some(first) = found.first().map(|first| first.place)
        && refuted(tallies, &counts(tallies)).contains(&first)
    {
        let (others, more) = greatest_first(tallies, ways, Candidates::Unrefuted);
        // Parts of a place always fit better than all of it.
        if more - explained > PROOF && others.iter().any(|one| one.reaches_beyond(first, tallies)) {
            (found, explained) = (others, more);
        }
    }
    // One cause rather than several, if it explains as much.
    let mut everywhere = Counts::default();
    tallies.values().for_each(|tally| everywhere.add(*tally));
    let less = everywhere.gain() - explained;
    if let [first, _, ..] = &found[..]
        && less > -RIVAL
    {
        let all = located(Place::Everywhere, tallies, &[(first.place, less)]);
        return all.into_iter().collect();
    }
    found
}

/// The places that explain most, one after the other, and how much all of them explain.
fn greatest_first(
    tallies: &BTreeMap<Direction, Tally>,
    ways: Ways,
    candidates: Candidates,
) -> (Vec<Located>, f64) {
    let mut rest = tallies.clone();
    let mut found: Vec<Located> = Vec::new();
    let mut explained = 0.0;
    while found.len() < PLACES {
        let Some((located, gain)) = best(&rest, ways, candidates) else { break };
        rest.retain(|direction, _| !located.place.includes(*direction));
        found.push(located);
        explained += gain;
    }
    (found, explained)
}

/// The likeliest place, and how much it explains.
fn best(
    tallies: &BTreeMap<Direction, Tally>,
    ways: Ways,
    candidates: Candidates,
) -> Option<(Located, f64)> {
    let mut counts = counts(tallies);
    if candidates == Candidates::Unrefuted {
        let refuted = refuted(tallies, &counts);
        counts.retain(|place, _| !refuted.contains(place));
    }
    let gains = counts.into_iter().map(|(place, counts)| (place, counts.gain()));
    let mut gains: Vec<(Place, f64)> = gains.collect();
    let likely = |(place, gain): (Place, f64)| gain - ways.less_at(place);
    // At equal likelihood, in the order of `Place`: a path is named only if it explains more.
    gains.sort_by(|one, other| {
        likely(*other).total_cmp(&likely(*one)).then_with(|| one.0.cmp(&other.0))
    });
    let (first, others) = gains.split_first()?;
    // How much less likely each of the others is.
    let less = others.iter().map(|other| (other.0, likely(*first) - likely(*other)));
    let mut located = located(first.0, tallies, &less.collect::<Vec<_>>())?;
    // What was not counted proves nothing.
    located.is_proven &= others.iter().all(|(_, gain)| first.1 - gain >= PROOF);
    Some((located, first.1))
}

/// The places that explain why packets of all `dead` directions were lost, although those of `alive`
/// ones passed, the simplest first: a port before a path, unless a peer of the port refutes it.
#[must_use]
pub fn explaining(dead: &BTreeSet<Direction>, alive: &BTreeSet<Direction>) -> Vec<Place> {
    // Each of them includes the first direction.
    let candidates = dead.first().map(|first| around(*first)).unwrap_or_default();
    let explains = |place: &Place| {
        dead.iter().all(|direction| place.includes(*direction))
            && !alive.iter().any(|direction| place.includes(*direction))
    };
    candidates.into_iter().filter(explains).collect()
}

/// What `place` lost; `None` if that is too little to locate anything. `others` are less likely, each by so much.
fn located(
    place: Place,
    tallies: &BTreeMap<Direction, Tally>,
    others: &[(Place, f64)],
) -> Option<Located> {
    let within = |limit: f64| others.iter().filter(move |(_, less)| *less < limit);
    let of_place = || tallies.iter().filter(|(direction, _)| place.includes(**direction));
    let lost: u64 = of_place().map(|(_, tally)| tally.lost).sum();
    (lost >= LEAST_LOST).then(|| Located {
        place,
        directions: of_place().map(|(direction, _)| *direction).collect(),
        lost,
        sent: of_place().map(|(_, tally)| tally.sent).sum(),
        rivals: within(RIVAL).map(|(other, _)| *other).collect(),
        is_proven: within(PROOF).next().is_none(),
    })
}

/// The places that a direction passes.
fn around((source, destination): Direction) -> BTreeSet<Place> {
    let (one, other) = (source.min(destination), source.max(destination));
    BTreeSet::from([
        Place::Towards(destination),
        Place::From(source),
        Place::Port(source),
        Place::Port(destination),
        Place::Path(source, destination),
        Place::PathBoth(one, other),
    ])
}

/// Packets of one place, sent and lost.
#[derive(Clone, Copy, Default)]
struct Counts {
    sent: u64,
    lost: u64,
}

impl Counts {
    fn add(&mut self, tally: Tally) {
        self.sent += tally.sent;
        self.lost += tally.lost;
    }

    /// How much more likely the counts are if all packets are lost with one probability than without
    /// any fault, as a logarithm. A direction without loss counts against its place, the more packets
    /// it carried.
    fn gain(self) -> f64 {
        let (sent, lost) = (self.sent as f64, self.lost as f64);
        if sent <= 0.0 {
            return 0.0;
        }
        let likelihood = |share: f64| lost * share.ln() + (sent - lost) * (1.0 - share).ln();
        likelihood((lost / sent).clamp(FLOOR, 1.0 - FLOOR)) - likelihood(FLOOR)
    }
}

/// The counts of all places that lost something.
fn counts(tallies: &BTreeMap<Direction, Tally>) -> BTreeMap<Place, Counts> {
    let sick = tallies.iter().filter(|(_, tally)| tally.lost > 0);
    let places = sick.flat_map(|(direction, _)| around(*direction));
    let mut counts: BTreeMap<Place, Counts> =
        places.map(|place| (place, Counts::default())).collect();
    for (direction, tally) in tallies {
        for place in around(*direction) {
            if let Some(known) = counts.get_mut(&place) {
                known.add(*tally);
            }
        }
    }
    counts
}

/// The places that a direction refutes of which all packets were counted.
fn refuted(
    tallies: &BTreeMap<Direction, Tally>,
    counts: &BTreeMap<Place, Counts>,
) -> BTreeSet<Place> {
    let refutes = |tally: &Tally, place: &Place| {
        let Some(Counts { sent, lost }) = counts.get(place) else { return false };
        let expected = tally.sent as f64 * *lost as f64 / (*sent).max(1) as f64;
        tally.is_whole && expected >= EXPECTED && (tally.lost as f64) < REFUTING * expected
    };
    let refuted_by = |(direction, tally): (&Direction, &Tally)| {
        let tally = *tally;
        around(*direction).into_iter().filter(move |place| refutes(&tally, place))
    };
    tallies.iter().flat_map(refuted_by).collect()
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn port(number: u8) -> IpAddr {
        IpAddr::V4(Ipv4Addr::new(10, 0, 0, number))
    }

    /// A ring: data from each port to the next, a tenth as many packets back. `lost` are source,
    /// destination and lost packets.
    fn ring(ports: u8, lost: &[(u8, u8, u64)]) -> BTreeMap<Direction, Tally> {
        let mut tallies = BTreeMap::new();
        for one in 0..ports {
            let next = (one + 1) % ports;
            for (from, to, sent) in [(one, next, 7000), (next, one, 700)] {
                let tally = Tally { sent, lost: 0, is_whole: true };
                tallies.insert((port(from), port(to)), tally);
            }
        }
        for (from, to, lost) in lost {
            if let Some(tally) = tallies.get_mut(&(port(*from), port(*to))) {
                tally.lost = *lost;
            }
        }
        tallies
    }

    fn place(ports: u8, lost: &[(u8, u8, u64)]) -> Option<Place> {
        locate(&ring(ports, lost), Ways::Own).first().map(|located| located.place)
    }

    #[test]
    fn a_port_loses_packets_of_all_its_peers() {
        assert_eq!(place(4, &[(0, 1, 70), (2, 1, 6)]), Some(Place::Towards(port(1))));
        assert_eq!(place(4, &[(1, 2, 70), (1, 0, 8)]), Some(Place::From(port(1))));
        assert_eq!(
            place(4, &[(0, 1, 70), (2, 1, 6), (1, 2, 70), (1, 0, 8)]),
            Some(Place::Port(port(1)))
        );
    }

    #[test]
    fn a_path_loses_packets_between_two_ports() {
        assert_eq!(place(4, &[(0, 1, 70)]), Some(Place::Path(port(0), port(1))));
        assert_eq!(place(4, &[(0, 1, 70), (1, 0, 8)]), Some(Place::PathBoth(port(0), port(1))));
    }

    #[test]
    fn two_places_are_two() {
        let located = locate(&ring(6, &[(0, 1, 70), (2, 1, 6), (4, 3, 7), (3, 4, 70)]), Ways::Own);
        let places: Vec<Place> = located.iter().map(|one| one.place).collect();
        assert_eq!(places, [Place::PathBoth(port(3), port(4)), Place::Towards(port(1))]);
    }

    #[test]
    fn two_places_next_to_each_other_are_no_port_between_them() {
        let marked = [(2, 3, 4800), (4, 3, 500), (1, 2, 4600)];
        let found = locate(&ring(5, &marked), Ways::Own);
        let places: Vec<Place> = found.iter().map(|one| one.place).collect();
        assert_eq!(places, [Place::Towards(port(3)), Place::Path(port(1), port(2))]);
        assert!(found[0].is_proven, "{found:?}");
    }

    fn sent(from: u8, to: u8, sent: u64, lost: u64) -> (Direction, Tally) {
        ((port(from), port(to)), Tally { sent, lost, is_whole: true })
    }

    #[test]
    fn a_port_with_several_peers_is_one_though_one_of_them_meets_no_fault() {
        for peers in 2..=8 {
            let tallies = (1..=peers).map(|from| sent(from, 0, 7000, 700));
            let tallies = tallies.chain([sent(9, 0, 7000, 0)]).collect();
            let found = locate(&tallies, Ways::Own);
            assert_eq!(found[0].place, Place::Towards(port(0)), "{peers} peers");
        }
    }

    #[test]
    fn a_cable_that_spares_small_packets_is_one_port() {
        let mut tallies = ring(6, &[(0, 1, 70), (1, 2, 70)]);
        tallies.values_mut().for_each(|tally| tally.sent *= 10);
        let found = locate(&tallies, Ways::Own);
        assert_eq!(found[0].place, Place::Port(port(1)), "{found:?}");
    }

    #[test]
    fn what_was_not_counted_at_both_ends_refutes_nothing() {
        let marked = [(2, 3, 4800), (4, 3, 500), (1, 2, 4600)];
        let mut tallies = ring(5, &marked);
        tallies.values_mut().for_each(|tally| tally.is_whole &= tally.lost > 0);
        assert_eq!(locate(&tallies, Ways::Own)[0].place, Place::Port(port(2)));
    }

    #[test]
    fn what_cannot_be_told_apart_is_a_rival() {
        let located = locate(&ring(2, &[(0, 1, 70)]), Ways::Own);
        assert_eq!(located[0].place, Place::Towards(port(1)));
        assert!(located[0].rivals.contains(&Place::Path(port(0), port(1))), "{located:?}");
        assert!(located[0].rivals.contains(&Place::From(port(0))), "{located:?}");
        assert_eq!(locate(&ring(4, &[(0, 1, 2)]), Ways::Own), [], "too few");
    }

    #[test]
    fn what_one_lost_packet_would_change_is_not_proven() {
        let is_proven = |lost| locate(&ring(4, &[(0, 1, lost)]), Ways::Own)[0].is_proven;
        // Of 700 packets from the other peer, 0.4 would be lost, and 7.
        assert!(!is_proven(4));
        assert!(!is_proven(30), "eighteen to one");
        assert!(is_proven(70));
    }

    #[test]
    fn where_packets_are_sprayed_a_path_must_be_far_likelier() {
        let located = |lost| locate(&ring(4, &[(0, 1, lost)]), Ways::Shared).remove(0);
        // Of 700 packets from the other peer, one would be lost.
        assert_eq!(located(10).place, Place::Towards(port(1)));
        // What is likelier from the start proves nothing.
        assert!(!located(10).is_proven);
        assert_eq!(located(70).place, Place::Path(port(0), port(1)));
    }

    #[test]
    fn loss_on_all_paths_has_no_place() {
        let all: Vec<(u8, u8, u64)> =
            (0..4).flat_map(|one| [(one, (one + 1) % 4, 70), ((one + 1) % 4, one, 7)]).collect();
        assert_eq!(place(4, &all), Some(Place::Everywhere));
    }
}
