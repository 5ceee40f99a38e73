//! Queue pairs of this host's processes: those they were seen to create, and those that the kernel
//! lists.
//!
//! Calls show the other end, and when a queue pair was created; the kernel's list shows the device,
//! the state, and queue pairs older than the watch.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};

use crate::link::job::RankQueuePair;
use crate::model::call::{Action, Call, QueuePairHandle};
use crate::model::grade::Grade;
use crate::model::qpn::Qpn;
use crate::model::queue_pair::{HostQueuePair, QueuePairKind, QueuePairOwner, QueuePairState};
use crate::model::time::Timestamp;

/// Most queue pairs of all processes, and most of the kernel's list.
const LIMIT: usize = 65_536;
/// Most of a process that it was seen to create.
const PROCESS_LIMIT: usize = 16_384;
/// Most of all processes whose calls count against the same limits.
const PAYER_LIMIT: usize = 32_768;

/// A queue pair that a process was seen to create or change.
#[derive(Clone, Copy, Debug, Default)]
struct Called {
    number: Option<Qpn>,
    kind: Option<QueuePairKind>,
    state: Option<QueuePairState>,
    remote: Option<Qpn>,
    remote_address: Option<IpAddr>,
    made: Option<Timestamp>,
}

/// Queue pairs of watched processes, from calls and from the kernel's list.
#[derive(Clone, Debug, Default)]
pub(super) struct QueuePairs {
    called: BTreeMap<(u32, QueuePairHandle), Called>,
    /// How many of them by process, with its payer, and by payer.
    of_process: BTreeMap<u32, (u64, usize)>,
    paid: BTreeMap<u64, usize>,
    listed: BTreeMap<u32, Vec<HostQueuePair>>,
    /// Queue pairs that did not fit.
    pub(super) refused: u64,
}

impl QueuePairs {
    /// Processes the next call; those unrelated to queue pairs change nothing.
    pub(super) fn observe(&mut self, call: &Call) {
        let (pid, payer) = (call.caller.pid, call.caller.payer);
        match call.action {
            Action::CreateQueuePair { queue_pair: Some(handle), number, kind } => {
                // A handle that is created again is another queue pair.
                self.remove(pid, handle);
                let state = Some(QueuePairState::Reset);
                let made = Some(call.time);
                self.change((pid, payer), handle, |one| {
                    *one = Called { number, kind, state, made, ..Called::default() };
                });
            }
            Action::ModifyQueuePair { queue_pair, number, change: Some(change) } => {
                let gid = change.remote_gid.map(Ipv6Addr::from);
                let address = gid.filter(|gid| !gid.is_unspecified());
                self.change((pid, payer), queue_pair, |one| {
                    one.number = one.number.or(number);
                    one.state = change.state.or(one.state);
                    one.remote = change.remote.or(one.remote);
                    let address = address.map(|gid| IpAddr::V6(gid).to_canonical());
                    one.remote_address = address.or(one.remote_address);
                });
            }
            Action::DestroyQueuePair { queue_pair, .. } => {
                self.remove(pid, queue_pair);
            }
            _ => {}
        }
    }

    /// Replaces the kernel's list; owners are processes, not their threads.
    pub(super) fn list(&mut self, pairs: impl IntoIterator<Item = HostQueuePair>) {
        self.listed.clear();
        let mut count = 0;
        for pair in pairs {
            let QueuePairOwner::Process(pid) = pair.owner else { continue };
            count += 1;
            match count <= LIMIT {
                true => self.listed.entry(pid).or_default().push(pair),
                false => self.refused += 1,
            }
        }
    }

    /// Forgets processes that have ended.
    pub(super) fn retain(&mut self, is_there: &mut impl FnMut(u32) -> bool) {
        self.of_process.retain(|pid, (payer, count)| {
            let is_there = is_there(*pid);
            if let Some(paid) = self.paid.get_mut(payer).filter(|_| !is_there) {
                *paid -= *count;
            }
            is_there
        });
        self.paid.retain(|_, count| *count > 0);
        self.called.retain(|(pid, _), _| self.of_process.contains_key(pid));
        self.listed.retain(|pid, _| is_there(*pid));
    }

    /// The connections of a process by device and number, with their creation time if it was seen.
    pub(super) fn of_process(&self, pid: u32) -> Vec<(RankQueuePair, Option<Timestamp>)> {
        let bounds = (pid, QueuePairHandle(0))..=(pid, QueuePairHandle(u64::MAX));
        let mut called: BTreeMap<Option<Qpn>, Vec<Called>> = BTreeMap::new();
        for (_, one) in self.called.range(bounds) {
            called.entry(one.number).or_default().push(*one);
        }
        let mut all = Vec::new();
        for listed in self.listed.get(&pid).into_iter().flatten() {
            let is_same = |one: &Called| {
                one.remote.is_none_or(|remote| listed.remote.is_none_or(|it| it == remote))
            };
            let same = called.get_mut(&Some(listed.local)).and_then(|called| {
                let at = called.iter().position(is_same)?;
                Some(called.swap_remove(at))
            });
            let same = same.unwrap_or_default();
            let pair = RankQueuePair {
                device: Some(listed.device.clone()),
                number: listed.local,
                kind: Some(listed.kind),
                state: Some(listed.state),
                remote: listed.remote.or(same.remote),
                remote_address: same.remote_address,
                grade: Grade::Unknown,
            };
            all.push((pair, same.made));
        }
        let rest = called.values().flatten().filter_map(|one| {
            let pair = RankQueuePair {
                device: None,
                number: one.number?,
                kind: one.kind,
                state: one.state,
                remote: one.remote,
                remote_address: one.remote_address,
                grade: Grade::Unknown,
            };
            Some((pair, one.made))
        });
        all.extend(rest);
        all.retain(|(pair, _)| pair.kind.is_none_or(QueuePairKind::may_be_nccls));
        all.sort_by(|(one, _), (other, _)| {
            (&one.device, one.number).cmp(&(&other.device, other.number))
        });
        all
    }

    fn change(
        &mut self,
        (pid, payer): (u32, u64),
        handle: QueuePairHandle,
        change: impl FnOnce(&mut Called),
    ) {
        // Those from before the watch become known when they are changed.
        let key = (pid, handle);
        if !self.called.contains_key(&key) {
            let (_, of_process) = self.of_process.get(&pid).copied().unwrap_or((payer, 0));
            let of_payer = self.paid.get(&payer).copied().unwrap_or(0);
            let is_full = self.called.len() >= LIMIT
                || of_process >= PROCESS_LIMIT
                || of_payer >= PAYER_LIMIT;
            if is_full {
                self.refused += 1;
                return;
            }
            let (payer, count) = self.of_process.entry(pid).or_insert((payer, 0));
            *count += 1;
            *self.paid.entry(*payer).or_default() += 1;
        }
        change(self.called.entry(key).or_default());
    }

    fn remove(&mut self, pid: u32, handle: QueuePairHandle) {
        if self.called.remove(&(pid, handle)).is_none() {
            return;
        }
        if let Some((payer, count)) = self.of_process.get_mut(&pid) {
            *count -= 1;
            if let Some(paid) = self.paid.get_mut(payer) {
                *paid -= 1;
            }
            if *count == 0 {
                self.of_process.remove(&pid);
            }
        }
    }
}
