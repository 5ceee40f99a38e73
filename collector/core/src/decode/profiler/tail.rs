//! A ring that is read while its process writes into it: what is new since the last turn.
//!
//! Whoever reads gives a function that copies bytes of the ring. The process may change them at any time,
//! also to nonsense, and may cut the file: a turn reads no more than it was allowed to.

use super::communicator::Communicator;
use super::header::{self, Header, NotProfiler};
use super::ring::{CONTROL, CONTROLS, LANES, LOST, PAGE, read_page};
use super::{Item, communicator, word};

/// Words of a lane at most: 128 MiB.
const LANE_WORDS: u32 = 1 << 24;
/// Entries of the table of communicators at most.
const ENTRIES: u32 = 4096;
/// Pages that are copied at a time.
const PAGES: u64 = 16;

/// Copies bytes from a place in the ring; `false` if it has not so many.
pub type Copy<'a> = dyn FnMut(u64, &mut [u8]) -> bool + 'a;

/// Why a ring cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TailError {
    /// It is no ring of the plugin.
    NotProfiler(NotProfiler),
    /// It is a file of the plugin, or its sizes make no sense.
    Shape,
    /// It ends too early: somebody cut it.
    Short,
    /// Another ring has taken its place.
    Replaced,
}

/// How far a ring was read.
#[derive(Clone, Debug)]
pub struct Tail {
    header: Header,
    /// Words up to which each lane was read.
    lanes: Vec<u64>,
    /// The table of communicators as it was read last.
    table: Vec<u64>,
    is_begun: bool,
}

impl Tail {
    /// Reads the header of a ring of `length` bytes.
    ///
    /// # Errors
    /// If it is no ring, or not a whole one.
    pub fn begin(length: u64, copy: &mut Copy<'_>) -> Result<Self, TailError> {
        let words = copied(copy, 0, header::WORDS)?;
        let header = Header::decode(&words).map_err(TailError::NotProfiler)?;
        let lanes = header.lanes as usize;
        let controls = lanes.saturating_mul(CONTROL).saturating_add(CONTROLS);
        let is_ring = header.is_ring()
            && lanes <= LANES
            && header.lane_words.is_power_of_two()
            && (PAGE..=u64::from(LANE_WORDS)).contains(&u64::from(header.lane_words))
            && header.entries <= ENTRIES
            && header.entry_words as usize == communicator::WORDS
            && (controls..=8192).contains(&(header.words as usize));
        if !is_ring || place(&header, header.lanes, 0) > length {
            return Err(TailError::Shape);
        }
        Ok(Self { header, lanes: vec![0; lanes], table: Vec::new(), is_begun: false })
    }

    /// Whose ring it is.
    #[must_use]
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// Gives `take` what is new, lane by lane, at most about `most` words of records; the rest is for the
    /// next turn. Counts come last.
    ///
    /// # Errors
    /// If it is another ring now, or not a whole one; what was taken before is good.
    pub fn turn(
        &mut self,
        most: u64,
        copy: &mut Copy<'_>,
        take: &mut dyn FnMut(Item),
    ) -> Result<(), TailError> {
        let words = copied(copy, 0, self.header.words as usize)?;
        if Header::decode(&words).as_ref() != Ok(&self.header) {
            return Err(TailError::Replaced);
        }
        if !self.is_begun {
            take(Item::Header(self.header.clone()));
            self.is_begun = true;
        }
        self.read_table(copy, take)?;
        let mut left = most;
        for lane in 0..self.lanes.len() {
            let control = lane.saturating_mul(CONTROL).saturating_add(CONTROLS);
            let head = word(&words, control.saturating_add(1));
            let reserved = word(&words, control);
            self.read_lane(lane, (reserved, head), &mut left, copy, take)?;
        }
        let records = (0..self.lanes.len()).fold(0_u64, |sum, lane| {
            let control = lane.saturating_mul(CONTROL).saturating_add(CONTROLS);
            sum.saturating_add(word(&words, control.saturating_add(2)))
        });
        let lost = std::array::from_fn(|at| word(&words, LOST.saturating_add(at)));
        take(Item::Counts { records, lost });
        Ok(())
    }

    /// Entries that changed. An entry that is being written differs between two copies.
    fn read_table(
        &mut self,
        copy: &mut Copy<'_>,
        take: &mut dyn FnMut(Item),
    ) -> Result<(), TailError> {
        let first = u64::from(self.header.words).saturating_mul(8);
        let words = (self.header.entries as usize).saturating_mul(communicator::WORDS);
        let table = copied(copy, first, words)?;
        if table == self.table {
            return Ok(());
        }
        let again = copied(copy, first, words)?;
        let mut known = std::mem::take(&mut self.table);
        known.resize(words, 0);
        let entries = table.chunks(communicator::WORDS).zip(again.chunks(communicator::WORDS));
        for ((new, again), old) in entries.zip(known.chunks_mut(communicator::WORDS)) {
            if new != again || new == old {
                continue;
            }
            old.copy_from_slice(new);
            if let Some(one) = Communicator::decode(new) {
                take(Item::Communicator(one));
            }
        }
        self.table = known;
        Ok(())
    }

