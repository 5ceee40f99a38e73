//! What the facts amount to: communicators, their ranks, and the connections between them.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};

use super::evidence::Evidence;
use crate::decode::nccl::layout::ReleaseRange;
use crate::model::grade::Grade;
use crate::model::nccl::{CollectiveKind, Graph, Release};
use crate::model::qpn::Qpn;
use crate::model::queue_pair::{QueuePairKind, QueuePairState};
use crate::model::time::{Span, Timestamp};
use crate::model::witness::Witness;

/// Place of a communicator in [`Job::communicators`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommunicatorId(pub u32);

/// Place of a connection in [`Job::connections`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NetConnectionId(pub u32);

/// Everything that traffic was linked to.
#[derive(Clone, Debug, Default)]
pub struct Job {
    /// Communicators, oldest first.
    pub communicators: Vec<Communicator>,
    /// NCCL's connections between two ranks, by communicator, channel, sender, receiver.
    pub connections: Vec<NetConnection>,
    /// Collectives that logs announce, by communicator, rank and order of call.
    pub calls: Vec<LoggedCall>,
    /// Whose the flows are, by place in the flow table.
    pub owners: Vec<Ownership>,
    /// Statements that contradict each other.
    pub conflicts: Vec<Conflict>,
    /// Messages of communicators that found no room.
    pub dropped_communicators: u64,
    /// Communicators by the magic that they greet with.
    pub magics: BTreeMap<u64, CommunicatorId>,
    /// Communicators by where NET receivers listen for their senders.
    pub listeners: BTreeMap<SocketAddr, CommunicatorId>,
}

impl Job {
    /// A communicator.
    #[must_use]
    pub fn communicator(&self, id: CommunicatorId) -> Option<&Communicator> {
        self.communicators.get(id.0 as usize)
    }

    /// A connection.
    #[must_use]
    pub fn connection(&self, id: NetConnectionId) -> Option<&NetConnection> {
        self.connections.get(id.0 as usize)
    }

    /// Whose the flow at place `at` of the flow table is.
    #[must_use]
    pub fn owner(&self, at: u32) -> Option<Ownership> {
        self.owners.get(at as usize).copied()
    }

    /// The name of a communicator in reports: its hash.
    #[must_use]
    pub fn name_of(&self, id: CommunicatorId) -> Option<String> {
        self.communicator(id).map(|communicator| communicator.identity.to_string())
    }
}

/// Whose a flow is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ownership {
    /// It belongs to a connection.
    Connection {
        /// Which.
        connection: NetConnectionId,
        /// Which way it goes.
        role: Role,
    },
    /// It belongs to none.
    Nobody(Reason),
}

/// Which way a flow of a connection goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// With the data.
    Data,
    /// Against the data: clear-to-sends and ACKs.
    Control,
}

/// Why a flow belongs to nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// Datagrams, which NCCL does not use.
    Datagrams,
    /// Nothing in it is NCCL's, and no exchange named its queue pair.
    NotNccl,
    /// It carries WRITE_WITH_IMM as NCCL's data does, but no clear-to-send asked for any of it.
    NoClearToSend,
    /// It carries what looks like clear-to-sends, but no data answers them.
    NoData,
}

/// Two statements of which only one can be true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Conflict {
    /// CTS tags name another sender than the control plane.
    Tag {
        /// The connection.
        connection: NetConnectionId,
        /// The sender's rank, as the control plane has it.
        expected: u32,
        /// The rank in the tags.
        tag: u32,
        /// CTSs that say so.
        count: u64,
    },
    /// A log contradicts what was captured.
    Log {
        /// The communicator.
        communicator: CommunicatorId,
        /// The rank.
        rank: u32,
        /// What of it.
        what: &'static str,
        /// What was captured.
        captured: String,
        /// What the log says.
        logged: String,
    },
}

/// What a communicator is known by, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Identity {
    /// NCCL's commHash.
    CommHash(u64),
    /// `commId` of logs up to NCCL 2.25, which is another hash of the unique id.
    LogHash(u64),
    /// The magic of its unique id.
    Magic(u64),
    /// Found from traffic alone; a number from 0.
    Inferred(u32),
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CommHash(hash) | Self::LogHash(hash) | Self::Magic(hash) => {
                write!(f, "{hash:016x}")
            }
            Self::Inferred(number) => write!(f, "inferred-{number}"),
        }
    }
}

