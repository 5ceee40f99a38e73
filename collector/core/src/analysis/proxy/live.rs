//! Records of processes that run: what they wrote within the window, and sums since they were found.
//!
//! The window consists of segments. The latest one grows; the others are shared by the copies that are
//! made for reports.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::own::{Account, OwnSums};
use super::{CollectiveWaits, CommunicatorWaits, ProcessRecords, WaitSum};
use crate::decode::profiler::{Communicator, Item};

/// Collectives of a process that a segment keeps, the latest ones. Each takes about 300 bytes.
const SEGMENT: usize = 2048;

/// Collectives, edges, operations and records that wait, of all processes together: about 60 MB. Whoever has most
/// loses the oldest segment first, because users write rings, and may write anything.
const ENTRIES: usize = 200_000;

/// Turns after a gap in which a collective may show itself whose records are missing.
const DOUBTFUL_TURNS: u8 = 2;

/// Collectives whose operations may come in the next segment.
const RECENT: u32 = 64;

/// What a rank waited for since it was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RankTotals {
    /// Nanoseconds of all transfers, by the order of `Wait::ALL`.
    pub waits_ns: [u64; 6],
    /// What it used by itself.
    pub own: OwnSums,
}

/// Records of running processes.
#[derive(Clone, Debug, Default)]
pub struct LiveProfiles {
    rings: BTreeMap<u64, Ring>,
}

#[derive(Clone, Debug)]
struct Ring {
    /// Its user: what others write about a communicator of theirs does not count.
    owner: u32,
    past: VecDeque<Arc<ProcessRecords>>,
    now: ProcessRecords,
    account: Account,
    /// Waits of segments that are forgotten or past, by communicator.
    before: BTreeMap<u32, [u64; 6]>,
    /// Something was taken.
    is_begun: bool,
    /// Turns until what is known of collectives is whole again.
    doubtful: u8,
    /// What the plugin could not record so far.
    lost: u64,
    is_over: bool,
}

impl LiveProfiles {
    /// Takes what was read of the ring with this number, whose process is called `name` and runs as user `owner`.
    pub fn take(&mut self, number: u64, name: &str, owner: u32, items: Vec<Item>) {
        let ring = self.rings.entry(number).or_insert_with(|| Ring {
            owner,
            past: VecDeque::new(),
            now: ProcessRecords::new(name.to_owned()),
            account: Account::default(),
            before: BTreeMap::new(),
            is_begun: false,
            doubtful: 0,
            lost: 0,
            is_over: false,
        });
        for item in items {
            let is_turn = matches!(item, Item::Counts { .. });
            let is_gap = match &item {
                Item::Overwritten(_) | Item::Damaged(_) => true,
                Item::Counts { lost, .. } => {
                    let before = std::mem::replace(&mut ring.lost, sum(lost));
                    ring.lost > before
                }
                _ => false,
            };
            ring.now.take(item);
            if is_gap {
                ring.doubt();
            }
            if is_turn {
                ring.turn();
            }
        }
        while self.rings.values().map(Ring::entries).sum::<usize>() > ENTRIES {
            let Some(ring) = self.rings.values_mut().max_by_key(|ring| ring.entries()) else {
                break;
            };
            ring.shrink();
        }
    }

    /// Nothing more comes of this ring.
    pub fn end(&mut self, number: u64) {
        if let Some(ring) = self.rings.get_mut(&number) {
            ring.now.finish();
            // Those that ended last have no more turns to wait for.
            (0..2).for_each(|_| ring.account.turn(&mut ring.now.collectives));
            ring.is_over = true;
        }
    }

    /// Begins a segment, and forgets all but the latest `keep` before it.
    pub fn rotate(&mut self, keep: usize) {
        for ring in self.rings.values_mut() {
            ring.rotate(keep);
        }
        self.rings.retain(|_, ring| !ring.is_over || ring.past.iter().any(|one| one.records > 0));
    }

    /// Whether nothing was taken.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rings.is_empty()
    }

    /// What each process recorded within the window.
    #[must_use]
    pub fn records(&self) -> Vec<ProcessRecords> {
        let owners = self.owners();
        let of_ring = |ring: &Ring| {
            let mut records = ring.records();
            for waits in records.communicators.values_mut() {
                waits.of.take_if(|of| !ring.owns(of, &owners));
            }
            records
        };
        self.rings.values().map(of_ring).collect()
    }

    /// The user of each communicator, by its hash: whose process was found first.
    fn owners(&self) -> BTreeMap<u64, u32> {
        let mut owners = BTreeMap::new();
        for ring in self.rings.values() {
            for hash in ring.communicators().filter_map(|of| of.hash) {
                owners.entry(hash).or_insert(ring.owner);
            }
        }
        owners
    }

    /// What each rank waited for since it was found, by hash of the communicator and rank. A rank that is
    /// gone is there as long as the window holds its records.
    #[must_use]
    pub fn totals(&self) -> BTreeMap<(u64, u32), RankTotals> {
        let owners = self.owners();
        let mut all = BTreeMap::new();
        for (of, totals) in self.rings.values().flat_map(|ring| ring.totals(&owners)) {
            all.entry(of).or_insert(totals);
        }
        all
    }
}

