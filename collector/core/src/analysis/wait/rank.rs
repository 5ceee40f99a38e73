//! Which ranks were late to a collective.
//!
//! In a ring collective each rank first sends a chunk of its own, which depends on no other rank. So
//! the time from when a rank has a receive buffer and has left the previous collective, to its first
//! byte, is its own: its start wait. All ranks compute in that time, so only the part beyond the median rank's is
//! lateness. It is measured at taps of one host.
//!
//! A rank that left the previous collective early waits long without delaying others. So two other
//! figures limit lateness: how much later than the median rank it sent, if the clocks can be
//! compared, and how much longer it was busy. A rank that sends only to the rank in question is not
//! compared with it: it may have waited for that rank's CTS. Of two ranks, each is such a rank: there,
//! the time to the first CTS and the time from it to the first data are compared.

use std::collections::BTreeMap;

use super::departure::DepartureClocks;
use super::edge::EdgeWaits;
use super::left::Left;
use super::thresholds::MEASURED_ONE_IN;
use crate::analysis::collective::Collective;
use crate::link::job::{Job, NetConnection};
use crate::model::spread::{lower_median, median_deviation, upper_median};
use crate::model::time::Timestamp;

/// Where one rank's time went, from its edges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankWaits {
    /// Rank in the collective's communicator.
    pub rank: u32,
    /// Index of the edge from this rank that ended last.
    pub last_edge: Option<usize>,
    /// Index of the edge from this rank that sent first.
    pub first_edge: Option<usize>,
    /// The rank that all its edges go to; `None` if they go to several or are unknown.
    pub sends_only_to: Option<u32>,
    /// When it sent its first data, at a tap of its own.
    pub first_send: Option<Timestamp>,
    /// From when it had a receive buffer on any channel and had left the previous collective, to its
    /// first data on any; `None` if that was not seen.
    pub start_wait_ns: Option<u64>,
    /// The pause that is left out of `start_wait_ns`.
    pub start_paused_ns: u64,
    /// The shortest start wait of one of its edges.
    pub shortest_wait_ns: Option<u64>,
    /// From the last data that it received in the previous collective to its first data in this one;
    /// `None` if a tap of its own did not see both.
    pub busy_ns: Option<u64>,
    /// From the last data that it received in the previous collective to its first clear-to-send in
    /// this one; 0 if that came first.
    pub cts_wait_ns: Option<u64>,
    /// How late it was; `None` if unknown.
    pub lateness: Option<Lateness>,
}

/// How late a rank was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lateness {
    /// The smallest difference from the median rank: in start wait over all channels, in start wait of
    /// the quickest channel (a single channel may have been served late), in the time of the first
    /// data, in busy time and, of two ranks, in the time of the call and in what came after it.
    /// Negative if the rank was earlier.
    pub late_ns: i64,
    /// The median deviation of the ranks' start waits.
    pub uncertainty_ns: u64,
}

/// The times of one rank.
#[derive(Clone, Debug, Default)]
struct Times {
    first_send: Option<Timestamp>,
    first_cts: Option<Timestamp>,
    /// Its edges, by place.
    edges: Vec<usize>,
}

/// How the ranks of a communicator are compared.
#[derive(Clone, Copy, Debug)]
pub struct Comparison<'a> {
    /// The clocks that show when they send.
    pub clocks: &'a DepartureClocks,
    /// How many of them are known to send over the network.
    pub senders: usize,
}

