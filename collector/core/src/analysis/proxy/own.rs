//! When the parts of a collective happened at a rank, and how long it kept others waiting.
//!
//! These are the times that a rank uses by itself, as a tap at its host shows them in packets
//! (`analysis/straggler/own_time.rs`): until its CPU called, and until its GPU had the first data. Compared
//! between hosts they name the rank that the job waits for. Time in which another communicator of the
//! process waited for others is none of them (`elsewhere.rs`). How fast it takes data is not among them: data
//! is also not taken where the next rank gives no room.

use std::collections::BTreeMap;

use super::CollectiveWaits;
use super::elsewhere::{Past, Waits};
use super::late::IS_EQUAL;
use crate::decode::profiler::Transfer;

/// Turns without an open operation after which a collective is over: lanes are read one after the other.
const QUIET_TURNS: u8 = 2;

/// Of a collective in one process. Times are of the monotonic clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moments {
    /// When its first operation was appended; 0 if none was.
    pub began_ns: u64,
    /// When the first data of its slowest operation was there to be sent; 0 if it sends none.
    pub first_data_ns: u64,
    /// When the first data of an operation was received and taken; 0 if none was. The GPU was there by then.
    pub taken_ns: u64,
    /// When its last operation ended; 0 if none has.
    pub ended_ns: u64,
    /// Operations that have begun and not ended.
    pub open: u32,
    /// How long sends waited for room, after the first transfer; of several channels the longest.
    pub room_ns: u64,
    /// Turns since its last operation ended.
    quiet: u8,
    is_counted: bool,
    /// Others know when it waited.
    is_noted: bool,
}

/// Of an operation that has not ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OperationMoments {
    is_begun: bool,
    room_ns: u64,
}

/// What the first transfer of an operation shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum First {
    /// When its data was there to be sent.
    Data(u64),
    /// When its data was taken.
    Taken(u64),
}

impl OperationMoments {
    /// Adds a transfer of an operation that was appended at `time_ns`; returns what it shows if it is the
    /// first.
    pub(super) fn add(&mut self, transfer: &Transfer, time_ns: u64) -> Option<First> {
        let [first, second, third] = transfer.waits_ns;
        if transfer.number > 0 {
            let room_ns = second.filter(|_| transfer.is_send).unwrap_or(0);
            self.room_ns = self.room_ns.saturating_add(room_ns);
            return None;
        }
        // Numbers of transfers begin anew after the last one of 16 bits.
        if std::mem::replace(&mut self.is_begun, true) {
            return None;
        }
        let after = |ns: u64| time_ns.saturating_add(transfer.begin_ns).saturating_add(ns);
        if transfer.is_send {
            return first.map(|first| First::Data(after(first)));
        }
        let waits = first?.saturating_add(second?).saturating_add(third?);
        Some(First::Taken(after(waits)))
    }
}

impl Moments {
    pub(super) fn begin(&mut self, time_ns: u64) {
        self.open = self.open.saturating_add(1);
        self.quiet = 0;
        self.began_ns = if self.began_ns == 0 { time_ns } else { self.began_ns.min(time_ns) };
    }

    pub(super) fn end(&mut self, of: &OperationMoments, time_ns: u64, lasted_ns: u64) {
        self.open = self.open.saturating_sub(1);
        self.quiet = 0;
        self.ended_ns = self.ended_ns.max(time_ns.saturating_add(lasted_ns));
        self.room_ns = self.room_ns.max(of.room_ns);
    }

    /// The first data of one of its operations was there, or taken.
    pub(super) fn first(&mut self, first: First) {
        match first {
            First::Data(ns) => self.first_data_ns = self.first_data_ns.max(ns),
            First::Taken(ns) if self.taken_ns == 0 => self.taken_ns = ns,
            First::Taken(ns) => self.taken_ns = self.taken_ns.min(ns),
        }
    }

    /// Its operations that are open may never be seen to end.
    pub(super) const fn give_up(&mut self) {
        self.open = 0;
        self.is_counted = true;
        self.is_noted = true;
    }

