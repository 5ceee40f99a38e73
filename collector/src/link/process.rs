//! What processes of this host were seen to do themselves: which rank each is, and what it calls.
//!
//! A communicator's handle is a pointer of its process: it is good between the call that made the
//! communicator and the one that ends it, in that process only.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;

use foldhash::fast::FixedState;

use super::control::facts::Ring;
use super::evidence::{Evidence, EvidenceKind, add_evidence};
use super::job::Job;
use crate::decode::nccl::unique_id;
use crate::model::call::{Action, Call, CommunicatorEnd, CommunicatorHandle, Function};
use crate::model::connection::{ConnectionChange, TcpState};
use crate::model::health::Health;
use crate::model::nccl::RANK_LIMIT;

/// Communicators of all processes that are followed at a time.
const MEMBERSHIP_LIMIT: usize = 65_536;
/// Series of counts that are kept apart.
const COUNT_LIMIT: usize = 16_384;
/// Connections whose owners are remembered.
const OWNER_LIMIT: usize = 65_536;

/// A process's part in a communicator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Membership {
    rank: Option<u32>,
    nranks: Option<u32>,
}

/// Calls of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallCount {
    /// Calls.
    pub calls: u64,
    /// Bytes of those whose type is known.
    pub bytes: u64,
}

/// Everything that processes were seen to do.
#[derive(Clone, Debug, Default)]
pub struct ProcessTracker {
    memberships: BTreeMap<(u32, CommunicatorHandle), Membership>,
    /// The processes of communicators by magic of the unique id and rank, those that ended included.
    pids: BTreeMap<(u64, u32), u32>,
    counts: BTreeMap<(Function, Option<u32>), CallCount>,
    owners: HashMap<(SocketAddr, SocketAddr), u32, FixedState>,
    refused: u64,
}

impl ProcessTracker {
    /// Takes the next call; calls of one process come in the order of time.
    pub fn observe(&mut self, call: &Call) {
        let pid = call.caller.pid;
        if let Action::Communicate(communication) = &call.action {
            let rank = self.rank(pid);
            let key = (communication.function, rank);
            let is_kept = self.counts.len() < COUNT_LIMIT || self.counts.contains_key(&key);
            let key = if is_kept { key } else { (communication.function, None) };
            let count = self.counts.entry(key).or_default();
            count.calls += 1;
            count.bytes = count.bytes.saturating_add(communication.bytes().unwrap_or(0));
        }
        // What a call makes is there when it returns. Communicators that do not block are as well.
        if !call.returned.is_some_and(|returned| returned.is_success) {
            return;
        }
        match call.action {
            Action::Initialise { nranks, rank, id, communicator: Some(communicator), .. } => {
                let is_rank = rank < nranks && nranks <= RANK_LIMIT;
                let known = |number| is_rank.then_some(number);
                self.begin(pid, communicator, known(rank), known(nranks));
                let magic = id.and_then(|id| unique_id::parse(&id)?.magic);
                if let Some(key) = magic.zip(known(rank)) {
                    match self.pids.len() < MEMBERSHIP_LIMIT || self.pids.contains_key(&key) {
                        true => _ = self.pids.insert(key, pid),
                        false => self.refused += 1,
                    }
                }
            }
            Action::Split { child: Some(child), .. }
            | Action::Shrink { child: Some(child), .. } => {
                self.begin(pid, child, None, None);
            }
            Action::Grow { nranks, rank, child: Some(child), .. } => {
                let nranks = (nranks <= RANK_LIMIT).then_some(nranks);
                let rank = rank.filter(|rank| nranks.is_some_and(|nranks| *rank < nranks));
                self.begin(pid, child, rank, nranks);
            }
            Action::AskRank { communicator, rank: Some(rank) } if rank < RANK_LIMIT => {
                self.with(pid, communicator, |membership| membership.rank = Some(rank));
            }
            Action::AskCount { communicator, nranks: Some(nranks) } if nranks <= RANK_LIMIT => {
                self.with(pid, communicator, |membership| membership.nranks = Some(nranks));
            }
            Action::End {
                communicator,
                how: CommunicatorEnd::Destroy | CommunicatorEnd::Abort,
            } => _ = self.memberships.remove(&(pid, communicator)),
            _ => {}
        }
    }