/// The ranks of `collective` by number; without a comparison, no lateness.
#[must_use]
pub fn waits(
    job: &Job,
    collective: &Collective,
    edges: &[EdgeWaits],
    left: &Left,
    comparison: Option<Comparison<'_>>,
) -> Vec<RankWaits> {
    let rank = |(rank, times): (u32, Times)| {
        let left = left.rank(collective, rank);
        let since = |time: Option<Timestamp>| Some(time?.nanos_since(left?));
        let own = || times.edges.iter().filter_map(|at| Some((*at, edges.get(*at)?)));
        // A tap at the receiver cannot see when the sender left the previous collective.
        let is_measured = |edge: &&EdgeWaits| edge.has_predecessor && edge.is_at_sender;
        let measured = || own().map(|(_, edge)| edge).filter(is_measured);
        let start = start_wait(measured());
        RankWaits {
            rank,
            last_edge: own().max_by_key(|(_, edge)| edge.span.last).map(|(at, _)| at),
            first_edge: own().min_by_key(|(_, edge)| edge.first_data).map(|(at, _)| at),
            sends_only_to: sends_only_to(job, own().map(|(_, edge)| edge))
                .filter(|_| own().any(|(_, edge)| edge.may_have_waited_for_room)),
            first_send: times.first_send,
            start_wait_ns: start.map(|(wait_ns, _)| wait_ns),
            start_paused_ns: start.map_or(0, |(_, paused_ns)| paused_ns),
            shortest_wait_ns: measured().filter_map(|edge| edge.start_wait_ns).min(),
            busy_ns: since(times.first_send),
            cts_wait_ns: since(times.first_cts),
            lateness: None,
        }
    };
    let mut ranks: Vec<RankWaits> = times(job, collective, edges).into_iter().map(rank).collect();
    let measured = ranks.iter().filter(|rank| rank.start_wait_ns.is_some()).count();
    let comparison = comparison.filter(|with| MEASURED_ONE_IN * measured > with.senders);
    if let Some(Comparison { clocks, .. }) = comparison.filter(|_| collective.ring_order.is_some())
    {
        compare(&mut ranks, edges, clocks);
    }
    ranks
}

/// The start wait of a rank over all these edges, without the pause that its first data waited for, and
/// that pause.
fn start_wait<'a>(edges: impl Iterator<Item = &'a EdgeWaits>) -> Option<(u64, u64)> {
    let known = edges.filter(|edge| edge.start_wait_ns.is_some());
    let (room, (data, paused_ns)) = known
        .map(|edge| (edge.span.first, (edge.first_data, edge.start_paused_ns)))
        .reduce(|one, other| (one.0.min(other.0), one.1.min(other.1)))?;
    Some((data.nanos_since(room).saturating_sub(paused_ns), paused_ns))
}

fn sends_only_to<'a>(job: &Job, mut edges: impl Iterator<Item = &'a EdgeWaits>) -> Option<u32> {
    let receiver = |edge: &EdgeWaits| job.connection(edge.connection)?.receiver;
    let first = receiver(edges.next()?)?;
    edges.all(|edge| receiver(edge) == Some(first)).then_some(first)
}

/// Sets the lateness; a single rank has none.
fn compare(ranks: &mut [RankWaits], edges: &[EdgeWaits], clocks: &DepartureClocks) {
    let starts = || ranks.iter().filter_map(|rank| rank.start_wait_ns);
    let (Some(middle), Some(uncertainty_ns)) = (lower_median(starts()), median_deviation(starts()))
    else {
        return;
    };
    if starts().nth(1).is_none() {
        return;
    }
    let middle_shortest = lower_median(ranks.iter().filter_map(|rank| rank.shortest_wait_ns));
    let over = |ns: Option<u64>, middle: Option<u64>| Some(ns? as i64 - middle? as i64);
    let late_ns = |rank: &RankWaits| {
        let start = over(rank.start_wait_ns, Some(middle))?;
        let bounds = [
            over(rank.shortest_wait_ns, middle_shortest),
            over(rank.busy_ns, middle_busy(rank, ranks)),
            later_ns(rank, ranks, edges, clocks),
            longer_than_only_peer(rank, ranks),
        ];
        Some(bounds.into_iter().flatten().fold(start, i64::min))
    };
    let late: Vec<Option<i64>> = ranks.iter().map(late_ns).collect();
    for (rank, late_ns) in ranks.iter_mut().zip(late) {
        rank.lateness = late_ns.map(|late_ns| Lateness { late_ns, uncertainty_ns });
    }
}

/// The ranks that `rank` is compared with, itself included, except those that may have waited for
/// its clear-to-send.
fn peers<'a>(rank: &RankWaits, ranks: &'a [RankWaits]) -> impl Iterator<Item = &'a RankWaits> {
    let number = rank.rank;
    ranks.iter().filter(move |one| one.rank == number || one.sends_only_to != Some(number))
}

fn middle_busy(rank: &RankWaits, ranks: &[RankWaits]) -> Option<u64> {
    let busy = || peers(rank, ranks).filter_map(|one| one.busy_ns);
    busy().nth(1)?;
    lower_median(busy())
}

/// How much later than the only other rank it called and, beyond that, how much longer it took to send
/// then. The start wait of that rank is too short to compare with, if it began with the CTS of `rank`.
fn longer_than_only_peer(rank: &RankWaits, ranks: &[RankWaits]) -> Option<i64> {
    let mut others = ranks.iter().filter(|one| one.rank != rank.rank);
    let (peer, None) = (others.next()?, others.next()) else { return None };
    let called_ns = rank.cts_wait_ns?.saturating_sub(peer.cts_wait_ns?);
    let took_ns = |rank: &RankWaits| Some(rank.busy_ns?.saturating_sub(rank.cts_wait_ns?));
    i64::try_from(called_ns + took_ns(rank)?.saturating_sub(took_ns(peer)?)).ok()
}

