//! A slow receiver: throughout the collective it offers each buffer again late.
//!
//! A receiver offers a buffer again when its GPU has consumed the message in it. So the time from the
//! end of a message (or the rank's own first data, if that is later) to the clear-to-send for the
//! same buffer, a window later, is the receiver's own. The next rank may hold a rank up as well:
//! ranks are compared by the time from when the next rank had offered a buffer for what the message
//! becomes. The ranks before a slow one are held up: they offer buffers as late, and little of that time is
//! their own. One collective proves little: a slow receiver is slow in the neighbouring collectives as
//! well.

use std::collections::{BTreeMap, BTreeSet};

use super::neighbour::{Judged, confirmed};
use super::sign::{Sign, SignKind};
use super::{Case, Cause, Straggler};
use crate::analysis::collective::{Collective, RingOrder};
use crate::analysis::wait::CollectiveWaits;
use crate::analysis::wait::feed::Feeds;
use crate::analysis::wait::view::{Message, View};
use crate::link::job::NetConnectionId;
use crate::model::grade::Grade;
use crate::model::spread::lower_median;
use crate::model::time::Timestamp;

/// A receiver is judged only in collectives in which it offers buffers again this many times.
const REFILLS_WANTED: usize = 3;

/// A slow receiver takes at least this many tenths of the next slowest receiver's time.
const TENTHS_OF_OTHERS: u64 = 13;

/// How long a receiver took to offer a buffer again.
#[derive(Clone, Copy, Debug)]
pub struct Refill {
    connection: NetConnectionId,
    /// The rank that sends to it.
    from: Option<u32>,
    /// The lower median over the messages.
    usual_ns: u64,
    /// The same from when the next rank had offered a buffer for what the message becomes, if that
    /// was later.
    own_ns: u64,
    /// Number of windows in the collective: each adds the excess once.
    rounds: u64,
}

impl Refill {
    /// Most of the time it waits for the next rank.
    const fn is_held_up(&self) -> bool {
        self.own_ns < self.usual_ns / 2
    }

    /// How long the rank itself took over the collective.
    #[must_use]
    pub const fn total_ns(&self) -> u64 {
        self.own_ns.saturating_mul(self.rounds)
    }
}

/// The slow receiver of each collective; `refills` are those of the collectives.
#[must_use]
pub fn slow_receivers(
    collectives: &[Collective],
    waits: &[CollectiveWaits],
    refills: &[BTreeMap<u32, Refill>],
) -> Vec<Option<Straggler>> {
    let mut judged = Judged::new();
    for (at, ((collective, waits), refills)) in
        collectives.iter().zip(waits).zip(refills).enumerate()
    {
        // Without another receiver there is no comparison.
        if refills.len() > 1 {
            let of_communicator = judged.entry(collective.communicator).or_default();
            of_communicator.push((at, slowest(refills, waits)));
        }
    }
    confirmed(&judged, collectives.len())
}

/// The rank that accepted data most slowly, if it stands out.
fn slowest(refills: &BTreeMap<u32, Refill>, waits: &CollectiveWaits) -> Option<Straggler> {
    let (rank, slowest) = refills.iter().max_by_key(|(_, refill)| refill.own_ns)?;
    if slowest.is_held_up() {
        return None;
    }
    let victims = held_up_by(slowest, refills);
    let others = || refills.iter().filter(|(other, _)| *other != rank).map(|(_, refill)| refill);
    let free = || {
        let free = refills.iter().filter(|(other, _)| *other != rank && !victims.contains(other));
        free.map(|(_, refill)| refill)
    };
    // By both figures: the rank's own time may be so short that chance makes it the longest.
    let most_own_ns = others().map(|other| other.own_ns).max()?;
    let most_ns = free().map(|other| other.usual_ns).max()?;
    let stands_out =
        |ns: u64, most_ns: u64| ns.saturating_mul(10) >= most_ns.saturating_mul(TENTHS_OF_OTHERS);
    if !stands_out(slowest.own_ns, most_own_ns) || !stands_out(slowest.usual_ns, most_ns) {
        return None;
    }
    let middle_ns = lower_median(others().map(|refill| refill.usual_ns))?;
    let kind = SignKind::Refill { rank: *rank, own_ns: slowest.usual_ns, others_ns: middle_ns };
    let at = waits.edges.iter().find(|edge| edge.connection == slowest.connection);
    Some(Straggler {
        rank: *rank,
        lag_ns: slowest.usual_ns.saturating_sub(middle_ns).saturating_mul(slowest.rounds),
        cause: Cause::Receiver,
        connection: Some(slowest.connection),
        grade: Grade::Inferred,
        evidence: vec![Sign { kind, witness: at.map(|edge| edge.first_witness) }],
    })
}

/// The ranks before a slow one, as far back as they wait for the rank after them.
fn held_up_by(slowest: &Refill, refills: &BTreeMap<u32, Refill>) -> BTreeSet<u32> {
    let mut victims = BTreeSet::new();
    let mut before = slowest.from;
    while let Some(rank) = before
        && let Some(refill) = refills.get(&rank).filter(|refill| refill.is_held_up())
        && victims.insert(rank)
    {
        before = refill.from;
    }
    victims
}