impl Ring {
    /// Some records are missing.
    fn doubt(&mut self) {
        self.doubtful = DOUBTFUL_TURNS;
        // What began before may have ended unseen. At the first turn all that is known began since.
        if self.is_begun {
            let open = self.now.open.len().saturating_add(self.now.waiting.len());
            self.now.forgotten = self.now.forgotten.saturating_add(open as u64);
            self.now.open.clear();
            self.now.waiting.clear();
            self.now.collectives.values_mut().for_each(|one| one.moments.give_up());
        }
        self.account.doubt(&mut self.now.collectives);
    }

    fn turn(&mut self) {
        // Lanes are read one after the other: a collective whose records are missing in one may show itself
        // in the next turn of another.
        if let Some(left) = self.doubtful.checked_sub(1) {
            self.doubtful = left;
            self.account.doubt(&mut self.now.collectives);
        }
        self.account.turn(&mut self.now.collectives);
        while self.now.collectives.len() > SEGMENT {
            self.now.collectives.pop_first();
        }
        // What was overwritten before the first turn is no gap, but what happened before.
        if !self.is_begun && self.now.overwritten_words > 0 {
            self.rotate(0);
        }
        self.is_begun = true;
    }

    fn rotate(&mut self, keep: usize) {
        let past = self.now.begin_anew();
        for (number, waits) in &past.communicators {
            let before = self.before.entry(*number).or_default();
            add(before, &waits.waits);
        }
        self.past.push_back(Arc::new(past));
        while self.past.len() > keep {
            self.past.pop_front();
        }
        // One that has ended counts as long as the window holds its records: what it waited since the last
        // export is in no other.
        let Self { past, now, before, account, .. } = self;
        let segments = past.iter().map(AsRef::as_ref).chain(std::iter::once(&*now));
        let known: BTreeSet<u32> =
            segments.flat_map(|one| one.communicators.keys().copied()).collect();
        before.retain(|number, _| known.contains(number));
        account.forget(|number| known.contains(&number));
    }

    fn records(&self) -> ProcessRecords {
        let mut past = self.past.iter();
        let Some(first) = past.next() else { return self.now.clone() };
        let mut all = ProcessRecords::clone(first);
        past.for_each(|one| all.extend(one));
        all.extend(&self.now);
        all
    }

    fn communicators(&self) -> impl Iterator<Item = &Communicator> {
        let past = self.past.iter().map(AsRef::as_ref);
        let segments = past.chain(std::iter::once(&self.now));
        segments.flat_map(|one| one.communicators.values()).filter_map(|waits| waits.of.as_ref())
    }

    fn owns(&self, of: &Communicator, owners: &BTreeMap<u64, u32>) -> bool {
        of.hash.is_none_or(|hash| owners.get(&hash) == Some(&self.owner))
    }

    /// What it takes of `ENTRIES`.
    fn entries(&self) -> usize {
        let of = |one: &ProcessRecords| {
            one.collectives.len() + one.edges.len() + one.open.len() + one.waiting.len()
        };
        of(&self.now) + self.past.iter().map(|one| of(one)).sum::<usize>()
    }

    /// Forgets the oldest segment.
    fn shrink(&mut self) {
        if self.past.pop_front().is_none() {
            self.now.collectives.clear();
            self.now.edges.clear();
            self.now.open.clear();
            self.now.waiting.clear();
        }
        self.now.forgotten = self.now.forgotten.saturating_add(1);
    }

    fn totals<'a>(
        &'a self,
        owners: &'a BTreeMap<u64, u32>,
    ) -> impl Iterator<Item = ((u64, u32), RankTotals)> + 'a {
        let mut known: BTreeMap<u32, &Communicator> = BTreeMap::new();
        // What was said last holds.
        known.extend(self.communicators().map(|of| (of.number, of)));
        known.into_iter().filter(|(_, of)| self.owns(of, owners)).filter_map(|(number, of)| {
            let mut waits_ns = self.before.get(&number).copied().unwrap_or_default();
            if let Some(waits) = self.now.communicators.get(&number) {
                add(&mut waits_ns, &waits.waits);
            }
            let own = self.account.sums.get(&number).copied().unwrap_or_default();
            Some(((of.hash?, of.rank?), RankTotals { waits_ns, own }))
        })
    }
}

/// What the plugin could not record.
fn sum(lost: &[u64; 8]) -> u64 {
    lost.iter().fold(0, |sum, one| sum.saturating_add(*one))
}

