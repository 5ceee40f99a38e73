//! What processes of this host were seen to do: which rank each is, what it calls, and its queue
//! pairs. If the NIC bypasses the kernel, this is all that a host can see.
//!
//! A communicator's handle is a pointer of its process: it is valid from the call that created the
//! communicator to the one that ends it, in that process only.

mod memberships;
mod queue_pairs;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::SocketAddr;

use foldhash::fast::FixedState;

use self::memberships::{Membership, Memberships};
use self::queue_pairs::QueuePairs;
use super::control::facts::Ring;
use super::evidence::{Evidence, EvidenceKind, add_evidence};
use super::job::{Communicator, CommunicatorId, Identity, Job, Rank, Transport};
use crate::decode::nccl::comm_hash;
use crate::decode::nccl::hash::CharSign;
use crate::decode::nccl::unique_id;
use crate::model::call::{Action, Call, CommunicatorEnd, CommunicatorHandle, Function};
use crate::model::connection::{ConnectionChange, TcpState};
use crate::model::grade::Grade;
use crate::model::health::Health;
use crate::model::health::event::HealthEvent;
use crate::model::nccl::RANK_LIMIT;
use crate::model::queue_pair::{HostQueuePair, QueuePairUser};
use crate::model::time::{Span, Timestamp};

/// Most ranks with a known process.
const NAME_LIMIT: usize = 65_536;
/// Of these, most whose processes count against the same limits.
const PAYER_LIMIT: usize = 8192;
/// Most separate counters.
const COUNT_LIMIT: usize = 16_384;
/// Most connections with a known owner.
const OWNER_LIMIT: usize = 65_536;

/// The magic of every unique id made from NCCL_COMM_ID (NCCL `src/bootstrap.cc`, `NCCL_MAGIC`): it
/// identifies no communicator.
const SHARED_MAGIC: u64 = 0x0280_0280_0280_0280;

/// Nanoseconds that a communicator may take to connect on first use: NCCL connects then rather than
/// at creation (2.22, `NCCL_RUNTIME_CONNECT`).
const CONNECTING: u64 = 10_000_000_000;

/// A process's part in a communicator of the job.
#[derive(Clone, Copy, Debug)]
struct Part {
    handle: CommunicatorHandle,
    communicator: CommunicatorId,
    rank: u32,
    membership: Membership,
}

impl Part {
    fn rank_in<'a>(&self, job: &'a mut Job) -> Option<&'a mut Rank> {
        let communicator = job.communicators.get_mut(self.communicator.0 as usize)?;
        rank_mut(&mut communicator.ranks, self.rank)
    }
}

/// The process of a rank.
#[derive(Clone, Copy, Debug)]
struct Named {
    pid: u32,
    payer: u64,
    /// When it became the rank.
    time: Timestamp,
}

/// Calls of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallCount {
    /// Number of calls, when they were made.
    pub calls: u64,
    /// Bytes of calls with a known type.
    pub bytes: u64,
}

/// Everything that processes were seen to do.
#[derive(Clone, Debug, Default)]
pub struct ProcessTracker {
    host: Option<String>,
    memberships: Memberships,
    /// The processes of communicators by magic of the unique id and rank, including ended ones.
    names: BTreeMap<(u64, u32), Named>,
    /// How many of `names` count against the same limits.
    named: BTreeMap<u64, usize>,
    counts: BTreeMap<(Function, Option<u32>), CallCount>,
    /// Each with the time of its latest change.
    owners: HashMap<(SocketAddr, SocketAddr), (u32, Timestamp), FixedState>,
    queue_pairs: QueuePairs,
    users: BTreeMap<QueuePairUser, u64>,
    refused: u64,
}

impl ProcessTracker {
    /// Sets the host that ranks of watched processes are reported on.
    pub fn set_host(&mut self, name: impl Into<String>) {
        self.host = Some(name.into());
    }

    /// Replaces the kernel's list of queue pairs. Owners are processes, not their threads.
    pub fn observe_queue_pairs(&mut self, pairs: impl IntoIterator<Item = HostQueuePair>) {
        self.queue_pairs.list(pairs);
    }

    /// Replaces the number of queue pairs by user.
    pub fn observe_users(&mut self, users: BTreeMap<QueuePairUser, u64>) {
        self.users = users;
    }