    /// Takes the next change of a TCP connection.
    pub fn observe_connection(&mut self, change: &ConnectionChange) {
        if let (TcpState::Established, Some(owner)) = (change.after, &change.owner) {
            if self.owners.len() >= OWNER_LIMIT {
                self.owners.clear();
                self.refused += 1;
            }
            self.owners.insert((change.local, change.remote), owner.pid);
        }
    }

    /// The rank of a process: in the greatest of its communicators, which in training is that of all
    /// processes.
    #[must_use]
    pub fn rank(&self, pid: u32) -> Option<u32> {
        let largest = self.of(pid).max_by_key(|membership| membership.nranks)?;
        largest.rank
    }

    /// Tells the processes of ranks that the control plane knows: by the unique id that the process
    /// gave with its rank, or because it connected the rank to the next one in the bootstrap's ring.
    pub(crate) fn join(&self, job: &mut Job, rings: &[Ring]) {
        let connected = rings.iter().filter_map(|ring| {
            let pid = self.owners.get(&(ring.connector, ring.listener))?;
            Some((ring.magic?, ring.connector_rank?, *pid))
        });
        let called = self.pids.iter().map(|((magic, rank), pid)| (*magic, *rank, *pid));
        for (magic, rank, pid) in called.chain(connected) {
            let communicator = job.magics.get(&magic).map(|id| id.0 as usize);
            let communicator = communicator.and_then(|place| job.communicators.get_mut(place));
            let ranks = communicator.into_iter().flat_map(|one| &mut one.ranks);
            for known in
                ranks.filter(|known| known.rank == rank && known.pid.is_none_or(|one| one == pid))
            {
                known.pid = Some(pid);
                let reason = Evidence { kind: EvidenceKind::Process, witness: None, count: 1 };
                add_evidence(&mut known.evidence, reason);
            }
        }
    }

    /// Calls so far, by function and the caller's rank.
    pub fn counts(&self) -> impl Iterator<Item = (Function, Option<u32>, CallCount)> + '_ {
        self.counts.iter().map(|((function, rank), count)| (*function, *rank, *count))
    }

    /// Forgets processes that have ended. What they called stays counted.
    pub fn retain(&mut self, mut is_there: impl FnMut(u32) -> bool) {
        self.memberships.retain(|(pid, _), _| is_there(*pid));
    }

    /// Adds what found no room.
    pub fn add_health(&self, health: &mut Health) {
        health.add("processes.refused", self.refused);
    }

    fn of(&self, pid: u32) -> impl Iterator<Item = &Membership> {
        let all = (pid, CommunicatorHandle(0))..=(pid, CommunicatorHandle(u64::MAX));
        self.memberships.range(all).map(|(_, membership)| membership)
    }

    fn begin(
        &mut self,
        pid: u32,
        communicator: CommunicatorHandle,
        rank: Option<u32>,
        nranks: Option<u32>,
    ) {
        if self.memberships.len() >= MEMBERSHIP_LIMIT {
            self.refused += 1;
            return;
        }
        self.memberships.insert((pid, communicator), Membership { rank, nranks });
    }

    fn with(
        &mut self,
        pid: u32,
        communicator: CommunicatorHandle,
        change: impl FnOnce(&mut Membership),
    ) {
        // Those from before the watch become known by what their processes ask.
        let key = (pid, communicator);
        if self.memberships.len() < MEMBERSHIP_LIMIT || self.memberships.contains_key(&key) {
            change(self.memberships.entry(key).or_default());
        } else {
            self.refused += 1;
        }
    }
}

#[cfg(test)]
mod tests;