fn add(sums: &mut [u64; 6], waits: &[WaitSum; 6]) {
    for (sum, wait) in sums.iter_mut().zip(waits) {
        *sum = sum.saturating_add(wait.total_ns);
    }
}

impl ProcessRecords {
    /// Gives what was taken so far, and goes on with what is not over.
    fn begin_anew(&mut self) -> Self {
        let last = self.collectives.keys().next_back().copied().unwrap_or(0);
        let goes_on = |number: u32, one: &CollectiveWaits| {
            let is_recent = number.saturating_add(RECENT) > last && one.moments.ended_ns == 0;
            one.moments.open > 0 || is_recent || one.moments.is_over() && !one.moments.is_settled()
        };
        let (open, over) = std::mem::take(&mut self.collectives)
            .into_iter()
            .partition(|(number, one)| goes_on(*number, one));
        self.collectives = over;
        let mut next = Self::new(self.file.clone());
        next.header.clone_from(&self.header);
        next.collectives = open;
        next.open = std::mem::take(&mut self.open);
        next.waiting = std::mem::take(&mut self.waiting);
        next.lost_before = self.lost_before;
        next.first_operation = self.first_operation;
        for (before, lost) in next.lost_before.iter_mut().zip(self.lost) {
            *before = before.saturating_add(lost);
        }
        let running = |of: &CommunicatorWaits| of.of.as_ref().is_none_or(|of| !of.is_over);
        for (number, waits) in self.communicators.iter().filter(|(_, waits)| running(waits)) {
            let waits = CommunicatorWaits { of: waits.of.clone(), ..CommunicatorWaits::default() };
            next.communicators.insert(*number, waits);
        }
        // A collective counts where its operations do.
        for called in next.collectives.values().filter_map(|one| one.called) {
            if let Some(of) = self.communicators.get_mut(&called.comm) {
                of.collectives = of.collectives.saturating_sub(1);
            }
            let of = next.communicators.entry(called.comm).or_default();
            of.collectives = of.collectives.saturating_add(1);
        }
        std::mem::replace(self, next)
    }

