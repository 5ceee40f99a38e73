//! Waits of NCCL's proxies, from the records of its profiler plugin.
//!
//! A process records its own waits only, in time of its own: sums and lengths are compared, never the
//! clocks of two hosts.

mod calls;
mod elsewhere;
mod flight;
mod kernel;
mod late;
mod leader;
mod live;
mod node;
mod own;
mod slow;
mod tally;
mod training;
mod waiting;

pub use late::{Judgement, Late, Lateness, ShownBy, judgements};
pub use live::{LiveProfiles, RankTotals};
pub use slow::SlowEdge;
pub use training::{ProfiledTrainingStep, training_steps};

use std::collections::{BTreeMap, BTreeSet};

use self::kernel::KernelRun;
use self::own::Moments;
use self::waiting::Waiting;
use crate::decode::profiler::{
    Collective, Communicator, Function, Header, Item, OperationEnd, OperationStart, Record,
    Transfer, Wait,
};

/// Operations of a process that have begun and not ended; beyond that the oldest are forgotten.
const OPERATIONS: usize = 16_384;

/// Collectives of a process whose waits are kept; beyond that the first are forgotten.
const COLLECTIVES: usize = 65_536;

/// Edges of a process: peers of all of its communicators, in both directions.
const EDGES: usize = 2048;

/// Communicators of a process.
const COMMUNICATORS: usize = 512;

/// Waits of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitSum {
    /// Transfers whose wait is known.
    pub count: u64,
    /// Nanoseconds of all of them. Transfers wait at the same time, so it may be longer than the job.
    pub total_ns: u64,
    /// The longest, in nanoseconds.
    pub longest_ns: u64,
}

impl WaitSum {
    fn merge(&mut self, other: &Self) {
        self.count = self.count.saturating_add(other.count);
        self.total_ns = self.total_ns.saturating_add(other.total_ns);
        self.longest_ns = self.longest_ns.max(other.longest_ns);
    }

    fn add(&mut self, ns: u64) {
        self.count = self.count.saturating_add(1);
        self.total_ns = self.total_ns.saturating_add(ns);
        self.longest_ns = self.longest_ns.max(ns);
    }
}

/// What a process did for a communicator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommunicatorWaits {
    /// What is known of it; `None` if the process never said.
    pub of: Option<Communicator>,
    /// Collectives, sends and receives that were enqueued.
    pub collectives: u64,
    /// Operations that ended.
    pub operations: u64,
    /// Transfers that ended.
    pub transfers: u64,
    /// Bytes of operations that ended; 0 if NCCL did not say.
    pub bytes: u64,
    /// By the order of [`Wait::ALL`].
    pub waits: [WaitSum; 6],
}

/// One direction of what a process exchanges with another rank of a communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EdgeKey {
    /// Number of the communicator in the process.
    pub comm: u32,
    /// The other rank.
    pub peer: u32,
    /// Whether it sends.
    pub is_send: bool,
}

/// Waits of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EdgeWaits {
    /// Operations that began.
    pub operations: u64,
    /// A bit for each channel, modulo 64.
    pub channel_bits: u64,
    /// The first, second and third wait of its transfers.
    pub waits: [WaitSum; 3],
    /// The second wait of transfers that are not the first of their operation: of sends, for room.
    pub later: WaitSum,
}

impl EdgeWaits {
    /// Channels that it uses, at least 1.
    #[must_use]
    pub fn channels(&self) -> u64 {
        u64::from(self.channel_bits.count_ones()).max(1)
    }

    fn add(&mut self, transfer: &Transfer) {
        for (sum, ns) in self.waits.iter_mut().zip(transfer.waits_ns) {
            if let Some(ns) = ns {
                sum.add(ns);
            }
        }
        if let (1.., [_, Some(second), _]) = (transfer.number, transfer.waits_ns) {
            self.later.add(second);
        }
    }

    fn merge(&mut self, other: &Self) {
        self.operations = self.operations.saturating_add(other.operations);
        self.channel_bits |= other.channel_bits;
        for (sum, other) in self.waits.iter_mut().zip(&other.waits) {
            sum.merge(other);
        }
        self.later.merge(&other.later);
    }

    /// Nanoseconds that a transfer waits for the network on average.
    #[must_use]
    pub fn network_mean_ns(&self) -> u64 {
        let network = self.network();
        network.total_ns / network.count.max(1)
    }