    /// Who uses queue pairs of this host, and how many.
    #[must_use]
    pub const fn users(&self) -> &BTreeMap<QueuePairUser, u64> {
        &self.users
    }

    /// The name of this host.
    #[must_use]
    pub fn host(&self) -> Option<&str> {
        self.host.as_deref()
    }

    /// Processes the next call; calls of one process are in order of time.
    pub fn observe(&mut self, call: &Call) {
        let pid = call.caller.pid;
        let who = (pid, call.caller.payer);
        if let Action::Communicate(communication) = &call.action {
            let rank = self.memberships.counted_rank(pid);
            let key = (communication.function, rank);
            let is_kept = self.counts.len() < COUNT_LIMIT || self.counts.contains_key(&key);
            let key = if is_kept { key } else { (communication.function, None) };
            let count = self.counts.entry(key).or_default();
            count.calls += 1;
            count.bytes = count.bytes.saturating_add(communication.bytes().unwrap_or(0));
            let known = self.memberships.get_mut(pid, communication.communicator);
            if let Some(span) = known.map(|known| &mut known.communicated) {
                let first = span.map_or(call.time, |span| span.first);
                *span = Some(Span { first, last: call.time });
            }
        }
        self.queue_pairs.observe(call);
        // A call's result exists when it returns, even for non-blocking communicators.
        let Some(returned) = call.returned.filter(|returned| returned.is_success) else { return };
        let made = Some(Span { first: call.time, last: returned.time });
        match call.action {
            Action::Initialise { nranks, rank, id, communicator: Some(communicator), .. } => {
                let is_rank = rank < nranks && nranks <= RANK_LIMIT;
                let known = |number| is_rank.then_some(number);
                let id = id.and_then(|id| unique_id::parse(&id));
                let magic = |magic: &u64| *magic != SHARED_MAGIC;
                let origin = id.and_then(|id| Some((id.magic.filter(magic)?, id.root)));
                let (rank, nranks) = (known(rank), known(nranks));
                let membership = Membership { rank, nranks, origin, made, ..Membership::default() };
                let has_room = self.begin(who, communicator, membership);
                if let Some(key) = origin.map(|(magic, _)| magic).zip(rank).filter(|_| has_room) {
                    self.name(key, who, returned.time);
                }
            }
            Action::Split { child: Some(child), .. }
            | Action::Shrink { child: Some(child), .. } => {
                self.begin(who, child, Membership { made, ..Membership::default() });
            }
            Action::Grow { nranks, rank, child: Some(child), .. } => {
                let nranks = (nranks <= RANK_LIMIT).then_some(nranks);
                let rank = rank.filter(|rank| nranks.is_some_and(|nranks| *rank < nranks));
                self.begin(who, child, Membership { rank, nranks, made, ..Membership::default() });
            }
            Action::AskRank { communicator, rank: Some(rank) } if rank < RANK_LIMIT => {
                self.memberships.with(who, communicator, |membership| membership.rank = Some(rank));
            }
            Action::AskCount { communicator, nranks: Some(nranks) } if nranks <= RANK_LIMIT => {
                self.memberships
                    .with(who, communicator, |membership| membership.nranks = Some(nranks));
            }
            Action::End {
                communicator,
                how: CommunicatorEnd::Destroy | CommunicatorEnd::Abort,
            } => self.memberships.remove(pid, communicator),
            _ => {}
        }
    }

    /// Processes the next change of a TCP connection.
    pub fn observe_connection(&mut self, change: &ConnectionChange) {
        if let (TcpState::Established, Some(owner)) = (change.after, &change.owner) {
            if self.owners.len() >= OWNER_LIMIT {
                self.owners.clear();
                self.refused += 1;
            }
            self.owners.insert((change.local, change.remote), (owner.pid, change.time));
        }
    }

    /// The rank of a process: in its largest communicator, which in training contains all
    /// processes.
    #[must_use]
    pub fn rank(&self, pid: u32) -> Option<u32> {
        self.memberships.rank(pid)
    }