/// A communicator.
#[derive(Clone, Debug)]
pub struct Communicator {
    /// What it is known by.
    pub identity: Identity,
    /// `commId` in logs up to NCCL 2.25, which is not its commHash.
    pub log_hash: Option<u64>,
    /// Its ranks' number; `None` where nothing tells.
    pub nranks: Option<u32>,
    /// Its release, exactly; of a communicator of several, the lowest.
    pub release: Option<Release>,
    /// Releases that its messages fit.
    pub releases: Option<ReleaseRange>,
    /// Where its root listens.
    pub root: Option<SocketAddr>,
    /// The communicator that it was split from.
    pub parent: Option<CommunicatorId>,
    /// Its ranks, as far as they are known, ascending.
    pub ranks: Vec<Rank>,
    /// Its channels.
    pub channels: Vec<Channel>,
    /// What carries its data between hosts.
    pub transport: Transport,
    /// How its ranks found each other; `None` where that was not seen.
    pub bootstrap: Option<Bootstrap>,
    /// Reasons.
    pub evidence: Vec<Evidence>,
    /// How sure its existence is.
    pub grade: Grade,
}

/// What carries data between hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    /// NET/IB: RDMA.
    Ib,
    /// NET/Socket: TCP.
    Socket,
    /// Both.
    Mixed,
    /// Nothing tells.
    #[default]
    Unknown,
}

/// How the ranks of a communicator found each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bootstrap {
    /// From the first check-in or gather to the end of the last gather.
    pub span: Span,
    /// The rank that checked in last, of those that were seen.
    pub last_rank: Option<u32>,
}

/// A rank.
#[derive(Clone, Debug)]
pub struct Rank {
    /// Its number in the communicator.
    pub rank: u32,
    /// Its number in the topmost parent, which CTS tags carry.
    pub top_rank: Option<u32>,
    /// Name of its host.
    pub host: Option<String>,
    /// Address of its control plane.
    pub address: Option<IpAddr>,
    /// Process id.
    pub pid: Option<u32>,
    /// Packed PCI id of its GPU.
    pub bus_id: Option<u64>,
    /// Where its data leaves and arrives.
    pub nics: Vec<Nic>,
    /// Where other ranks of the communicator reach it during set-up.
    pub listener: Option<SocketAddr>,
    /// Hash of PID and PID namespace, plus commHash: which releases before 2.24 send for the PID.
    pub pid_hash: Option<u64>,
    /// Queue pairs of its process, where the process was watched.
    pub queue_pairs: Vec<RankQueuePair>,
    /// From the first to the last call by which its process asked for data to be moved; `None` where
    /// none was seen.
    pub communicated: Option<Span>,
    /// Reasons.
    pub evidence: Vec<Evidence>,
    /// How sure all this is.
    pub grade: Grade,
}

impl Rank {
    /// A rank of which nothing else is known.
    #[must_use]
    pub const fn new(rank: u32) -> Self {
        Self {
            rank,
            top_rank: None,
            host: None,
            address: None,
            pid: None,
            bus_id: None,
            nics: Vec::new(),
            listener: None,
            pid_hash: None,
            queue_pairs: Vec::new(),
            communicated: None,
            evidence: Vec::new(),
            grade: Grade::Unknown,
        }
    }
}

/// A queue pair of a rank's process, as the process and its kernel tell it; no packet is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankQueuePair {
    /// RDMA device, such as `mlx5_0`; `None` where the kernel did not list it.
    pub device: Option<String>,
    /// Its number.
    pub number: Qpn,
    /// What it is for.
    pub kind: Option<QueuePairKind>,
    /// Where it is in its life: as the kernel lists it, else what the process asked for last.
    pub state: Option<QueuePairState>,
    /// The number at the other end.
    pub remote: Option<Qpn>,
    /// The address at the other end.
    pub remote_address: Option<IpAddr>,
    /// How sure it is that it serves this communicator; that it is the process's is certain.
    pub grade: Grade,
}

/// A port that a rank's data uses.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Nic {
    /// Address of its queue pairs.
    pub address: IpAddr,
    /// Device name.
    pub device: Option<String>,
}

/// A channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channel {
    /// Its number; `None` where it is not known.
    pub channel: Option<u32>,
    /// The ring: each rank is followed by the rank that it sends to.
    pub ring: Vec<u32>,
    /// The tree; `None` where it is not known.
    pub tree: Option<Vec<TreeNode>>,
}

/// A rank's place in a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeNode {
    /// The rank.
    pub rank: u32,
    /// The rank above; `None` at the root.
    pub up: Option<u32>,
    /// The ranks below.
    pub down: Vec<u32>,
}