/// Upper bound of how much later than the median rank `rank` sent its first data.
fn later_ns(
    rank: &RankWaits,
    ranks: &[RankWaits],
    edges: &[EdgeWaits],
    clocks: &DepartureClocks,
) -> Option<i64> {
    let first = |rank: &RankWaits| edges.get(rank.first_edge?).filter(|edge| edge.is_at_sender);
    let own = first(rank)?;
    let lead = |edge: &EdgeWaits| {
        let uncertainty_ns = clocks.uncertainty_ns(own.connection, edge.connection)?;
        let lead_ns = own.first_data.relative_to(edge.first_data);
        Some(lead_ns.saturating_add_unsigned(uncertainty_ns))
    };
    let leads = || peers(rank, ranks).filter_map(|one| lead(first(one)?));
    leads().nth(1)?;
    // The upper median gives the largest lead over the median rank.
    upper_median(leads())
}

fn times(job: &Job, collective: &Collective, edges: &[EdgeWaits]) -> BTreeMap<u32, Times> {
    let mut times: BTreeMap<u32, Times> = BTreeMap::new();
    for known in &collective.ranks {
        times.entry(known.rank).or_default();
    }
    for on in &collective.transfers {
        let Some(connection) = job.connection(on.connection) else { continue };
        let NetConnection { sender, receiver, .. } = *connection;
        let transfers = connection.transfers.get(on.places.clone()).unwrap_or_default();
        let sent = transfers.iter().filter_map(|one| Some(one.sent?.first)).min();
        let posted = transfers.iter().filter_map(|one| one.cts?.posted).min();
        for (rank, first, is_sender) in [(sender, sent, true), (receiver, posted, false)] {
            let Some(times) = rank.and_then(|rank| times.get_mut(&rank)) else { continue };
            let known = if is_sender { &mut times.first_send } else { &mut times.first_cts };
            *known = match (*known, first) {
                (Some(known), Some(first)) => Some(known.min(first)),
                (known, first) => known.or(first),
            };
        }
    }
    for (at, edge) in edges.iter().enumerate() {
        let sender = job.connection(edge.connection).and_then(|one| one.sender);
        if let Some(times) = sender.and_then(|rank| times.get_mut(&rank)) {
            times.edges.push(at);
        }
    }
    times
}

#[cfg(test)]
mod tests {
    use super::{DepartureClocks, RankWaits, compare};

    /// A rank with this start wait and busy time, which sends to the next one.
    fn rank(rank: u32, of: u32, start_wait_ns: u64, busy_ns: u64) -> RankWaits {
        RankWaits {
            rank,
            last_edge: None,
            first_edge: None,
            sends_only_to: Some((rank + 1) % of),
            first_send: None,
            start_wait_ns: Some(start_wait_ns),
            shortest_wait_ns: Some(start_wait_ns),
            busy_ns: Some(busy_ns),
            cts_wait_ns: None,
            start_paused_ns: 0,
            lateness: None,
        }
    }

    fn lateness(waits: &[(u64, u64)]) -> Vec<i64> {
        let of = waits.len() as u32;
        let mut ranks: Vec<RankWaits> =
            (0..of).zip(waits).map(|(at, (start, busy))| rank(at, of, *start, *busy)).collect();
        compare(&mut ranks, &[], &DepartureClocks::default());
        ranks.iter().filter_map(|rank| Some(rank.lateness?.late_ns)).collect()
    }

    #[test]
    fn who_was_busy_no_longer_than_others_is_not_late() {
        assert_eq!(lateness(&[(10, 50), (10, 50), (40, 80), (10, 50)]), [0, 0, 30, 0]);
        assert_eq!(lateness(&[(10, 50), (10, 50), (40, 50), (10, 50)])[2], 0);
    }

    /// If a rank is called late, the rank before it in the ring sends as late.
    #[test]
    fn who_may_have_waited_for_a_rank_says_nothing_about_it() {
        assert_eq!(lateness(&[(10, 80), (40, 80)]), [0, 30]);
        assert_eq!(lateness(&[(10, 80), (40, 80), (10, 50)])[1], 30);
    }
}
