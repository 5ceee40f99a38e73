//! Requests for an ACK of flows that are not paired yet, by what their ACKs will say.

use hashbrown::HashTable;

use crate::model::qpn::Qpn;
use crate::model::time::Timestamp;

/// Requests of a generation. The one before it is kept, too: at least so many requests, at most twice as many.
const GENERATION: usize = 8192;

/// A request packet that requested an ACK.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    /// Tap, hosts and PSN, hashed.
    pub(super) digest: u64,
    pub(super) time: Timestamp,
    pub(super) flow: u32,
    pub(super) dest_qpn: Qpn,
    /// Another flow requested an ACK of the same PSN at about the same time.
    pub(super) is_ambiguous: bool,
}

/// The latest requests. It is as large as what it holds: each capture has one, and there may be a thousand.
#[derive(Clone, Default)]
pub(super) struct AskedTable {
    newer: HashTable<Asked>,
    older: HashTable<Asked>,
}

impl AskedTable {
    /// The latest request with this digest.
    pub(super) fn find(&self, digest: u64) -> Option<&Asked> {
        let is_same = |one: &Asked| one.digest == digest;
        self.newer.find(digest, is_same).or_else(|| self.older.find(digest, is_same))
    }

    /// Adds a request, in place of one with the same digest.
    pub(super) fn insert(&mut self, asked: Asked) {
        let is_same = |one: &Asked| one.digest == asked.digest;
        if let Some(known) = self.newer.find_mut(asked.digest, is_same) {
            *known = asked;
            return;
        }
        if self.newer.len() == GENERATION {
            self.older = std::mem::take(&mut self.newer);
        }
        self.newer.insert_unique(asked.digest, asked, |one| one.digest);
    }
}

#[cfg(test)]
mod tests {
    use std::hash::BuildHasher;

    use foldhash::fast::FixedState;

    use super::*;

    fn asked(number: u64) -> Asked {
        let digest = FixedState::default().hash_one(number);
        let time = Timestamp::from_nanos(number);
        Asked { digest, time, flow: 0, dest_qpn: Qpn::new(1), is_ambiguous: false }
    }

    #[test]
    fn the_latest_requests_are_found_and_no_more_are_kept() {
        let mut table = AskedTable::default();
        let has = |table: &AskedTable, number: u64| {
            table.find(asked(number).digest).is_some_and(|one| one.time == asked(number).time)
        };
        for number in 0..5 * GENERATION as u64 {
            table.insert(asked(number));
            assert!(has(&table, number) && has(&table, number.saturating_sub(GENERATION as u64)));
        }
        assert!(!has(&table, 0) && table.newer.len() + table.older.len() <= 2 * GENERATION);
    }

    #[test]
    fn the_later_of_two_with_one_digest_is_found() {
        let mut table = AskedTable::default();
        table.insert(asked(1));
        table.insert(Asked { flow: 7, ..asked(1) });
        assert_eq!(table.find(asked(1).digest).map(|one| one.flow), Some(7));
        assert_eq!(table.newer.len(), 1);
    }
}
