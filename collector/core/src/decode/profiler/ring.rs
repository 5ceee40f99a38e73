//! Copies of a ring's memory: of one that a killed process left behind.

use super::communicator::Communicator;
use super::header::{Header, NotProfiler};
use super::record::{self, Record};
use super::{Item, word};

/// Words that no record crosses.
pub(super) const PAGE: u64 = 512;
/// Lanes that are read.
pub(super) const LANES: usize = 64;
/// Words of the control of lanes, each.
pub(super) const CONTROL: usize = 8;
/// First word of them.
pub(super) const CONTROLS: usize = 64;
/// First word of the counts of what was lost.
pub(super) const LOST: usize = 24;

/// Reads a copy of a ring, and gives `take` what it holds: lane by lane, oldest first.
///
/// # Errors
/// If it is no ring.
pub fn read_ring(bytes: &[u8], take: &mut dyn FnMut(Item)) -> Result<(), NotProfiler> {
    let words: Vec<u64> =
        bytes.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
    let header = Header::decode(&words)?;
    let at = |words: u32| usize::try_from(words).unwrap_or(usize::MAX);
    let (first, entries) = (at(header.words), at(header.entries).min(1 << 16));
    let (entry, lane) = (at(header.entry_words), at(header.lane_words));
    let lanes = at(header.lanes).min(LANES);
    take(Item::Header(header));
    for number in 0..entries {
        let start = number.saturating_mul(entry).saturating_add(first);
        let words = words.get(start..start.saturating_add(entry)).unwrap_or_default();
        if let Some(one) = Communicator::decode(words) {
            take(Item::Communicator(one));
        }
    }
    let lanes_at = entries.saturating_mul(entry).saturating_add(first);
    let mut records = 0_u64;
    for number in 0..lanes {
        let control = number.saturating_mul(CONTROL).saturating_add(CONTROLS);
        let start = number.saturating_mul(lane).saturating_add(lanes_at);
        let slots = words.get(start..start.saturating_add(lane)).unwrap_or_default();
        let [reserved, head] = [word(&words, control), word(&words, control.saturating_add(1))];
        records = records.saturating_add(word(&words, control.saturating_add(2)));
        read_lane(slots, reserved, head, take);
    }
    let lost = std::array::from_fn(|place| word(&words, LOST.saturating_add(place)));
    take(Item::Counts { records, lost });
    Ok(())
}

fn read_lane(slots: &[u64], reserved: u64, head: u64, take: &mut dyn FnMut(Item)) {
    let size = slots.len() as u64;
    if size == 0 {
        return;
    }
    let oldest = reserved.max(head).saturating_sub(size);
    let mut at = oldest.div_ceil(PAGE).saturating_mul(PAGE);
    if at > 0 {
        take(Item::Overwritten(at.min(head)));
    }
    while at < head {
        let end = (at / PAGE).saturating_add(1).saturating_mul(PAGE).min(head);
        let page: Vec<u64> = (at..end)
            .map(|at| word(slots, usize::try_from(at.checked_rem(size).unwrap_or(0)).unwrap_or(0)))
            .collect();
        read_page(&page, take);
        at = end;
    }
}

pub(super) fn read_page(page: &[u64], take: &mut dyn FnMut(Item)) {
    let mut rest = page;
    while let Some(head) = rest.first() {
        // Nothing more in this page.
        if *head == 0 {
            return;
        }
        let length = record::length(*head).unwrap_or(usize::MAX);
        let Some((words, after)) = rest.split_at_checked(length) else {
            return take(Item::Damaged(rest.len() as u64));
        };
        if let Some(record) = Record::decode(words) {
            take(Item::Record(record));
        }
        rest = after;
    }
}