    /// Whether it was counted, or will not be, and others know when it waited.
    pub(super) const fn is_settled(&self) -> bool {
        self.is_noted
    }

    /// Whether all its operations have ended.
    pub(super) const fn is_over(&self) -> bool {
        self.ended_ns > 0 && self.open == 0
    }
}

/// Time in collectives that a rank itself used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnSums {
    /// From collective to collective: what the others are shares of.
    pub observed_ns: u64,
    /// Until it called, while all before was over and no other communicator waited; `None` if no collective
    /// shows it.
    pub enqueue_ns: Option<u64>,
    /// From then until its first data was there.
    pub compute_ns: Option<u64>,
    /// How long its sends waited for room.
    pub room_ns: Option<u64>,
}

/// Counts each collective once when it is over, in the order of their numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Account {
    /// When the latest collective of each communicator ended.
    ends: BTreeMap<u32, u64>,
    /// Waits of all communicators.
    past: Past,
    /// By the number of the communicator.
    pub(super) sums: BTreeMap<u32, OwnSums>,
}

impl Account {
    /// After a turn.
    pub(super) fn turn(&mut self, collectives: &mut BTreeMap<u32, CollectiveWaits>) {
        let mut due = Vec::new();
        for (number, one) in collectives.iter_mut().filter(|(_, one)| one.moments.is_over()) {
            one.moments.quiet = one.moments.quiet.saturating_add(1);
            if one.moments.quiet >= QUIET_TURNS && !one.moments.is_noted {
                due.push(*number);
            }
        }
        if due.is_empty() {
            return;
        }
        let waits = self.past.with(collectives.values().filter(|one| !one.moments.is_noted));
        for number in due {
            let Some(one) = collectives.get_mut(&number) else { continue };
            one.moments.is_noted = true;
            self.past.note(one);
            if !one.moments.is_counted {
                one.moments.is_counted = true;
                self.add(one, &waits);
            }
        }
    }

    /// Some of what was recorded is missing: what is known of `collectives` may be less than happened, and
    /// what was between them is not known.
    pub(super) fn doubt(&mut self, collectives: &mut BTreeMap<u32, CollectiveWaits>) {
        collectives.values_mut().for_each(|one| one.moments.is_counted = true);
        self.ends.clear();
    }

    /// Keeps only communicators that are `known`.
    pub(super) fn forget(&mut self, known: impl Fn(u32) -> bool) {
        self.ends.retain(|number, _| known(*number));
        self.sums.retain(|number, _| known(*number));
    }

