//! The job: communicators, their ranks, and the connections between them.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};

use super::evidence::Evidence;
use crate::decode::nccl::layout::ReleaseRange;
use crate::flow::tcp_stream::sink::Advance;
use crate::model::grade::Grade;
use crate::model::nccl::{CollectiveKind, Graph, Protocol, Release};
use crate::model::qpn::Qpn;
use crate::model::queue_pair::{QueuePairKind, QueuePairState};
use crate::model::tap::TapId;
use crate::model::time::{Span, Timestamp};
use crate::model::witness::Witness;

/// Index of a communicator in [`Job::communicators`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommunicatorId(pub u32);

/// Index of a connection in [`Job::connections`].
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
    /// Owners of the flows, by index in the flow table.
    pub owners: Vec<Ownership>,
    /// Statements that contradict each other.
    pub conflicts: Vec<Conflict>,
    /// Messages of communicators that did not fit.
    pub dropped_communicators: u64,
    /// NET/Socket connections whose messages were not, or not all, read.
    pub unread_sockets: u64,
    /// NET/Socket connections that stand still, of ranks that are not known.
    pub stalled_strangers: Vec<SocketPair>,
    /// Communicators by the magic that they greet with.
    pub magics: BTreeMap<u64, CommunicatorId>,
    /// Communicators by where NET receivers listen for their senders.
    pub listeners: BTreeMap<SocketAddr, CommunicatorId>,
}

impl Job {
    /// Looks up a communicator.
    #[must_use]
    pub fn communicator(&self, id: CommunicatorId) -> Option<&Communicator> {
        self.communicators.get(id.0 as usize)
    }

    /// Looks up a communicator, to change it.
    pub fn communicator_mut(&mut self, id: CommunicatorId) -> Option<&mut Communicator> {
        self.communicators.get_mut(id.0 as usize)
    }

    /// Adds a communicator; returns its number.
    pub fn add_communicator(&mut self, communicator: Communicator) -> CommunicatorId {
        let id = CommunicatorId(self.communicators.len() as u32);
        self.communicators.push(communicator);
        id
    }

    /// Looks up a connection.
    #[must_use]
    pub fn connection(&self, id: NetConnectionId) -> Option<&NetConnection> {
        self.connections.get(id.0 as usize)
    }

    /// Owner of the flow at index `at` of the flow table; `None` if the table has no such flow.
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

/// The owner of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ownership {
    /// It belongs to a connection.
    Connection {
        /// Which.
        connection: NetConnectionId,
        /// Its direction.
        role: Role,
    },
    /// It belongs to none.
    Nobody(Reason),
}

/// Direction of a flow in a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// In the direction of the data.
    Data,
    /// Against the data: clear-to-sends and ACKs.
    Control,
}

/// Why a flow has no owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// Datagrams, which NCCL does not use.
    Datagrams,
    /// Nothing in it is NCCL's, and no exchange named its queue pair.
    NotNccl,
    /// It carries WRITE_WITH_IMM like NCCL's data, but no clear-to-send requested any of it.
    NoClearToSend,
    /// It carries what looks like clear-to-sends, but no data answers them.
    NoData,
    /// It carries the gathers of a bootstrap over NET/IB, of an unknown communicator.
    Bootstrap,
}

/// Two contradictory statements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Conflict {
    /// CTS tags name another sender than the control plane.
    Tag {
        /// The connection with these CTSs.
        connection: NetConnectionId,
        /// The sender's rank, as the control plane has it.
        expected: u32,
        /// The rank in the tags.
        tag: u32,
        /// Number of such CTSs.
        count: u64,
    },
    /// A log contradicts what was captured.
    Log {
        /// The communicator of the rank.
        communicator: CommunicatorId,
        /// The rank concerned.
        rank: u32,
        /// The fact.
        what: &'static str,
        /// What was captured.
        captured: String,
        /// What the log says.
        logged: String,
    },
}

/// What identifies a communicator, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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

/// A communicator and what is known of its ranks, channels and origin.
#[derive(Clone, Debug)]
pub struct Communicator {
    /// What names it in reports: hash, magic or a number.
    pub identity: Identity,
    /// `commId` in logs up to NCCL 2.25, which is not its commHash.
    pub log_hash: Option<u64>,
    /// Number of ranks, if known.
    pub nranks: Option<u32>,
    /// Its exact release; the lowest if ranks differ.
    pub release: Option<Release>,
    /// Releases that match its messages.
    pub releases: Option<ReleaseRange>,
    /// Where its root listens.
    pub root: Option<SocketAddr>,
    /// The communicator it was split from.
    pub parent: Option<CommunicatorId>,
    /// Known ranks, ascending.
    pub ranks: Vec<Rank>,
    /// Its channels with their rings and trees.
    pub channels: Vec<Channel>,
    /// What carries its data between hosts.
    pub transport: Transport,
    /// How its ranks found each other, if that was captured.
    pub bootstrap: Option<Bootstrap>,
    /// What shows that it exists.
    pub evidence: Vec<Evidence>,
    /// Certainty of its existence.
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
    /// No data was seen, and no log names the network.
    #[default]
    Unknown,
}

