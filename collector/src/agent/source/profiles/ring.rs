//! A ring, read turn by turn.

use std::io;

use super::missed;
use crate::agent::source::beside::{Delivery, delivery};
use crate::ingest::profile_ring::{FoundRing, RingFile};
use railscope_core::decode::profiler::{Item, LEASE_EVENTS_AT, LEASE_UNTIL_AT, Tail};
use railscope_core::model::health::event::HealthEvent;
use railscope_core::model::process::ProcessId;

/// Words of records that are read in a turn: 4 MiB, as much as a ring of the usual size holds.
const WORDS: u64 = 1 << 19;

/// Records of one delivery.
const ITEMS: usize = 4096;

/// Deliveries of a turn at most: its records, which have three words or more, and what is missing.
pub(super) const DELIVERIES: usize = WORDS as usize / 3 / ITEMS + 8;

/// Turns that a ring may take to begin: its first word is written last.
const PATIENCE: u32 = 5;

/// The ring of a process.
pub(super) struct Ring {
    pub(super) process: ProcessId,
    pub(super) payer: (u32, String),
    user: u32,
    file: RingFile,
    name: String,
    /// `None` until its header was read.
    tail: Option<Tail>,
    tries: u32,
    /// What the plugin could not record so far.
    not_recorded: u64,
    has_turned: bool,
    /// Until when events were asked for.
    lent_until_ns: u64,
}

/// What a turn found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    Read,
    /// It is no ring, or none any more.
    Refused,
}

impl Ring {
    pub(super) fn new(
        found: FoundRing,
        process: ProcessId,
        name: String,
        payer: (u32, String),
    ) -> Self {
        Self {
            process,
            payer,
            user: found.user,
            file: found.ring,
            name,
            tail: None,
            tries: 0,
            not_recorded: 0,
            has_turned: false,
            lent_until_ns: 0,
        }
    }

    pub(super) const fn is_of(&self, pid: u32) -> bool {
        self.process.pid == pid
    }

    pub(super) fn is_same(&self, found: &FoundRing) -> bool {
        self.file.id() == found.ring.id()
    }

    pub(super) fn is_removed(&self) -> bool {
        self.file.is_removed()
    }

    /// Asks the process for `events` until a time of the monotonic clock.
    ///
    /// # Errors
    ///
    /// The ring cannot be written.
    pub(super) fn lend(&mut self, events: u64, until_ns: u64) -> io::Result<()> {
        if self.tail.is_none() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.file.write(LEASE_EVENTS_AT, events)?;
        self.file.write(LEASE_UNTIL_AT, until_ns)?;
        self.lent_until_ns = until_ns;
        Ok(())
    }

    /// Until when events were asked for; 0 if they never were.
    pub(super) const fn lent_until_ns(&self) -> u64 {
        self.lent_until_ns
    }

    /// Delivers what is new.
    pub(super) fn turn(&mut self, number: u64, deliver: &mut dyn FnMut(Delivery)) -> Turn {
        let mut copy = |at: u64, to: &mut [u8]| self.file.copy(at, to);
        let tail = match &mut self.tail {
            Some(tail) => tail,
            None => match Tail::begin(self.file.length(), &mut copy) {
                Ok(tail) => self.tail.insert(tail),
                Err(_) if self.tries < PATIENCE => {
                    self.tries += 1;
                    return Turn::Read;
                }
                Err(_) => return Turn::Refused,
            },
        };
        let (mut items, mut overwritten, mut damaged) = (Vec::new(), 0_u64, 0_u64);
        let (mut not_recorded, name, user) = (self.not_recorded, &self.name, self.user);
        let mut hand_over = |items: &mut Vec<Item>| {
            let (name, items) = (name.clone(), std::mem::take(items));
            deliver(delivery(move |pipeline, _| {
                pipeline.profiles_mut().take(number, &name, user, items);
            }));
        };
        let done = tail.turn(WORDS, &mut copy, &mut |item| {
            match &item {
                Item::Overwritten(words) => overwritten = overwritten.saturating_add(*words),
                Item::Damaged(words) => damaged = damaged.saturating_add(*words),
                Item::Counts { lost, .. } => {
                    not_recorded = lost.iter().fold(0, |sum, one| sum.saturating_add(*one));
                }
                _ => {}
            }
            items.push(item);
            if items.len() >= ITEMS {
                hand_over(&mut items);
            }
        });
        hand_over(&mut items);
        // What was overwritten before it was found, nobody could have read.
        if self.has_turned {
            missed(HealthEvent::ProfilesOverwrittenWords, overwritten, deliver);
        }
        self.has_turned = true;
        missed(HealthEvent::ProfilesDamagedWords, damaged, deliver);
        let more = not_recorded.saturating_sub(self.not_recorded);
        missed(HealthEvent::ProfilesNotRecorded, more, deliver);
        self.not_recorded = not_recorded;
        if done.is_ok() { Turn::Read } else { Turn::Refused }
    }
}