    /// The last wait: of sends, for the network.
    #[must_use]
    pub const fn network(&self) -> WaitSum {
        let [_, _, network] = self.waits;
        network
    }
}

/// RING of NCCL's algorithms.
const RING: u8 = 2;

/// A collective by function and sequence number.
pub type CollectiveKey = (Function, u32);

/// What a collective waited for in one process; of several channels the longest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CollectiveWaits {
    /// Number of the communicator in the process.
    pub comm: u32,
    /// The collective among those of its communicator.
    pub key: CollectiveKey,
    /// Whether it goes round a ring, as far as the records show.
    pub is_ring: bool,
    /// While an operation that receives had a receive without data, and the rank's own first data was there.
    pub received_ns: u64,
    /// Whether an operation of it receives.
    pub receives: bool,
    /// While an operation that sends had data and no room for it at the peer.
    pub room_ns: u64,
    /// Before, while another communicator of the process waited for others. Only judgements know.
    pub elsewhere_ns: u64,
    /// From begin to end of an operation.
    pub lasted_ns: u64,
    /// When its kernels ran; `None` if NCCL was not asked.
    kernel: Option<KernelRun>,
    /// What was called, if that was recorded.
    pub called: Option<Collective>,
    /// When its parts happened, and how long it kept others waiting.
    pub moments: Moments,
}

/// An operation that has not ended.
#[derive(Clone, Copy, Debug)]
struct Open {
    comm: u32,
    peer: u32,
    /// Number of its collective, 0 if unknown.
    collective: u32,
    key: CollectiveKey,
    is_send: bool,
    waiting: Waiting,
    room_ns: u64,
    /// When it was appended.
    time_ns: u64,
    moments: own::OperationMoments,
}

/// Records that say the same as others: a file that was given twice.
#[must_use]
pub fn repeated<'a>(
    processes: &'a [ProcessRecords],
    new: &ProcessRecords,
) -> Option<&'a ProcessRecords> {
    let same = |known: &&ProcessRecords| {
        let of = known.header.as_ref().zip(new.header.as_ref());
        of.is_some_and(|(known, new)| known == new)
            && new.records > 0
            && known.records == new.records
            && known.communicators == new.communicators
            && known.collectives == new.collectives
    };
    processes.iter().find(same)
}

/// Ranks of each communicator's hash of which there are records.
fn recorded(processes: &[ProcessRecords]) -> BTreeMap<u64, (Option<u32>, BTreeSet<u32>)> {
    let mut all: BTreeMap<u64, (Option<u32>, BTreeSet<u32>)> = BTreeMap::new();
    let used = processes.iter().flat_map(|one| one.communicators.values());
    for of in used.filter_map(|waits| waits.of.as_ref()) {
        let (Some(hash), Some(rank)) = (of.hash, of.rank) else { continue };
        let (ranks, recorded) = all.entry(hash).or_default();
        *ranks = ranks.or(of.ranks);
        recorded.insert(rank);
    }
    all
}

/// Records of several lanes are read lane by lane. One that refers to an operation of another lane
/// waits for so many turns of the reader.
const TURNS: u8 = 2;
/// Records that wait.
const WAITING: usize = 16_384;

/// The records of a process.
#[derive(Clone, Debug, Default)]
pub struct ProcessRecords {
    /// The name of the file.
    pub file: String,
    /// The process; `None` until its header is read.
    pub header: Option<Header>,
    /// Its communicators, by their number in the process; 0 is for records without one.
    pub communicators: BTreeMap<u32, CommunicatorWaits>,
    /// Waits of collectives, by their number in the process.
    pub collectives: BTreeMap<u32, CollectiveWaits>,
    /// Waits by communicator, peer and direction.
    pub edges: BTreeMap<EdgeKey, EdgeWaits>,
    /// Records that were read.
    pub records: u64,
    /// Words that were overwritten before they were read.
    pub overwritten_words: u64,
    /// Records that the plugin could not keep, by the order of `LOSSES`.
    pub lost: [u64; 8],
    /// It ends within a block: it was truncated, or its process was killed or still writes.
    pub is_cut: bool,
    /// Words that make no sense.
    pub damaged_words: u64,
    /// Operations, transfers and communicators that could not be assigned, because too many were open.
    pub forgotten: u64,
    /// Collectives that are not kept, because so many came later: what is kept has no gaps.
    pub early_collectives: u64,
    open: BTreeMap<u32, Open>,
    /// Ends of operations, and transfers whose operation is not there yet, with the turns they waited.
    waiting: Vec<(u8, Record)>,
    /// What was lost before these records began.
    lost_before: [u64; 8],
    /// Number of the first operation that was seen to begin. What belongs to earlier ones is no gap.
    first_operation: Option<u32>,
}