/// NCCL's connection for one direction of one channel between two ranks.
#[derive(Clone, Debug)]
pub struct NetConnection {
    /// The communicator it belongs to.
    pub communicator: CommunicatorId,
    /// The rank that sends data.
    pub sender: Option<u32>,
    /// The rank that receives data.
    pub receiver: Option<u32>,
    /// The channel.
    pub channel: Option<u32>,
    /// What it was built for; `None` where only data was seen.
    pub graph: Option<Graph>,
    /// Its queue pairs, the first of which carries the CTS.
    pub queue_pairs: Vec<QueuePair>,
    /// The first CTS that was seen.
    pub first_cts: Option<Witness>,
    /// Its messages that answer a CTS, of those where a CTS was looked for.
    pub matched: u64,
    /// Its messages that no CTS was found for, though some were seen.
    pub unmatched: u64,
    /// Its messages in the order of their numbers.
    pub transfers: Vec<Transfer>,
    /// Clear-to-sends at its end that no data answered; `None` where there are none.
    pub unanswered: Option<Unanswered>,
    /// Reasons.
    pub evidence: Vec<Evidence>,
    /// How sure the ranks are.
    pub grade: Grade,
}

/// Clear-to-sends that no data answered until the capture ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unanswered {
    /// How many.
    pub count: u64,
    /// When the first of them passed.
    pub time: Timestamp,
    /// Its frame.
    pub witness: Witness,
}

/// Both ends of a queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueuePair {
    /// The address that sends data.
    pub sender: IpAddr,
    /// The sender's QPN: CTS and ACKs go to it; `None` where none were seen.
    pub sender_qpn: Option<Qpn>,
    /// The address that receives data.
    pub receiver: IpAddr,
    /// The receiver's QPN: data goes to it.
    pub receiver_qpn: Qpn,
}

/// One message of a connection: the data between two WRITE_WITH_IMM, and the CTS that asked for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transfer {
    /// Number on the connection: the CTS's `idx`, from 1, where it is known (see
    /// [`is_numbered`](Self::is_numbered)); else counted from 1 at the first that was seen.
    pub number: u64,
    /// The number is the CTS's own, so that messages which were not captured leave a hole.
    pub is_numbered: bool,
    /// Bytes on the wire; `None` if neither its first packet nor an immediate that says so was seen.
    pub bytes: Option<u64>,
    /// The CTS that asked for it.
    pub cts: Option<Cts>,
    /// First and last packet as the tap nearest to the sender saw them; `None` without such a tap.
    pub sent: Option<Span>,
    /// First and last packet as the tap nearest to the receiver saw them; `None` without such a tap.
    pub received: Option<Span>,
    /// Digest of its first bytes (`Message::head`).
    pub head: Option<u64>,
    /// Its data packets, resends not counted; 0 where they are not known.
    pub packets: u32,
    /// Its data packets that carry a CE mark, at the tap that saw most of them.
    pub ce_packets: u32,
    /// Place of its queue pair in [`NetConnection::queue_pairs`].
    pub queue_pair: u8,
    /// Its last frame.
    pub witness: Witness,
}

/// A clear-to-send: the receiver offers memory for the next message (NCCL `net_ib.cc`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cts {
    /// When it passed the tap nearest to the receiver, which sends it.
    pub posted: Option<Timestamp>,
    /// When it passed the tap nearest to the sender of data.
    pub arrived: Option<Timestamp>,
    /// Bytes that fit.
    pub capacity: u64,
    /// Receives that it stands for: 1 for collectives.
    pub requests: Option<u32>,
    /// Where the data shall go.
    pub address: u64,
    /// R_Key of that memory.
    pub remote_key: u32,
    /// The sender's rank in the topmost communicator.
    pub tag: Option<u32>,
}

/// A call of a collective as a log tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedCall {
    /// The communicator.
    pub communicator: CommunicatorId,
    /// The rank that called.
    pub rank: u32,
    /// NCCL's number of the call on this rank and communicator, from 0.
    pub number: u64,
    /// What was called.
    pub kind: CollectiveKind,
    /// Elements times the size of one, as the call counts them: of an AllGather what each rank
    /// sends, of a ReduceScatter what each rank receives.
    pub bytes: u64,
    /// Root of a broadcast or reduce; peer of a send or receive.
    pub root: u32,
    /// The line.
    pub witness: Witness,
}

impl Transfer {
    /// When its first packet passed, at the tap nearest to its sender that saw it.
    #[must_use]
    pub fn first_time(&self) -> Option<Timestamp> {
        self.sent.or(self.received).map(|span| span.first)
    }

    /// When its last packet passed, at the tap nearest to its receiver that saw it.
    #[must_use]
    pub fn last_time(&self) -> Option<Timestamp> {
        self.received.or(self.sent).map(|span| span.last)
    }
}

// A capture of a gigabyte has hundreds of thousands of them.
const _: () = assert!(size_of::<Transfer>() <= 168);
