//! Which communicators processes are in, within limits: any process may call NCCL as often as it likes, with
//! arguments of its choice. Nobody's communicators take the room of others'.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use crate::model::call::CommunicatorHandle;
use crate::model::time::{Span, Timestamp};

/// Most communicators of all processes at a time.
const LIMIT: usize = 65_536;
/// Of a process: real ones take megabytes of a GPU each.
const PROCESS_LIMIT: usize = 512;
/// Of all processes whose calls count against the same limits: a user's, or a container's.
const PAYER_LIMIT: usize = 4096;
/// Ranks that the calls of a process are counted for. It has more if it creates ever larger
/// communicators.
const RANK_LIMIT: usize = 8;

/// A process's part in a communicator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Membership {
    pub(super) rank: Option<u32>,
    pub(super) nranks: Option<u32>,
    /// From the unique id: the magic that the communicator greets with, and where its root listens.
    pub(super) origin: Option<(u64, SocketAddr)>,
    /// Start and return of the call that created the communicator.
    pub(super) made: Option<Span>,
    /// From the first to the last call on it that moves data.
    pub(super) communicated: Option<Span>,
}

impl Membership {
    pub(super) fn is_made_at(&self, time: Timestamp) -> bool {
        self.made.is_some_and(|made| (made.first..=made.last).contains(&time))
    }
}

/// A process.
#[derive(Clone, Debug, Default)]
struct Member {
    payer: u64,
    communicators: BTreeMap<CommunicatorHandle, Membership>,
    /// Its rank in its largest communicator.
    rank: Option<u32>,
    counted: Vec<u32>,
}

/// The communicators of all processes.
#[derive(Clone, Debug, Default)]
pub(super) struct Memberships {
    members: BTreeMap<u32, Member>,
    /// Number of communicators by payer.
    paid: BTreeMap<u64, usize>,
    total: usize,
    /// Communicators that did not fit.
    pub(super) refused: u64,
}

impl Memberships {
    /// Changes what is known of a communicator, if there is room for it. Returns whether there was.
    pub(super) fn with(
        &mut self,
        (pid, payer): (u32, u64),
        communicator: CommunicatorHandle,
        change: impl FnOnce(&mut Membership),
    ) -> bool {
        let known = self.members.get(&pid).map(|member| {
            (member.communicators.contains_key(&communicator), member.communicators.len())
        });
        let (is_known, of_process) = known.unwrap_or((false, 0));
        let of_payer = self.paid.get(&payer).copied().unwrap_or(0);
        let has_room = self.total < LIMIT && of_process < PROCESS_LIMIT && of_payer < PAYER_LIMIT;
        if !is_known && !has_room {
            self.refused += 1;
            return false;
        }
        let member =
            self.members.entry(pid).or_insert_with(|| Member { payer, ..Member::default() });
        if !is_known {
            self.total += 1;
            *self.paid.entry(member.payer).or_default() += 1;
        }
        change(member.communicators.entry(communicator).or_default());
        member.settle();
        true
    }

    pub(super) fn get_mut(
        &mut self,
        pid: u32,
        communicator: CommunicatorHandle,
    ) -> Option<&mut Membership> {
        self.members.get_mut(&pid)?.communicators.get_mut(&communicator)
    }

    pub(super) fn remove(&mut self, pid: u32, communicator: CommunicatorHandle) {
        let Some(member) = self.members.get_mut(&pid) else { return };
        if member.communicators.remove(&communicator).is_some() {
            let payer = member.payer;
            member.settle();
            self.release(payer, 1);
        }
    }

    /// Forgets processes that have ended.
    pub(super) fn retain(&mut self, is_there: &mut impl FnMut(u32) -> bool) {
        let ended: Vec<(u64, usize)> = self
            .members
            .extract_if(.., |pid, _| !is_there(*pid))
            .map(|(_, member)| (member.payer, member.communicators.len()))
            .collect();
        for (payer, count) in ended {
            self.release(payer, count);
        }
    }

    /// The rank of a process: in its largest communicator.
    pub(super) fn rank(&self, pid: u32) -> Option<u32> {
        self.members.get(&pid)?.rank
    }

    /// The same, to count calls by: `None` for a process that had too many.
    pub(super) fn counted_rank(&mut self, pid: u32) -> Option<u32> {
        let member = self.members.get_mut(&pid)?;
        let rank = member.rank?;
        if !member.counted.contains(&rank) {
            if member.counted.len() >= RANK_LIMIT {
                return None;
            }
            member.counted.push(rank);
        }
        Some(rank)
    }

    /// The processes, ascending.
    pub(super) fn processes(&self) -> impl Iterator<Item = u32> + '_ {
        self.members.keys().copied()
    }

    /// The communicators of a process, by handle.
    pub(super) fn of(
        &self,
        pid: u32,
    ) -> impl Iterator<Item = (CommunicatorHandle, &Membership)> + '_ {
        let communicators = self.members.get(&pid).into_iter().flat_map(|one| &one.communicators);
        communicators.map(|(handle, membership)| (*handle, membership))
    }

    fn release(&mut self, payer: u64, count: usize) {
        self.total -= count;
        if let Some(paid) = self.paid.get_mut(&payer) {
            *paid -= count;
            if *paid == 0 {
                self.paid.remove(&payer);
            }
        }
    }
}

impl Member {
    fn settle(&mut self) {
        let largest = self.communicators.values().max_by_key(|membership| membership.nranks);
        self.rank = largest.and_then(|largest| largest.rank);
    }
}