impl Transport {
    /// The name in reports and metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ib => "ib",
            Self::Socket => "socket",
            Self::Mixed => "mixed",
            Self::Unknown => "unknown",
        }
    }
}

/// How the ranks of a communicator found each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bootstrap {
    /// From the first check-in or gather to the end of the last gather.
    pub span: Span,
    /// The last rank to check in, of those captured.
    pub last_rank: Option<u32>,
}

/// A rank, with its process and ports.
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
    /// Ports that its data uses.
    pub nics: Vec<Nic>,
    /// Where other ranks of the communicator reach it during set-up.
    pub listener: Option<SocketAddr>,
    /// Hash of PID and PID namespace, plus commHash, which releases before 2.24 send instead of the
    /// PID.
    pub pid_hash: Option<u64>,
    /// Queue pairs of its process, if the process was watched.
    pub queue_pairs: Vec<RankQueuePair>,
    /// From the first to the last call of its process that requests data movement, if any was seen.
    pub communicated: Option<Span>,
    /// What shows that the rank is this process on this host.
    pub evidence: Vec<Evidence>,
    /// Certainty of all this.
    pub grade: Grade,
}

impl Rank {
    /// A rank with nothing else known.
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

    /// What identifies its host: the host's name, else an address.
    #[must_use]
    pub fn place(&self) -> Option<String> {
        let nic = || self.nics.first().map(|nic| nic.address.to_string());
        let address = || self.address.map(|address| address.to_string());
        self.host.clone().or_else(address).or_else(nic)
    }
}

/// A queue pair of a rank's process, from the process and its kernel, without any packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankQueuePair {
    /// RDMA device, such as `mlx5_0`; `None` if the kernel did not list it.
    pub device: Option<String>,
    /// Its QPN.
    pub number: Qpn,
    /// Its type.
    pub kind: Option<QueuePairKind>,
    /// Its state: as the kernel lists it, else the last one that the process requested.
    pub state: Option<QueuePairState>,
    /// The number at the other end.
    pub remote: Option<Qpn>,
    /// The address at the other end.
    pub remote_address: Option<IpAddr>,
    /// Certainty that it serves this communicator; that it belongs to the process is certain.
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

/// A channel: its ring and its tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channel {
    /// Its number, if known.
    pub channel: Option<u32>,
    /// The ring: each rank is followed by the rank that it sends to.
    pub ring: Vec<u32>,
    /// The tree, if known.
    pub tree: Option<Vec<TreeNode>>,
}

/// A rank's place in a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeNode {
    /// Rank in the communicator.
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
    /// The sending rank.
    pub sender: Option<u32>,
    /// The receiving rank.
    pub receiver: Option<u32>,
    /// The channel that it was built for; `None` if no source names it.
    pub channel: Option<u32>,
    /// Its graph; `None` if only data was seen.
    pub graph: Option<Graph>,
    /// Its queue pairs, the first of which carries the CTS; none over NET/Socket.
    pub queue_pairs: Vec<QueuePairEnds>,
    /// The TCP connection on which its queue pairs were exchanged, if that was captured: connector and listener.
    pub exchange: Option<(SocketAddr, SocketAddr)>,
    /// Its TCP connection, over NET/Socket.
    pub socket: Option<SocketPair>,
    /// The first CTS that was seen.
    pub first_cts: Option<Witness>,
    /// Messages that answer a CTS, among those for which one was searched.
    pub matched: u64,
    /// Messages without a CTS although some CTSs were captured.
    pub unmatched: u64,
    /// Its messages in order of their numbers.
    pub transfers: Vec<Transfer>,
    /// Unanswered clear-to-sends at its end, if any.
    pub unanswered: Option<Unanswered>,
    /// What shows which ranks it connects.
    pub evidence: Vec<Evidence>,
    /// Certainty of the ranks.
    pub grade: Grade,
}

impl NetConnection {
    /// Whether it carries data of collectives, and no bootstrap.
    #[must_use]
    pub fn carries_data(&self) -> bool {
        self.graph != Some(Graph::Bootstrap)
    }

    /// The two ends of the TCP connection that set it up or carries it, as far as that is known.
    #[must_use]
    pub fn stream(&self) -> Option<(SocketAddr, SocketAddr)> {
        self.exchange.or_else(|| self.socket.as_ref().map(|pair| (pair.sender, pair.receiver)))
    }

