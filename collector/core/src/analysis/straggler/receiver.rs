//! A rank that takes data slowly: it offers room again late, in the whole collective.
//!
//! A receiver offers the room of a message again when its GPU has taken the message. So the time
//! from the end of a message, or the rank's own first data where that is later, to the
//! clear-to-send for the same room, a window later, is the receiver's own. A rank may also be held up
//! by the next one: ranks are compared by the time from when that one had room for what the message
//! becomes. One collective says little; a slow receiver is one in the collectives before and after
//! as well.

use std::collections::BTreeMap;

use super::sign::{Sign, SignKind};
use super::{Case, Cause, Straggler};
use crate::analysis::collective::{Collective, RingOrder};
use crate::analysis::spread::lower_median;
use crate::analysis::wait::CollectiveWaits;
use crate::analysis::wait::view::{Message, View};
use crate::link::job::{CommunicatorId, NetConnectionId};
use crate::model::grade::Grade;
use crate::model::time::Timestamp;

/// A receiver is judged in a collective in which it offers room again this many times.
const REFILLS_WANTED: usize = 3;

/// Tenths of the slowest other receiver's time that a slow one takes at least.
const TENTHS_OF_OTHERS: u64 = 13;

/// Judged collectives considered before and after one.
const NEIGHBOURS: usize = 4;

/// Of these, the rank must stand out in three, and in three of four.
const AGREEING: (usize, usize) = (3, 4);

/// How long a receiver took to offer room again.
#[derive(Clone, Copy, Debug)]
pub struct Refill {
    connection: NetConnectionId,
    /// The lower median over the messages.
    usual_ns: u64,
    /// The same from when the next rank had room for what the message becomes, if that was later.
    own_ns: u64,
    /// How often in the collective one follows the other.
    rounds: u64,
}

impl Refill {
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
    let mut found = vec![None; collectives.len()];
    let mut judged: BTreeMap<CommunicatorId, Vec<(usize, Option<Straggler>)>> = BTreeMap::new();
    for (at, ((collective, waits), refills)) in
        collectives.iter().zip(waits).zip(refills).enumerate()
    {
        // Without another receiver there is no comparison.
        if refills.len() > 1 {
            let of_communicator = judged.entry(collective.communicator).or_default();
            of_communicator.push((at, slowest(refills, waits)));
        }
    }
    for judged in judged.values() {
        for (place, (at, straggler)) in judged.iter().enumerate() {
            let Some(straggler) = straggler else { continue };
            let end = (place + NEIGHBOURS + 1).min(judged.len());
            let around = judged.get(place.saturating_sub(NEIGHBOURS)..end).unwrap_or_default();
            let named = around.iter().filter_map(|(_, other)| other.as_ref());
            let same = named.filter(|other| other.rank == straggler.rank).count();
            let (agreeing, of) = AGREEING;
            if same >= agreeing && same * of >= around.len() * agreeing {
                found[*at] = Some(straggler.clone());
            }
        }
    }
    found
}

/// The rank that took data most slowly, if it stands out.
fn slowest(refills: &BTreeMap<u32, Refill>, waits: &CollectiveWaits) -> Option<Straggler> {
    let (rank, slowest) = refills.iter().max_by_key(|(_, refill)| refill.own_ns)?;
    let others = || refills.iter().filter(|(other, _)| *other != rank).map(|(_, refill)| refill);
    // By both figures: the rank's own time may be so short that chance makes it the longest.
    let stands_out = |of: fn(&Refill) -> u64| {
        let most_ns = others().map(of).max()?;
        Some(of(slowest).saturating_mul(10) >= most_ns.saturating_mul(TENTHS_OF_OTHERS))
    };
    if !stands_out(|refill| refill.own_ns)? || !stands_out(|refill| refill.usual_ns)? {
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

/// By receiver, its quickest channel: a slow rank slows all of them. A rank that does not send over
/// the network is left out: when it began to take data is unknown.
#[must_use]
pub fn refills(case: &Case<'_>) -> BTreeMap<u32, Refill> {
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
    let next_rooms = NextRooms::new(case);
    let mut refills: BTreeMap<u32, Refill> = BTreeMap::new();
    for (rank, start, connection, channel, messages) in &seen {
        let rooms = next_rooms.of(*rank, *channel);
        let pairs = || (0..).zip(messages).zip(messages.iter().skip(window));
        if pairs().count() < REFILLS_WANTED {
            continue;
        }
        let since = |room: &dyn Fn(u64) -> Option<Timestamp>| {
            lower_median(pairs().filter_map(|((at, message), later)| {
                let could_take = message.last.max(*start);
                Some(later.cts?.nanos_since(could_take.max(room(at).unwrap_or(could_take))))
            }))
        };
        let usual_ns = since(&|_| None);
        let own_ns = since(&|at| rooms.of_message(at));
        let Some((usual_ns, own_ns)) = usual_ns.zip(own_ns) else { continue };
        let rounds = messages.len().checked_div(window).unwrap_or(0) as u64;
        let refill = Refill { connection: *connection, usual_ns, own_ns, rounds };
        let known = refills.entry(*rank).or_insert(refill);
        if usual_ns < known.usual_ns {
            *known = Refill { own_ns: known.own_ns, ..refill };
        }
        known.own_ns = own_ns.min(known.own_ns);
    }
    refills
}

/// When the rank after each rank had room for what that rank passes on, by the rank's own tap.
struct NextRooms {
    ring: Option<RingOrder>,
    /// By rank and channel, the room for each message that it sends; `None` if several connections
    /// come into question.
    by_sender: BTreeMap<(u32, Option<u32>), Option<Vec<Option<Timestamp>>>>,
}

/// The rooms for what one rank passes on through one channel.
struct Rooms<'a> {
    ring: Option<RingOrder>,
    rooms: &'a [Option<Timestamp>],
}

impl NextRooms {
    fn new(case: &Case<'_>) -> Self {
        let mut by_sender: BTreeMap<_, Option<Vec<Option<Timestamp>>>> = BTreeMap::new();
        for on in &case.collective.transfers {
            let Some(connection) = case.job.connection(on.connection) else { continue };
            let view = View::new(connection, on.places.clone()).filter(View::is_of_sender);
            if let (Some(rank), Some(view)) = (connection.sender, view) {
                let rooms = view.messages().map(|message| message.cts).collect();
                let known = by_sender.entry((rank, connection.channel));
                known.and_modify(|known| *known = None).or_insert(Some(rooms));
            }
        }
        Self { ring: case.collective.ring_order, by_sender }
    }

    fn of(&self, rank: u32, channel: Option<u32>) -> Rooms<'_> {
        let rooms = self.by_sender.get(&(rank, channel)).and_then(Option::as_deref);
        Rooms { ring: self.ring, rooms: rooms.unwrap_or_default() }
    }
}

impl Rooms<'_> {
    /// The room for what the rank makes of message `at` of the collective; `None` if it passes
    /// nothing on, or that was not seen.
    fn of_message(&self, at: u64) -> Option<Timestamp> {
        let next = usize::try_from(self.ring?.passed_on_by(at)?).ok()?;
        self.rooms.get(next).copied().flatten()
    }
}

/// Clear-to-sends that are outstanding before the first message has ended.
fn window(messages: &[Message]) -> usize {
    let Some(end) = messages.first().map(|message| message.last) else { return 0 };
    messages.iter().take_while(|message| message.cts.is_some_and(|cts| cts <= end)).count()
}
