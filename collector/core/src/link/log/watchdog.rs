//! What PyTorch's watchdog reported, by process group and rank.

use std::collections::BTreeMap;

use crate::decode::job_log::watchdog::{WatchdogEvent, WatchdogLine};
use crate::model::witness::Witness;

/// Ranks kept over all groups.
const CAPACITY: usize = 65_536;

/// How far a rank of a process group had come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankProgress {
    /// The first collective that was not done: its number.
    pub number: Option<u64>,
    /// Its name: `ALLREDUCE`.
    pub call: Option<String>,
    /// Elements of its input.
    pub elements: Option<u64>,
    /// How long it may run, in milliseconds.
    pub limit_ms: Option<u64>,
    /// How long it ran, in milliseconds.
    pub ran_ms: Option<u64>,
    /// The last collective that it had enqueued.
    pub enqueued: Option<u64>,
    /// The last one that was complete.
    pub completed: Option<u64>,
    /// The first line.
    pub first: Witness,
}

/// Ranks by process group; the group's name is empty if the lines do not have it.
pub type Groups = BTreeMap<String, BTreeMap<u32, RankProgress>>;

/// What watchdogs reported.
#[derive(Clone, Debug, Default)]
pub struct Watchdogs {
    groups: Groups,
    ranks: usize,
}

impl Watchdogs {
    pub(super) fn observe(&mut self, line: &WatchdogLine<'_>, witness: Witness) {
        let Some(rank) = line.rank else { return };
        // Older releases name the group in one line and not in the next.
        let group = line.group.unwrap_or_default();
        let has_room = self.ranks < CAPACITY;
        let ranks = match self.groups.get_mut(group) {
            Some(ranks) => ranks,
            None if has_room => self.groups.entry(group.to_owned()).or_default(),
            None => return,
        };
        if !ranks.contains_key(&rank) {
            if !has_room {
                return;
            }
            self.ranks += 1;
        }
        let known = ranks.entry(rank).or_insert(RankProgress {
            number: None,
            call: None,
            elements: None,
            limit_ms: None,
            ran_ms: None,
            enqueued: None,
            completed: None,
            first: witness,
        });
        match line.event {
            WatchdogEvent::Timeout { number, call, elements, limit_ms, ran_ms } => {
                // A rank has several collectives under way; the first of them holds up the others.
                let is_first = known.call.is_none() || number < known.number;
                if is_first {
                    known.number = number;
                    known.call = Some(call.to_owned());
                    known.elements = elements;
                    known.limit_ms = limit_ms;
                    known.ran_ms = ran_ms;
                }
            }
            WatchdogEvent::Progress { failed, enqueued, completed } => {
                known.number = known.number.or(failed);
                known.enqueued = enqueued.or(known.enqueued);
                known.completed = completed.or(known.completed);
            }
        }
    }

    /// The groups. What lines without a group say belongs to the only one that others name.
    pub(super) fn finish(mut self) -> Groups {
        let is_one = self.groups.len() == 2;
        if let Some(unnamed) = self.groups.get("").filter(|_| is_one).cloned() {
            self.groups.remove("");
            for (rank, progress) in unnamed {
                for known in self.groups.values_mut() {
                    let own = known.entry(rank).or_insert_with(|| progress.clone());
                    own.call = own.call.take().or_else(|| progress.call.clone());
                    own.number = progress.number.or(own.number);
                    own.elements = own.elements.or(progress.elements);
                    own.limit_ms = own.limit_ms.or(progress.limit_ms);
                    own.ran_ms = own.ran_ms.or(progress.ran_ms);
                    own.first = own.first.min(progress.first);
                }
            }
        }
        self.groups
    }
}
