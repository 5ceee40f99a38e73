//! Which of two taps the packets between two hosts pass first.
//!
//! If packets go both ways, the stamps decide: the apparent offset is too large by the delay in one
//! direction and too small by the delay in the other, which would be reversed if the taps were
//! swapped. Otherwise the taps' positions decide, if known. With packets in one direction only and
//! unknown positions, the distribution of delays decides: many are near the minimum, and there is no
//! maximum that many are near.

use std::collections::BTreeMap;

use super::sighting::{Pair, Route};
use crate::link::position::{Position, TapPosition};
use crate::model::spread::upper_median;

/// Packets in both directions are compared within this time: the largest drift then causes an error
/// below any delay.
const CLOSE_NS: u64 = 5_000_000;

/// Tenths of the comparisons that must agree.
const AGREEING_TENTHS: u64 = 9;

/// By route: whether packets from the lower address to the higher pass the first of two taps first.
/// Undecided routes are missing.
pub(super) type Upstream = BTreeMap<u32, bool>;

/// Decides this from `pairs`, which are in order of time.
pub(super) fn upstream_routes(
    pairs: &[Pair],
    routes: &[Route],
    positions: [&TapPosition; 2],
) -> Upstream {
    let mut votes: BTreeMap<u32, Votes> = BTreeMap::new();
    for pair in pairs {
        votes.entry(pair.way.route).or_default().add(pair);
    }
    let verdict = |(route, votes): (&u32, &Votes)| {
        let hosts = routes.get(*route as usize)?;
        Some((*route, votes.verdict().or_else(|| by_position(hosts, positions))?))
    };
    let upstream: Upstream = votes.iter().filter_map(verdict).collect();
    if !upstream.is_empty() {
        return upstream;
    }
    // One route only: guesses about two could contradict each other.
    let one_way = votes.iter().filter(|(_, votes)| votes.latest.iter().flatten().count() == 1);
    let busiest = one_way.max_by_key(|(_, votes)| votes.pairs).map(|(route, _)| *route);
    busiest.and_then(|route| Some((route, by_delays(route, pairs)?))).into_iter().collect()
}

/// Comparisons of one route's packets with the latest one in the other direction.
#[derive(Clone, Copy, Default)]
struct Votes {
    latest: [Option<Pair>; 2],
    pairs: u64,
    count: u64,
    for_first: u64,
}

impl Votes {
    fn add(&mut self, pair: &Pair) {
        let [upward, downward] = &mut self.latest;
        let (same, other, sign) =
            if pair.way.is_upward { (upward, downward, 1) } else { (downward, upward, -1) };
        *same = Some(*pair);
        self.pairs += 1;
        let close = |other: &Pair| pair.times[0].nanos_since(other.times[0]) <= CLOSE_NS;
        if let Some(other) = other.filter(close) {
            // If the second tap is downstream for upward packets, these appear later there than
            // downward ones.
            let difference = i128::from(behind(pair)) - i128::from(behind(&other));
            self.count += u64::from(difference != 0);
            self.for_first += u64::from(difference * sign > 0);
        }
    }

    fn verdict(&self) -> Option<bool> {
        let enough = self.count * AGREEING_TENTHS;
        let against = self.count - self.for_first;
        match (self.for_first * 10 >= enough, against * 10 >= enough) {
            (true, false) => Some(true),
            (false, true) => Some(false),
            _ => None,
        }
    }
}

/// How much later the second tap's stamp is.
fn behind(pair: &Pair) -> i64 {
    pair.times[1].relative_to(pair.times[0])
}

fn by_position(hosts: &Route, positions: [&TapPosition; 2]) -> Option<bool> {
    let at = positions.map(|position| position.for_flow(hosts.low, hosts.high));
    match at {
        [Position::Sender, Position::Fabric | Position::Receiver | Position::Unknown]
        | [Position::Fabric | Position::Unknown, Position::Receiver] => Some(true),
        [Position::Receiver, Position::Fabric | Position::Sender | Position::Unknown]
        | [Position::Fabric | Position::Unknown, Position::Sender] => Some(false),
        _ => None,
    }
}

/// From packets in one direction: if the second tap's clock appears slightly behind for most
/// packets and far behind for some, these waited between the first tap and the second.
fn by_delays(route: u32, pairs: &[Pair]) -> Option<bool> {
    let own = pairs.iter().filter(|pair| pair.way.route == route);
    let is_upward = own.clone().next()?.way.is_upward;
    let times = own.map(behind);
    let (least, most) = (times.clone().min()?, times.clone().max()?);
    let median = upper_median(times)?;
    let is_first_upstream = median.abs_diff(least) <= most.abs_diff(median);
    Some(is_first_upstream == is_upward)
}

#[cfg(test)]
mod tests {
    use super::super::sighting::Way;
    use super::*;
    use crate::model::time::Timestamp;

    fn pair(is_upward: bool, first: u64, second: u64) -> Pair {
        let times = [first, second].map(Timestamp::from_nanos);
        Pair { way: Way { route: 0, is_upward }, times }
    }

    /// Request and reply every millisecond between a host at the first tap and one at the second.
    fn talk(ahead: u64) -> Vec<Pair> {
        let one = |number: u64| {
            let start = number * 1_000_000;
            let request = pair(true, start, start + 5_000 + ahead);
            [request, pair(false, start + 90_000, start + 84_000 + ahead)]
        };
        (0..100).flat_map(one).collect()
    }

    fn found(pairs: &[Pair]) -> Upstream {
        let host = |last| std::net::IpAddr::from([10, 0, 0, last]).into();
        let routes = [Route { low: host(1), high: host(2) }];
        let nowhere = TapPosition::default();
        upstream_routes(pairs, &routes, [&nowhere, &nowhere])
    }

    #[test]
    fn stamps_tell_whatever_the_clocks_say() {
        for ahead in [0, 1_000, 37_000_000, 5_000_000_000] {
            assert_eq!(found(&talk(ahead)), Upstream::from([(0, true)]));
            let swapped = |pair: Pair| Pair { times: [pair.times[1], pair.times[0]], ..pair };
            let pairs: Vec<Pair> = talk(ahead).into_iter().map(swapped).collect();
            assert_eq!(found(&pairs), Upstream::from([(0, false)]));
        }
    }

    #[test]
    fn of_one_way_the_delays_tell() {
        let packet = |number: u64| {
            // One in seven waits in a queue.
            let waits = if number.is_multiple_of(7) { 200_000 } else { number % 7 * 1_000 };
            let (start, delay) = (number * 1_000_000, 5_000 + waits);
            pair(true, start, start + delay)
        };
        let pairs: Vec<Pair> = (0..100).map(packet).collect();
        assert_eq!(found(&pairs), Upstream::from([(0, true)]));
        let other = |pair: Pair| Pair { times: [pair.times[1], pair.times[0]], ..pair };
        let pairs: Vec<Pair> = pairs.into_iter().map(other).collect();
        assert_eq!(found(&pairs), Upstream::from([(0, false)]));
    }
}