/// For each receiver, its quickest channel: a slow rank slows all of them. Ranks that do not send over
/// the network are left out: when they began to accept data is unknown.
#[must_use]
pub fn refills(case: &Case<'_>, feeds: &Feeds) -> BTreeMap<u32, Refill> {
    let mut seen = Vec::new();
    for on in &case.collective.transfers {
        let Some(connection) = case.job.connection(on.connection) else { continue };
        let rank = case.waits.ranks.iter().find(|one| Some(one.rank) == connection.receiver);
        let view = View::of_receiver(connection, on.places.clone());
        if let (Some((rank, start)), Some(view)) =
            (rank.and_then(|one| Some((one.rank, one.first_send?))), view)
        {
            let messages = view.messages().collect::<Vec<_>>();
            seen.push((rank, start, on.connection, connection.channel, messages));
        }
    }
    let window = seen.iter().map(|(.., messages)| window(messages)).max().unwrap_or(0);
    if window == 0 {
        return BTreeMap::new();
    }
    let next_buffers = NextBuffers::new(case);
    let mut refills: BTreeMap<u32, Refill> = BTreeMap::new();
    for (rank, start, connection, channel, messages) in &seen {
        let offers = next_buffers.of((*rank, *channel), feeds.out_of(*connection));
        let pairs = || (0..).zip(messages).zip(messages.iter().skip(window));
        if pairs().count() < REFILLS_WANTED {
            continue;
        }
        let since = |offered: &dyn Fn(u64) -> Option<Timestamp>| {
            lower_median(pairs().filter_map(|((at, message), later)| {
                let could_accept = message.last.max(*start);
                Some(later.cts?.nanos_since(could_accept.max(offered(at).unwrap_or(could_accept))))
            }))
        };
        let usual_ns = since(&|_| None);
        let own_ns = since(&|at| offers.of_message(at));
        let Some((usual_ns, own_ns)) = usual_ns.zip(own_ns) else { continue };
        let rounds = messages.len().checked_div(window).unwrap_or(0) as u64;
        let from = case.job.connection(*connection).and_then(|one| one.sender);
        let refill = Refill { connection: *connection, from, usual_ns, own_ns, rounds };
        let known = refills.entry(*rank).or_insert(refill);
        if usual_ns < known.usual_ns {
            *known = Refill { own_ns: known.own_ns, ..refill };
        }
        known.own_ns = own_ns.min(known.own_ns);
    }
    refills
}

/// The offer for each message of a connection; `None` if it was not seen.
type OfferTimes = Vec<Option<Timestamp>>;

/// A rank and a channel.
type Place = (u32, Option<u32>);

/// When the rank after each rank offered buffers for what that rank forwards, by the rank's own tap.
struct NextBuffers {
    ring: Option<RingOrder>,
    /// By rank and channel, of each connection on which it sends there.
    by_sender: BTreeMap<Place, Vec<(NetConnectionId, OfferTimes)>>,
}

/// The offers for what one rank forwards on one channel.
struct Offers<'a> {
    ring: Option<RingOrder>,
    offers: &'a [Option<Timestamp>],
}

impl NextBuffers {
    fn new(case: &Case<'_>) -> Self {
        let mut by_sender: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for on in &case.collective.transfers {
            let Some(connection) = case.job.connection(on.connection) else { continue };
            let view = View::new(connection, on.places.clone()).filter(View::is_of_sender);
            if let (Some(rank), Some(view)) = (connection.sender, view) {
                let offers: OfferTimes = view.messages().map(|message| message.cts).collect();
                let known: &mut Vec<_> = by_sender.entry((rank, connection.channel)).or_default();
                known.push((on.connection, offers));
            }
        }
        Self { ring: case.collective.ring_order, by_sender }
    }

    /// Of a rank and channel; where the rank sends on several connections of it, of the one that is `fed`.
    fn of(&self, place: Place, fed: Option<NetConnectionId>) -> Offers<'_> {
        let offers = match self.by_sender.get(&place).map(Vec::as_slice) {
            Some([(_, only)]) => Some(only),
            Some(all) => all.iter().find(|(id, _)| Some(*id) == fed).map(|(_, offers)| offers),
            None => None,
        };
        Offers { ring: self.ring, offers: offers.map(Vec::as_slice).unwrap_or_default() }
    }
}

impl Offers<'_> {
    /// The offer for what the rank makes of message `at` of the collective; `None` if it forwards
    /// nothing, or the offer was not captured.
    fn of_message(&self, at: u64) -> Option<Timestamp> {
        let next = usize::try_from(self.ring?.passed_on_by(at)?).ok()?;
        self.offers.get(next).copied().flatten()
    }
}

/// Clear-to-sends outstanding before the first message ends.
fn window(messages: &[Message]) -> usize {
    let Some(end) = messages.first().map(|message| message.last) else { return 0 };
    messages.iter().take_while(|message| message.cts.is_some_and(|cts| cts <= end)).count()
}