    /// The addresses that send and receive its data: of its first queue pair, or of its TCP
    /// connection.
    #[must_use]
    pub fn addresses(&self) -> Option<(IpAddr, IpAddr)> {
        let by_queue_pair = self.queue_pairs.first().map(|pair| (pair.sender, pair.receiver));
        let by_socket = || self.socket.as_ref().map(|pair| (pair.sender.ip(), pair.receiver.ip()));
        by_queue_pair.or_else(by_socket)
    }
}

/// The TCP connection of a NET/Socket connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SocketPair {
    /// The end that sends data.
    pub sender: SocketAddr,
    /// The end that receives data.
    pub receiver: SocketAddr,
    /// The tap that saw its data leave, if there is one next to the sender or for both ends.
    pub departure_tap: Option<TapId>,
    /// When the receiver took no more data, as its window was 0: disjoint, in order of time.
    pub closed: Vec<Span>,
    /// It stands still in the end.
    pub stall: Option<SocketStall>,
    /// Its payload, repetitions aside; also of messages that could not be read.
    pub advance: Option<Advance>,
    /// The tap whose view this is.
    pub tap: Option<TapId>,
    /// Some of its messages could not be read.
    pub is_lost: bool,
}

/// A TCP connection over which data moves no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketStall {
    /// When its window closed, or the first timer expired.
    pub since: Timestamp,
    /// How often data was sent again after a timeout, with no answer; 0: the receiver's window is 0.
    pub tries: u64,
    /// When the connection was closed; `None` if it is open.
    pub until: Option<Timestamp>,
}

/// Clear-to-sends that no data answered until the capture ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unanswered {
    /// Their number.
    pub count: u64,
    /// When the first of them passed.
    pub time: Timestamp,
    /// Its frame.
    pub witness: Witness,
}

/// Both ends of a queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueuePairEnds {
    /// The sending address.
    pub sender: IpAddr,
    /// The sender's QPN, the destination of CTS and ACKs; `None` without any.
    pub sender_qpn: Option<Qpn>,
    /// The receiving address.
    pub receiver: IpAddr,
    /// The receiver's QPN, the destination of data.
    pub receiver_qpn: Qpn,
}

/// One message of a connection: the data between two WRITE_WITH_IMM, and the CTS that requested it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transfer {
    /// Number on the connection: the CTS's `idx`, from 1, if known (see
    /// [`is_numbered`](Self::is_numbered)); else counted from the first captured message.
    pub number: u64,
    /// Whether the number is the CTS's own, so that uncaptured messages leave a gap.
    pub is_numbered: bool,
    /// Bytes on the wire; `None` if neither its first packet nor an immediate with its size was
    /// captured.
    pub bytes: Option<u64>,
    /// Its protocol, where its data shows it; over RDMA the CTS does.
    pub protocol: Option<Protocol>,
    /// The CTS that requested it.
    pub cts: Option<Cts>,
    /// First and last packet at the tap nearest to the sender, if there is one.
    pub sent: Option<Span>,
    /// First and last packet at the tap nearest to the receiver, if there is one.
    pub received: Option<Span>,
    /// Digest of its first bytes (`Message::head`).
    pub head: Option<u64>,
    /// Its data packets, without retransmissions; 0 if unknown.
    pub packets: u32,
    /// Its data packets that carry a CE mark, at the tap that saw most of them.
    pub ce_packets: u32,
    /// Index of its queue pair in [`NetConnection::queue_pairs`].
    pub queue_pair: u8,
    /// Its last frame.
    pub witness: Witness,
}

impl Transfer {
    /// A message of which only this is known yet.
    #[must_use]
    pub const fn new(number: u64, is_numbered: bool, witness: Witness) -> Self {
        Self {
            number,
            is_numbered,
            bytes: None,
            protocol: None,
            cts: None,
            sent: None,
            received: None,
            head: None,
            packets: 0,
            ce_packets: 0,
            queue_pair: 0,
            witness,
        }
    }
}

/// A clear-to-send: the receiver offers memory for the next message (NCCL `net_ib.cc`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cts {
    /// When it passed the tap nearest to the receiver, which sends it.
    pub posted: Option<Timestamp>,
    /// When it passed the tap nearest to the sender of data.
    pub arrived: Option<Timestamp>,
    /// Size of the offered memory.
    pub capacity: u64,
    /// Number of receives: 1 for collectives.
    pub requests: Option<u32>,
    /// Destination of the data.
    pub address: u64,
    /// R_Key of that memory.
    pub remote_key: u32,
    /// The sender's rank in the topmost communicator.
    pub tag: Option<u32>,
}

/// A logged call of a collective.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedCall {
    /// The communicator that it runs on.
    pub communicator: CommunicatorId,
    /// The rank that called.
    pub rank: u32,
    /// NCCL's number of the call on this rank and communicator, from 0.
    pub number: u64,
    /// What was called.
    pub kind: CollectiveKind,
    /// Elements times element size, as the call counts them: for AllGather a rank's input, for
    /// ReduceScatter a rank's output.
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