impl ProcessRecords {
    /// Records of a file.
    #[must_use]
    pub fn new(file: String) -> Self {
        Self { file, ..Self::default() }
    }

    /// Takes what was read next.
    pub fn take(&mut self, item: Item) {
        match item {
            Item::Header(header) => self.header = Some(header),
            Item::Communicator(one) => {
                let number = one.number;
                if let Some(waits) = self.communicator(number) {
                    waits.of = Some(one);
                }
            }
            Item::Overwritten(words) => {
                self.overwritten_words = self.overwritten_words.saturating_add(words);
            }
            // Counts go on from the process's begin: the last ones hold. They end a turn of the lanes.
            Item::Counts { lost, .. } => {
                for ((own, lost), before) in self.lost.iter_mut().zip(lost).zip(self.lost_before) {
                    *own = lost.saturating_sub(before);
                }
                self.settle(TURNS);
            }
            Item::Damaged(words) => self.damaged_words = self.damaged_words.saturating_add(words),
            Item::Record(record) => {
                self.records = self.records.saturating_add(1);
                self.take_record(record);
            }
        }
    }

    /// The edges of communicator number `comm`.
    pub fn edges_of(&self, comm: u32) -> impl Iterator<Item = (&EdgeKey, &EdgeWaits)> {
        let key = |peer, is_send| EdgeKey { comm, peer, is_send };
        self.edges.range(key(0, false)..=key(u32::MAX, true))
    }

    /// Whether some of what it did is not in its records: sums are too small.
    #[must_use]
    pub fn has_gaps(&self) -> bool {
        let lost = self.lost.iter().any(|count| *count > 0);
        lost || self.overwritten_words > 0 || self.damaged_words > 0 || self.forgotten > 0
    }

    /// All was taken.
    pub fn finish(&mut self) {
        self.settle(0);
    }

    fn take_record(&mut self, record: Record) {
        match &record {
            Record::Collective(one) => {
                let is_ring = one.algorithm == RING;
                let collective = self.collective(one.number);
                collective.is_ring = is_ring;
                // Its operations say so again. One whose ranks share a node has none.
                collective.comm = one.comm;
                collective.key = (one.function, (one.sequence & u64::from(u32::MAX)) as u32);
                collective.called = Some(*one);
                if let Some(waits) = self.communicator(one.comm) {
                    waits.collectives = waits.collectives.saturating_add(1);
                }
            }
            Record::OperationStart(start) => self.begin(start),
            Record::Transfer(transfer) if self.open.contains_key(&transfer.operation) => {
                self.transfer(transfer);
            }
            Record::OperationEnd(_) | Record::Transfer(_) => {
                if self.waiting.len() >= WAITING {
                    self.settle(0);
                }
                self.waiting.push((0, record));
            }
            Record::Kernel(kernel) => self.kernel(kernel),
            Record::Foreign(_) | Record::Open(_) => {}
        }
    }

    /// Takes records that have waited: transfers that have their operation now, or have waited for
    /// `turns`, and ends that have waited for a turn, so that no transfer comes after its end.
    fn settle(&mut self, turns: u8) {
        let (ends, transfers): (Vec<_>, Vec<_>) = std::mem::take(&mut self.waiting)
            .into_iter()
            .partition(|(_, record)| matches!(record, Record::OperationEnd(_)));
        for (age, record) in transfers {
            let Record::Transfer(transfer) = &record else { continue };
            if self.open.contains_key(&transfer.operation) || age >= turns {
                self.transfer(transfer);
            } else {
                self.waiting.push((age.saturating_add(1), record));
            }
        }
        for (age, record) in ends {
            let Record::OperationEnd(end) = &record else { continue };
            if age >= turns.min(1) {
                self.end(end);
            } else {
                self.waiting.push((age.saturating_add(1), record));
            }
        }
    }