    fn read_lane(
        &mut self,
        lane: usize,
        (reserved, head): (u64, u64),
        left: &mut u64,
        copy: &mut Copy<'_>,
        take: &mut dyn FnMut(Item),
    ) -> Result<(), TailError> {
        let size = u64::from(self.header.lane_words);
        let number = u32::try_from(lane).unwrap_or(u32::MAX);
        let control =
            (lane.saturating_mul(CONTROL).saturating_add(CONTROLS) as u64).saturating_mul(8);
        let Some(at) = self.lanes.get_mut(lane) else { return Ok(()) };
        if head < *at {
            // The plugin never goes back.
            take(Item::Damaged(1));
            *at = head;
        }
        skip(at, reserved.max(head).saturating_sub(size), head, take);
        while *at < head && *left > 0 {
            let end = (*at / PAGE).saturating_add(PAGES).saturating_mul(PAGE).min(head);
            let within = at.checked_rem(size).unwrap_or(0);
            let count = end.saturating_sub(*at).min(size.saturating_sub(within));
            *left = left.saturating_sub(count);
            let from = place(&self.header, number, within);
            let words = copied(copy, from, usize::try_from(count).unwrap_or(0))?;
            // Words before this have been overwritten, perhaps while they were copied.
            let now = word(&copied(copy, control, 1)?, 0);
            let begin = *at;
            skip(at, now.saturating_sub(size), head, take);
            let end = begin.saturating_add(count);
            let mut rest = usize::try_from(at.saturating_sub(begin)).unwrap_or(usize::MAX);
            rest = rest.min(words.len());
            let mut whole = words.get(rest..).unwrap_or_default();
            while !whole.is_empty() {
                let until = PAGE.saturating_sub(at.checked_rem(PAGE).unwrap_or(0));
                let length = usize::try_from(until).unwrap_or(usize::MAX).min(whole.len());
                let (page, after) = whole.split_at(length);
                read_page(page, take);
                *at = at.saturating_add(length as u64);
                whole = after;
            }
            *at = (*at).max(end.min(head));
        }
        Ok(())
    }
}

/// Goes on at the first page after `gone`, words before which were overwritten, or at the head.
fn skip(at: &mut u64, gone: u64, head: u64, take: &mut dyn FnMut(Item)) {
    if *at < gone {
        let next = gone.div_ceil(PAGE).saturating_mul(PAGE).min(head).max(*at);
        take(Item::Overwritten(next.saturating_sub(*at)));
        *at = next;
    }
}

/// The place of a word of a lane, in bytes.
fn place(header: &Header, lane: u32, within: u64) -> u64 {
    let table = u64::from(header.entries).saturating_mul(u64::from(header.entry_words));
    let lanes = u64::from(lane).saturating_mul(u64::from(header.lane_words));
    let words = u64::from(header.words).saturating_add(table).saturating_add(lanes);
    words.saturating_add(within).saturating_mul(8)
}