    fn add(&mut self, one: &CollectiveWaits, waits: &Waits) {
        let Moments { began_ns, first_data_ns, ended_ns, room_ns, .. } = one.moments;
        let before = self.ends.get(&one.comm).copied();
        let sums = self.sums.entry(one.comm).or_default();
        let from = before.unwrap_or(began_ns);
        sums.observed_ns = sums.observed_ns.saturating_add(ended_ns.saturating_sub(from));
        self.ends.insert(one.comm, ended_ns.max(from));
        // Only in rings does the first data of each rank wait for nobody.
        if !one.is_ring || !IS_EQUAL.contains(&one.key.0) {
            return;
        }
        let add = |sum: &mut Option<u64>, ns: u64| {
            *sum = Some(sum.unwrap_or(0).saturating_add(ns));
        };
        let own_ns = |from: u64, until: u64| {
            let elsewhere_ns = waits.elsewhere_ns(one.comm, from, until.max(from));
            until.saturating_sub(from).saturating_sub(elsewhere_ns)
        };
        add(&mut sums.enqueue_ns, own_ns(from, began_ns));
        if first_data_ns > 0 {
            add(&mut sums.compute_ns, own_ns(began_ns.max(from), first_data_ns));
            add(&mut sums.room_ns, room_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::profiler::Function;

    fn transfer(number: u16, is_send: bool, begin_ns: u64, waits: [u64; 3]) -> Transfer {
        Transfer { operation: 1, number, is_send, begin_ns, waits_ns: waits.map(Some) }
    }

    /// A collective that was called at `time`, with data after `gpu`.
    fn collective(time: u64, gpu: u64, lasted: u64) -> CollectiveWaits {
        let mut one = CollectiveWaits {
            comm: 1,
            key: (Function(5), 1),
            is_ring: true,
            ..CollectiveWaits::default()
        };
        let (mut send, mut receive) = (OperationMoments::default(), OperationMoments::default());
        one.moments.first(send.add(&transfer(0, true, 1, [gpu, 500, 1]), time).unwrap());
        send.add(&transfer(1, true, 1, [gpu, 5, 1]), time);
        receive.add(&transfer(0, false, 0, [5, 0, 900]), time);
        receive.add(&transfer(1, false, 0, [905, 1, 20]), time);
        receive.add(&transfer(2, false, 0, [910, 0, 20]), time);
        one.moments.begin(time);
        one.moments.begin(time);
        one.moments.end(&send, time, lasted);
        one.moments.end(&receive, time, lasted - 1);
        one
    }

    #[test]
    fn a_collective_counts_once_with_what_the_rank_used_itself() {
        let mut account = Account::default();
        let mut all: BTreeMap<u32, CollectiveWaits> =
            [(1, collective(1000, 9, 1000)), (2, collective(5000, 99, 1000))].into();
        for _ in 0..4 {
            account.turn(&mut all);
        }
        let sums = account.sums[&1];
        // The second one: called 3,000 after the end of the first, which ended 4,000 before its own end.
        assert_eq!(sums.observed_ns, 1000 + 4000);
        assert_eq!(sums.enqueue_ns, Some(3000));
        assert_eq!(sums.compute_ns, Some(10 + 100));
        assert_eq!(sums.room_ns, Some(10));
    }

    #[test]
    fn who_waits_in_another_communicator_is_not_late() {
        let mut account = Account::default();
        let mut elsewhere = collective(2500, 9, 2000);
        elsewhere.comm = 2;
        let mut all: BTreeMap<u32, CollectiveWaits> =
            [(1, collective(1000, 9, 1000)), (2, elsewhere), (3, collective(5000, 99, 1000))]
                .into();
        (0..2).for_each(|_| account.turn(&mut all));
        // From 2,510 until 4,500 it waited for others in communicator 2.
        let sums = account.sums[&1];
        assert_eq!((sums.enqueue_ns, sums.compute_ns), (Some(3000 - 1990), Some(10 + 100)));
        assert_eq!(sums.observed_ns, 1000 + 4000);
        let other = account.sums[&2];
        assert_eq!((other.enqueue_ns, other.compute_ns), (Some(0), Some(10)));
    }

    #[test]
    fn what_was_between_is_not_known_after_a_gap() {
        let mut account = Account::default();
        let mut all: BTreeMap<u32, CollectiveWaits> = [(1, collective(1000, 9, 1000))].into();
        (0..2).for_each(|_| account.turn(&mut all));
        all.insert(2, collective(5000, 99, 1000));
        account.doubt(&mut all);
        all.insert(3, collective(50_000, 99, 1000));
        (0..2).for_each(|_| account.turn(&mut all));
        let sums = account.sums[&1];
        assert_eq!(sums.observed_ns, 1000 + 1000);
        assert_eq!((sums.enqueue_ns, sums.compute_ns), (Some(0), Some(10 + 100)));
    }

    #[test]
    fn a_call_made_ahead_is_not_late() {
        let mut account = Account::default();
        let mut all: BTreeMap<u32, CollectiveWaits> =
            [(1, collective(1000, 9, 1000)), (2, collective(1100, 1500, 2000))].into();
        (0..2).for_each(|_| account.turn(&mut all));
        let sums = account.sums[&1];
        // Its data was there 601 after the first one ended.
        assert_eq!((sums.enqueue_ns, sums.compute_ns), (Some(0), Some(10 + 601)));
    }
}