    /// The magics of communicators whose processes have not ended.
    pub fn magics(&self) -> impl Iterator<Item = u64> + '_ {
        let members = self.memberships.processes().flat_map(|pid| self.memberships.of(pid));
        members.filter_map(|(_, membership)| Some(membership.origin?.0))
    }

    /// Forgets what ended before `time`: which processes ranks were, and who opened connections.
    pub fn forget_before(&mut self, time: Timestamp) {
        let living: BTreeSet<u32> = self.memberships.processes().collect();
        let is_over = |named: &Named| named.time < time && !living.contains(&named.pid);
        for (_, Named { payer, .. }) in self.names.extract_if(.., |_, named| is_over(named)) {
            if let Some(count) = self.named.get_mut(&payer) {
                *count -= 1;
            }
        }
        self.named.retain(|_, count| *count > 0);
        self.owners.retain(|_, (pid, at)| *at >= time || living.contains(pid));
    }

    fn name(&mut self, key: (u64, u32), (pid, payer): (u32, u64), time: Timestamp) {
        let new = Named { pid, payer, time };
        if let Some(known) = self.names.get_mut(&key).filter(|known| known.payer == payer) {
            *known = new;
            return;
        }
        let count = self.named.get(&payer).copied().unwrap_or(0);
        if self.names.len() >= NAME_LIMIT || count >= PAYER_LIMIT {
            self.refused += 1;
            return;
        }
        if let Some(before) = self.names.insert(key, new)
            && let Some(count) = self.named.get_mut(&before.payer)
        {
            *count -= 1;
        }
        *self.named.entry(payer).or_default() += 1;
    }

    /// Adds the facts from processes to those of the control plane: communicators that it did not
    /// show; the process of a rank, by the unique id that the process passed with its rank, or
    /// because it connected the rank to the next one in the bootstrap's ring; and the process's
    /// queue pairs.
    pub(crate) fn join(&self, job: &mut Job, rings: &[Ring]) {
        let pids = self.memberships.processes();
        let parts: Vec<(u32, Vec<Part>)> = pids.map(|pid| (pid, self.parts(pid, job))).collect();
        let connected = rings.iter().filter_map(|ring| {
            let (pid, _) = self.owners.get(&(ring.connector, ring.listener))?;
            Some((ring.magic?, ring.connector_rank?, *pid))
        });
        let called = self.names.iter().map(|((magic, rank), named)| (*magic, *rank, named.pid));
        for (magic, rank, pid) in called.chain(connected) {
            let communicator = job.magics.get(&magic).map(|id| id.0 as usize);
            let communicator = communicator.and_then(|place| job.communicators.get_mut(place));
            let known = communicator.and_then(|one| rank_mut(&mut one.ranks, rank));
            if let Some(known) = known.filter(|known| known.pid.is_none_or(|one| one == pid)) {
                known.pid = Some(pid);
                let reason = Evidence { kind: EvidenceKind::Process, witness: None, count: 1 };
                add_evidence(&mut known.evidence, reason);
            }
        }
        for (pid, parts) in parts {
            for part in &parts {
                let Some(rank) = part.rank_in(job) else { continue };
                rank.host = rank.host.take().or_else(|| self.host.clone());
                rank.communicated = part.membership.communicated;
            }
            self.join_queue_pairs(pid, &parts, job);
        }
    }

    /// A process's current communicators, with its rank; new ones are added to the job.
    fn parts(&self, pid: u32, job: &mut Job) -> Vec<Part> {
        self.memberships
            .of(pid)
            .filter_map(|(handle, one)| Some((handle, one, one.origin?, one.rank?)))
            .map(|(handle, membership, (magic, root), rank)| {
                let next = CommunicatorId(job.communicators.len() as u32);
                let place = *job.magics.entry(magic).or_insert(next);
                if place == next {
                    job.communicators.push(communicator(magic, root));
                }
                if let Some(one) = job.communicators.get_mut(place.0 as usize) {
                    one.nranks = one.nranks.or(membership.nranks);
                    if let Err(at) = one.ranks.binary_search_by_key(&rank, |known| known.rank) {
                        let grade = Grade::Proven;
                        let new = Rank { top_rank: Some(rank), grade, ..Rank::new(rank) };
                        one.ranks.insert(at, new);
                    }
                }
                Part { handle, communicator: place, rank, membership: *membership }
            })
            .collect()
    }

    /// Assigns a process's queue pairs to its ranks: to the communicator that was being created, or
    /// had just been used for the first time, when the queue pair was created; or to the only one.
    /// Among several, nothing else decides: the largest has most of the connections. The process
    /// may also have queue pairs that are not NCCL's, such as MPI's.
    fn join_queue_pairs(&self, pid: u32, parts: &[Part], job: &mut Job) {
        let is_only = self.memberships.of(pid).count() == 1;
        for (mut pair, made) in self.queue_pairs.of_process(pid) {
            let mut during =
                parts.iter().filter(|one| made.is_some_and(|at| one.membership.is_made_at(at)));
            let during = during.next().filter(|_| during.next().is_none());
            let during = during.or_else(|| {
                let handle = self.just_used(pid, made?)?;
                parts.iter().find(|part| part.handle == handle)
            });
            let greatest = || {
                let first = |one: &Part| one.membership.made.map(|made| Reverse(made.first));
                parts.iter().max_by_key(|one| (one.membership.nranks, first(one)))
            };
            let Some(part) = during.or_else(greatest) else { continue };
            let is_likely = during.is_some() || is_only;
            pair.grade = if is_likely { Grade::Inferred } else { Grade::Unknown };
            let communicator = job.communicators.get_mut(part.communicator.0 as usize);
            if let Some(one) = communicator.filter(|_| during.is_some())
                && one.transport == Transport::Unknown
            {
                one.transport = Transport::Ib;
            }
            if let Some(rank) = part.rank_in(job) {
                rank.queue_pairs.push(pair);
            }
        }
    }

    /// Calls so far, by function and the caller's rank.
    pub fn counts(&self) -> impl Iterator<Item = (Function, Option<u32>, CallCount)> + '_ {
        self.counts.iter().map(|((function, rank), count)| (*function, *rank, *count))
    }

    /// Forgets processes that have ended. Their calls stay counted.
    pub fn retain(&mut self, mut is_there: impl FnMut(u32) -> bool) {
        self.memberships.retain(&mut is_there);
        self.queue_pairs.retain(&mut is_there);
    }

    /// Adds what did not fit.
    pub fn add_health(&self, health: &mut Health) {
        health.add(
            HealthEvent::ProcessesRefused,
            self.refused + self.memberships.refused + self.queue_pairs.refused,
        );
    }

    /// The communicator that a process had just used for the first time, and may have connected
    /// then; `None` if it is ambiguous, or another one was being created.
    fn just_used(&self, pid: u32, at: Timestamp) -> Option<CommunicatorHandle> {
        if self.memberships.of(pid).any(|(_, one)| one.is_made_at(at)) {
            return None;
        }
        let since = Timestamp::from_nanos(at.as_nanos().saturating_sub(CONNECTING));
        let mut just = self.memberships.of(pid).filter(|(_, one)| {
            one.communicated.is_some_and(|used| (since..=at).contains(&used.first))
        });
        let (handle, _) = just.next()?;
        just.next().is_none().then_some(handle)
    }

    /// Returns whether there was room.
    fn begin(
        &mut self,
        who: (u32, u64),
        communicator: CommunicatorHandle,
        membership: Membership,
    ) -> bool {
        self.memberships.with(who, communicator, |known| *known = membership)
    }
}

/// One of a communicator's ranks, which are in order.
fn rank_mut(ranks: &mut [Rank], rank: u32) -> Option<&mut Rank> {
    let at = ranks.binary_search_by_key(&rank, |known| known.rank).ok()?;
    ranks.get_mut(at)
}

/// A communicator known only from a process.
fn communicator(magic: u64, root: SocketAddr) -> Communicator {
    let id = unique_id::from_magic(magic, root);
    Communicator {
        identity: Identity::Magic(magic),
        log_hash: Some(comm_hash::logged_id(&id, CharSign::Signed)),
        nranks: None,
        release: None,
        releases: None,
        root: Some(root),
        parent: None,
        ranks: Vec::new(),
        channels: Vec::new(),
        transport: Transport::Unknown,
        bootstrap: None,
        evidence: vec![Evidence { kind: EvidenceKind::Process, witness: None, count: 1 }],
        grade: Grade::Proven,
    }
}

#[cfg(test)]
mod tests;