fn copied(copy: &mut Copy<'_>, at: u64, words: usize) -> Result<Vec<u64>, TailError> {
    let mut bytes = vec![0; words.saturating_mul(8)];
    if !copy(at, &mut bytes) {
        return Err(TailError::Short);
    }
    Ok(bytes.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::decode::profiler::{Record, read_ring};

    const LANE: u64 = 1024;
    const FIRST: usize = 128 + 2 * communicator::WORDS;

    /// A ring of two lanes, as the plugin writes it.
    struct Ring {
        words: Vec<u64>,
        written: u64,
    }

    impl Ring {
        fn new() -> Self {
            let mut words = vec![0; FIRST + 2 * LANE as usize];
            words[0] = u64::from_le_bytes(*b"RAILPROF");
            words[1] = 1 | 128 << 32;
            words[2] = 7;
            words[5] = 2 | LANE << 32;
            words[6] = 2 | (communicator::WORDS as u64) << 32;
            Self { words, written: 0 }
        }

        /// Writes a transfer whose number is the count of all before it.
        fn write(&mut self, lane: usize) {
            let control = CONTROLS + lane * CONTROL;
            let mut at = self.words[control + 1];
            let left = PAGE - at % PAGE;
            let start = FIRST + lane * LANE as usize;
            let slot = |at: u64| start + (at % LANE) as usize;
            if left < 3 {
                self.words[slot(at)] = 0;
                at += left;
            }
            let number = self.written;
            self.written += 1;
            for (place, value) in (at..).zip([4 | number << 32, 1, 2]) {
                self.words[slot(place)] = value;
            }
            self.words[control] = at + 3;
            self.words[control + 1] = at + 3;
            self.words[control + 2] += 1;
        }

        fn bytes(&self) -> Vec<u8> {
            self.words.iter().flat_map(|word| word.to_le_bytes()).collect()
        }
    }

    fn copy(bytes: &[u8]) -> impl FnMut(u64, &mut [u8]) -> bool {
        |at, to| {
            let at = usize::try_from(at).unwrap_or(usize::MAX);
            let from = bytes.get(at..at.saturating_add(to.len()));
            from.map(|from| to.copy_from_slice(from)).is_some()
        }
    }

    fn turn(tail: &mut Tail, ring: &Ring, most: u64) -> (Vec<u32>, u64) {
        let (mut numbers, mut lost) = (Vec::new(), 0);
        let bytes = ring.bytes();
        tail.turn(most, &mut copy(&bytes), &mut |item| match item {
            Item::Record(Record::Transfer(one)) => numbers.push(one.operation),
            Item::Overwritten(words) => lost += words,
            Item::Damaged(words) => panic!("{words} damaged"),
            _ => {}
        })
        .unwrap();
        (numbers, lost)
    }

    proptest! {
        /// Whatever the pace: each record comes once, in order, or its words are counted.
        #[test]
        fn records_come_once_or_are_counted(turns in prop::collection::vec((0_usize..900, any::<bool>()), 1..20)) {
            let mut ring = Ring::new();
            let bytes = ring.bytes();
            let mut tail = Tail::begin(bytes.len() as u64, &mut copy(&bytes)).unwrap();
            let (mut seen, mut lost, mut next) = (0, 0, 0);
            for (count, is_slow) in turns {
                (0..count).for_each(|_| ring.write(0));
                let most = if is_slow { 300 } else { u64::MAX };
                let (numbers, overwritten) = turn(&mut tail, &ring, most);
                for number in &numbers {
                    prop_assert!(*number >= next);
                    next = number + 1;
                }
                seen += numbers.len() as u64;
                lost += overwritten;
            }
            let (numbers, overwritten) = turn(&mut tail, &ring, u64::MAX);
            seen += numbers.len() as u64;
            lost += overwritten;
            prop_assert!(seen <= ring.written);
            // A word of 512 may fill a page.
            let missing = ring.written - seen;
            prop_assert!(missing * 3 <= lost && lost <= missing * 3 + lost / PAGE * 3 + PAGE);
            if lost == 0 {
                prop_assert_eq!(seen, ring.written);
            }
        }

        /// Any words in the place of a ring, which change while they are read, harm nobody.
        #[test]
        fn nonsense_is_bounded(
            words in prop::collection::vec((0_usize..FIRST + 2048, any::<u64>()), 0..200),
            cut in 0_usize..20_000,
            is_ring in any::<bool>(),
        ) {
            let ring = Ring::new();
            let bytes = ring.bytes();
            let mut tail = Tail::begin(bytes.len() as u64, &mut copy(&bytes)).unwrap();
            let mut odd = ring.bytes();
            for (at, value) in words {
                if !is_ring || at >= header::WORDS {
                    odd[at * 8..][..8].copy_from_slice(&value.to_le_bytes());
                }
            }
            odd.truncate(bytes.len() - cut.min(bytes.len()));
            let mut copied = 0;
            let mut read = copy(&odd);
            let mut counting = |at: u64, to: &mut [u8]| { copied += to.len(); read(at, to) };
            let mut items = 0_u64;
            for _ in 0..3 {
                let _ = tail.turn(1 << 20, &mut counting, &mut |_| items += 1);
            }
            let _ = Tail::begin(odd.len() as u64, &mut counting);
            prop_assert!(copied < 8 * bytes.len());
            prop_assert!(items < 3 * 2048);
        }
    }

    #[test]
    fn a_copy_of_all_and_the_turns_say_the_same() {
        let mut ring = Ring::new();
        (0..1000).for_each(|number| ring.write(number % 2));
        let bytes = ring.bytes();
        let mut all = Vec::new();
        read_ring(&bytes, &mut |item| all.push(item)).unwrap();
        let mut tail = Tail::begin(bytes.len() as u64, &mut copy(&bytes)).unwrap();
        let mut turns = Vec::new();
        tail.turn(u64::MAX, &mut copy(&bytes), &mut |item| turns.push(item)).unwrap();
        assert_eq!(all, turns);
    }

    #[test]
    fn what_is_no_ring_is_refused() {
        let bytes = Ring::new().bytes();
        let begin = |bytes: &[u8]| Tail::begin(bytes.len() as u64, &mut copy(bytes)).err();
        assert_eq!(begin(&bytes[..64]), Some(TailError::Short));
        assert_eq!(begin(&bytes[..9000]), Some(TailError::Shape));
        let with = |place: usize, value: u64| {
            let mut ring = Ring::new();
            ring.words[place] = value;
            begin(&ring.bytes())
        };
        assert_eq!(with(0, 1), Some(TailError::NotProfiler(NotProfiler::Magic)));
        for (place, value) in [
            (1, 1 | 16 << 32),
            (5, 0),
            (5, 65 | LANE << 32),
            (5, 2 | 1000 << 32),
            (5, 2 | 1 << 60),
            (6, u64::MAX),
            (6, 2),
        ] {
            assert_eq!(with(place, value), Some(TailError::Shape), "{place}: {value:x}");
        }
        let mut tail = Tail::begin(bytes.len() as u64, &mut copy(&bytes)).unwrap();
        let mut other = Ring::new();
        other.words[3] = 9;
        let other = other.bytes();
        assert_eq!(tail.turn(1, &mut copy(&other), &mut |_| {}), Err(TailError::Replaced));
    }
}