    /// Adds what the same process recorded after this.
    fn extend(&mut self, later: &Self) {
        for (number, waits) in &later.communicators {
            let own = self.communicators.entry(*number).or_default();
            own.of = waits.of.clone().or(own.of.take());
            own.collectives = own.collectives.saturating_add(waits.collectives);
            own.operations = own.operations.saturating_add(waits.operations);
            own.transfers = own.transfers.saturating_add(waits.transfers);
            own.bytes = own.bytes.saturating_add(waits.bytes);
            own.waits.iter_mut().zip(&waits.waits).for_each(|(own, later)| own.merge(later));
        }
        self.collectives.extend(later.collectives.iter().map(|(number, one)| (*number, *one)));
        for (key, waits) in &later.edges {
            self.edges.entry(*key).or_default().merge(waits);
        }
        self.records = self.records.saturating_add(later.records);
        self.overwritten_words = self.overwritten_words.saturating_add(later.overwritten_words);
        self.damaged_words = self.damaged_words.saturating_add(later.damaged_words);
        self.forgotten = self.forgotten.saturating_add(later.forgotten);
        for (own, later) in self.lost.iter_mut().zip(later.lost) {
            *own = own.saturating_add(later);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::profiler::fixture;

    const COMM: u32 = 1;

    fn communicator() -> Item {
        Item::Communicator(fixture::communicator(COMM, 9, 3))
    }

    /// A collective with one operation that sends once.
    fn collective(number: u32) -> [Item; 4] {
        fixture::collective(COMM, number, u64::from(number) * 1000, (5, 30))
    }

    const TURN: Item = Item::Counts { records: 0, lost: [0; 8] };

    #[test]
    fn sums_do_not_depend_on_segments_and_the_window_forgets() {
        let mut live = LiveProfiles::default();
        live.take(1, "a", 7, vec![communicator()]);
        for number in 1..=10 {
            let [called, start, transfer, end] = collective(number);
            live.take(1, "a", 7, vec![called, start, TURN]);
            live.rotate(3);
            live.take(1, "a", 7, vec![transfer, end, TURN]);
        }
        (0..4).for_each(|_| live.take(1, "a", 7, vec![TURN]));
        let totals = live.totals()[&(9, 3)];
        assert_eq!(totals.waits_ns, [50, 60, 70, 0, 0, 0]);
        assert_eq!(totals.own.compute_ns, Some(50));
        // The first one 30; the others from the end of the one before, 1,000 earlier.
        assert_eq!(totals.own.observed_ns, 30 + 9 * 1000);
        let records = live.records();
        assert_eq!(records.len(), 1);
        let of = &records[0].communicators[&COMM];
        assert!(of.operations < 10 && of.operations >= 3, "{}", of.operations);
        assert!(!records[0].has_gaps());
        let counted = records[0].collectives.values().filter(|one| one.lasted_ns > 0).count();
        assert_eq!(of.collectives, counted as u64);
    }

    #[test]
    fn what_a_communicator_waited_last_counts_after_its_end() {
        let mut live = LiveProfiles::default();
        live.take(1, "a", 7, vec![communicator(), TURN]);
        live.take(1, "a", 7, collective(1).to_vec());
        let over = Communicator { is_over: true, ..fixture::communicator(COMM, 9, 3) };
        live.take(1, "a", 7, vec![Item::Communicator(over)]);
        (0..4).for_each(|_| live.take(1, "a", 7, vec![TURN]));
        for _ in 0..3 {
            live.rotate(3);
            let totals = live.totals()[&(9, 3)];
            assert_eq!(totals.waits_ns, [5, 6, 7, 0, 0, 0]);
            assert_eq!(totals.own.compute_ns, Some(5));
        }
        live.rotate(3);
        assert!(live.totals().is_empty(), "the window has forgotten it");
    }

    #[test]
    fn a_gap_makes_no_late_rank() {
        let mut live = LiveProfiles::default();
        live.take(1, "a", 7, vec![communicator(), TURN]);
        live.take(1, "a", 7, collective(1).to_vec());
        (0..3).for_each(|_| live.take(1, "a", 7, vec![TURN]));
        let before = live.totals()[&(9, 3)].own;
        assert_eq!((before.observed_ns, before.enqueue_ns), (30, Some(0)));
        // The begin of one is there, its end is overwritten; the rest of another one comes after that.
        let [called, start, transfer, _] = collective(2);
        live.take(1, "a", 7, vec![called, start, transfer, Item::Overwritten(9)]);
        let [_, start, transfer, end] = collective(3);
        live.take(1, "a", 7, vec![start, transfer, end, TURN]);
        live.take(1, "a", 7, collective(4).to_vec());
        (0..3).for_each(|_| live.take(1, "a", 7, vec![TURN]));
        assert_eq!(live.totals()[&(9, 3)].own, before, "none of them is whole for certain");
        // The first one after that: what was since the end of number 1 is not known.
        live.take(1, "a", 7, collective(900).to_vec());
        (0..3).for_each(|_| live.take(1, "a", 7, vec![TURN]));
        let own = live.totals()[&(9, 3)].own;
        assert_eq!((own.observed_ns, own.enqueue_ns), (60, Some(0)));
        live.take(1, "a", 7, collective(901).to_vec());
        (0..3).for_each(|_| live.take(1, "a", 7, vec![TURN]));
        assert_eq!(live.totals()[&(9, 3)].own.enqueue_ns, Some(970));
        assert!(live.records()[0].has_gaps());
    }

    #[test]
    fn others_write_nothing_about_a_communicator_of_a_user() {
        let mut live = LiveProfiles::default();
        live.take(1, "a", 7, vec![communicator(), TURN]);
        live.take(2, "b", 8, vec![communicator(), TURN]);
        live.take(3, "c", 7, vec![communicator(), TURN]);
        let known: Vec<bool> =
            live.records().iter().map(|one| one.communicators[&COMM].of.is_some()).collect();
        assert_eq!(known, [true, false, true]);
    }

    #[test]
    fn who_writes_most_forgets_first() {
        let mut live = LiveProfiles::default();
        live.take(1, "a", 7, collective(1).to_vec());
        let starts = |at: u32| {
            let range = at * 10_000 + 1..(at + 1) * 10_000;
            range.map(|number| collective(number)[1].clone()).collect::<Vec<Item>>()
        };
        for number in 2..40 {
            live.take(number, "b", 8, starts(0));
        }
        let entries: usize = live.rings.values().map(Ring::entries).sum();
        assert!(entries <= ENTRIES, "{entries}");
        assert!(live.rings[&1].entries() > 0);
    }

    #[test]
    fn what_was_overwritten_before_is_no_gap() {
        let mut live = LiveProfiles::default();
        let [called, start, transfer, end] = collective(5);
        live.take(1, "a", 7, vec![communicator(), Item::Overwritten(9), called, start, TURN]);
        live.take(1, "a", 7, vec![transfer, end, TURN, TURN, TURN, TURN]);
        let records = live.records();
        assert!(!records[0].has_gaps());
        assert_eq!(records[0].communicators[&COMM].operations, 1);
        live.take(1, "a", 7, vec![Item::Overwritten(9), TURN]);
        assert!(live.records()[0].has_gaps());
        live.end(1);
        live.rotate(2);
        assert!(!live.is_empty());
        (0..3).for_each(|_| live.rotate(2));
        assert!(live.is_empty());
    }
}