    fn end(&mut self, end: &OperationEnd) {
        let Some(open) = self.open.remove(&end.number) else {
            self.miss(end.number);
            return;
        };
        if open.collective != 0 {
            let all = self.collective(open.collective);
            all.comm = open.comm;
            all.key = open.key;
            all.receives |= !open.is_send;
            let data_ns = all.moments.first_data_ns.saturating_sub(open.time_ns);
            all.received_ns = all.received_ns.max(open.waiting.since(data_ns));
            all.room_ns = all.room_ns.max(open.room_ns);
            all.lasted_ns = all.lasted_ns.max(end.lasted_ns);
            all.moments.end(&open.moments, open.time_ns, end.lasted_ns);
        }
        if let Some(comm) = self.communicator(open.comm) {
            comm.operations = comm.operations.saturating_add(1);
            comm.bytes = comm.bytes.saturating_add(end.bytes);
        }
    }

    /// Takes note that an operation is not known.
    fn miss(&mut self, operation: u32) {
        if self.first_operation.is_some_and(|first| operation >= first) {
            self.forgotten = self.forgotten.saturating_add(1);
        }
    }

    fn begin(&mut self, start: &OperationStart) {
        self.first_operation.get_or_insert(start.number);
        if self.open.len() >= OPERATIONS {
            self.open.pop_first();
            self.forgotten = self.forgotten.saturating_add(1);
        }
        let peer = u32::try_from(start.peer).unwrap_or(u32::MAX);
        let key = EdgeKey { comm: start.comm, peer, is_send: start.is_send };
        if let Some(edge) = self.edge(key) {
            edge.operations = edge.operations.saturating_add(1);
            edge.channel_bits |= 1_u64.wrapping_shl(u32::from(start.channel));
        }
        let open = Open {
            comm: start.comm,
            peer,
            collective: start.collective,
            key: (start.function, start.sequence),
            is_send: start.is_send,
            waiting: Waiting::default(),
            room_ns: 0,
            time_ns: start.time_ns,
            moments: own::OperationMoments::default(),
        };
        if start.collective != 0 {
            self.collective(start.collective).moments.begin(start.time_ns);
        }
        self.open.insert(start.number, open);
    }

    fn transfer(&mut self, transfer: &Transfer) {
        let (comm, edge) = match self.open.get_mut(&transfer.operation) {
            Some(open) => {
                let [_, second, _] = transfer.waits_ns.map(Option::unwrap_or_default);
                let first = open.moments.add(transfer, open.time_ns);
                if open.is_send {
                    // Only the first in line is said to wait for room, so this is time.
                    open.room_ns = open.room_ns.saturating_add(second);
                } else {
                    open.waiting.add(transfer);
                }
                let Open { comm, peer, is_send, collective, .. } = *open;
                if let Some(first) = first.filter(|_| collective != 0) {
                    self.collective(collective).moments.first(first);
                }
                (comm, Some(EdgeKey { comm, peer, is_send }))
            }
            None => {
                self.miss(transfer.operation);
                (0, None)
            }
        };
        if let Some(key) = edge
            && let Some(edge) = self.edge(key)
        {
            edge.add(transfer);
        }
        let Some(waits) = self.communicator(comm) else { return };
        waits.transfers = waits.transfers.saturating_add(1);
        for (wait, ns) in Wait::of(transfer.is_send).into_iter().zip(transfer.waits_ns) {
            let place = Wait::ALL.iter().position(|one| *one == wait);
            let sum = place.and_then(|place| waits.waits.get_mut(place));
            if let (Some(sum), Some(ns)) = (sum, ns) {
                sum.add(ns);
            }
        }
    }

    /// `None` if there are too many.
    fn edge(&mut self, key: EdgeKey) -> Option<&mut EdgeWaits> {
        let is_new = !self.edges.contains_key(&key);
        if is_new && self.edges.len() >= EDGES {
            self.forgotten = self.forgotten.saturating_add(1);
            return None;
        }
        Some(self.edges.entry(key).or_default())
    }

    fn collective(&mut self, number: u32) -> &mut CollectiveWaits {
        if self.collectives.len() >= COLLECTIVES && !self.collectives.contains_key(&number) {
            self.collectives.pop_first();
            self.early_collectives = self.early_collectives.saturating_add(1);
        }
        self.collectives.entry(number).or_default()
    }

    fn communicator(&mut self, number: u32) -> Option<&mut CommunicatorWaits> {
        let is_new = !self.communicators.contains_key(&number);
        if is_new && self.communicators.len() >= COMMUNICATORS {
            self.forgotten = self.forgotten.saturating_add(1);
            return None;
        }
        Some(self.communicators.entry(number).or_default())
    }
}
