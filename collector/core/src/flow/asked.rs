//! Requests for an ACK of flows that are not paired yet, by what their ACKs will say.

use crate::model::qpn::Qpn;
use crate::model::time::Timestamp;

/// Most slots; in a full table a newer request replaces an older one. All sizes are powers of two.
const CAPACITY: usize = 16_384;

/// Slots of a table with anything in it: a capture has one, and there may be a thousand captures.
const FIRST_CAPACITY: usize = 256;

/// The table doubles when one slot of so many is taken, so that hardly any request replaces another before it has its
/// full size.
const SLOTS_A_REQUEST: usize = 8;

/// A request packet that requested an ACK.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    /// Tap, hosts and PSN.
    pub(super) digest: u64,
    pub(super) time: Timestamp,
    pub(super) flow: u32,
    pub(super) dest_qpn: Qpn,
    /// Another flow requested an ACK of the same PSN at about the same time.
    pub(super) is_ambiguous: bool,
}

/// The latest request in each slot.
#[derive(Clone, Default)]
pub(super) struct AskedTable {
    slots: Vec<Option<Asked>>,
    taken: usize,
}

impl AskedTable {
    /// What is where `digest` belongs: it may have another digest.
    pub(super) fn at(&self, digest: u64) -> Option<&Asked> {
        self.slots.get(self.place(digest))?.as_ref()
    }

    /// Puts a request where its digest belongs.
    pub(super) fn insert(&mut self, asked: Asked) {
        if self.taken * SLOTS_A_REQUEST >= self.slots.len() && self.slots.len() < CAPACITY {
            self.grow();
        }
        let place = self.place(asked.digest);
        if let Some(slot) = self.slots.get_mut(place) {
            self.taken += usize::from(slot.is_none());
            *slot = Some(asked);
        }
    }

    #[cold]
    fn grow(&mut self) {
        let slots = (self.slots.len() * 2).max(FIRST_CAPACITY);
        let kept = std::mem::replace(&mut self.slots, vec![None; slots]);
        for asked in kept.into_iter().flatten() {
            let place = self.place(asked.digest);
            self.slots[place] = Some(asked);
        }
    }

    /// 0 in an empty table.
    const fn place(&self, digest: u64) -> usize {
        digest as usize & self.slots.len().saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(digest: u64) -> Asked {
        let time = Timestamp::from_nanos(digest);
        Asked { digest, time, flow: 0, dest_qpn: Qpn::new(1), is_ambiguous: false }
    }

    #[test]
    fn it_grows_with_what_is_asked_and_no_further() {
        let mut table = AskedTable::default();
        assert!(table.at(7).is_none());
        for digest in 0..CAPACITY as u64 {
            table.insert(asked(digest));
            assert!(table.slots.len() <= (digest as usize + 1).next_power_of_two() * 256);
        }
        assert_eq!((table.slots.len(), table.taken), (CAPACITY, CAPACITY));
        let all = 0..CAPACITY as u64;
        assert!(all.clone().all(|digest| table.at(digest).is_some_and(|at| at.digest == digest)));
        table.insert(asked(CAPACITY as u64));
        assert_eq!(table.at(0).map(|at| at.digest), Some(CAPACITY as u64));
        assert_eq!((table.slots.len(), table.taken), (CAPACITY, CAPACITY));
    }
}
