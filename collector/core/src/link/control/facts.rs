//! Facts of the control plane, each with the frame that completed it. A fact seen at two taps is
//! listed twice.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU64;
use std::sync::Arc;

use foldhash::fast::FixedState;

use super::pool::Shared;
use super::store::StoreVisit;
use crate::decode::nccl::layout::ReleaseRange;
use crate::flow::tcp_stream::sink::{Advance, ConnectionId, StreamTotals, TcpConnection};
use crate::link::job::SocketStall;
use crate::link::traffic::series::Series;
use crate::model::nccl::{Graph, Protocol, Release, UniqueId};
use crate::model::qpn::Qpn;
use crate::model::time::Span;
use crate::model::witness::Witness;

/// Everything that was read from TCP streams.
#[derive(Clone, Debug, Default)]
pub struct ControlFacts {
    /// Unique ids in TCPStores.
    pub stored_ids: Vec<StoredId>,
    /// Check-ins of ranks at the root.
    pub check_ins: Vec<CheckIn>,
    /// The root's replies: where the next rank listens.
    pub root_replies: Vec<RootReply>,
    /// Bootstrap ring connections and their gathers.
    pub rings: Vec<Ring>,
    /// Transport set-up messages: which rank reaches which through which listener.
    pub setups: Vec<Setup>,
    /// NET/IB's exchanges of queue pairs.
    pub exchanges: Vec<Exchange>,
    /// NET/Socket data connections.
    pub sockets: Vec<SocketConnection>,
    /// RAS greetings, which name the release.
    pub ras_peers: Vec<RasPeer>,
    /// The TCP connections with a known dialect, in order of their numbers.
    pub streams: Vec<StreamFacts>,
}

impl ControlFacts {
    /// The ranks that the root's replies name, with the number of ranks: each reply gives a rank
    /// that has checked in where the next one listens.
    pub(in crate::link) fn next_ranks(&self) -> impl Iterator<Item = (u32, u32, &RootReply)> {
        let askers = self.check_ins.iter().map(|asker| ((asker.magic, asker.root_listener), asker));
        let askers: HashMap<_, &CheckIn, FixedState> = askers.collect();
        self.root_replies.iter().filter_map(move |reply| {
            let asker = askers.get(&(reply.magic, reply.root_listener))?;
            Some(((asker.rank + 1).checked_rem(asker.nranks)?, asker.nranks, reply))
        })
    }
}

/// A unique id written to or read from a TCPStore.
#[derive(Clone, Debug)]
pub struct StoredId {
    /// Where the TCPStore listens.
    pub store: SocketAddr,
    /// The client that wrote or read it.
    pub client: SocketAddr,
    /// The key that it is stored under.
    pub key: String,
    /// Whether the client wrote it: it created the communicator.
    pub is_set: bool,
    /// NCCL's unique id: magic and address of the root.
    pub id: UniqueId,
    /// The frame that completed it.
    pub witness: Witness,
}

/// A rank's message to the root (`extInfo`, NCCL `src/bootstrap.cc`).
#[derive(Clone, Debug)]
pub struct CheckIn {
    /// Magic of the unique id; `None` up to NCCL 2.15, which has none.
    pub magic: Option<u64>,
    /// Where the root listens: with the magic, the unique id.
    pub root: SocketAddr,
    /// The rank's address.
    pub address: IpAddr,
    /// Its rank in the communicator.
    pub rank: u32,
    /// Ranks of the communicator.
    pub nranks: u32,
    /// Index of the root; 0 if there is one.
    pub root_index: u32,
    /// Number of roots; 1 up to NCCL 2.22.
    pub root_count: u32,
    /// Where the rank expects the root's reply.
    pub root_listener: SocketAddr,
    /// Where the rank expects its predecessor in the ring.
    pub ring_listener: Option<SocketAddr>,
    /// Releases that match the message.
    pub releases: ReleaseRange,
    /// The frame that completed it.
    pub witness: Witness,
}

/// The root's reply to a rank.
#[derive(Clone, Debug)]
pub struct RootReply {
    /// Magic of the unique id.
    pub magic: Option<u64>,
    /// The root's address.
    pub root: IpAddr,
    /// The rank's listener: [`CheckIn::root_listener`].
    pub root_listener: SocketAddr,
    /// Where the next rank expects its predecessor: its [`CheckIn::ring_listener`].
    pub next_ring_listener: Option<SocketAddr>,
    /// The frame that completed it.
    pub witness: Witness,
}

/// One connection of a bootstrap ring, from a rank to the next, with its gathers. One connection
/// carries the elements of all ranks but one or two.
#[derive(Clone, Debug)]
pub struct Ring {
    /// Magic of the communicator; for a split child, its commHash (NCCL 2.23 and later).
    pub magic: Option<u64>,
    /// NCCL's commHash, if it follows from the gathers (2.26 and later, except for split children).
    pub comm_hash: Option<u64>,
    /// The rank that connected.
    pub connector: SocketAddr,
    /// The next rank's listener.
    pub listener: SocketAddr,
    /// Rank of the connector, if the gathers reveal it.
    pub connector_rank: Option<u32>,
    /// Number of ranks, if the gathers reveal it.
    pub nranks: Option<u32>,
    /// Each rank's data, by rank, ascending.
    pub members: Vec<Arc<Shared<RingMember>>>,
    /// Splits of this communicator: colour and key by rank.
    pub splits: Vec<Split>,
    /// Releases that match the gathers.
    pub releases: ReleaseRange,
    /// From the connection's first frame to the last frame of the topologies.
    pub span: Span,
    /// The frame of its first gather.
    pub witness: Witness,
}

/// One rank's data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct RingMember {
    /// Rank in the communicator.
    pub rank: u32,
    /// Its listener for messages between two ranks; its address is the rank's.
    pub peer_listener: Option<SocketAddr>,
    /// Its RAS listener (2.24 and later).
    pub ras_listener: Option<SocketAddr>,
    /// Process id in the rank's own PID namespace (2.24 and later).
    pub pid: Option<u32>,
    /// Its GPU, numbered by CUDA in the process.
    pub cuda_device: Option<u32>,
    /// Its GPU, numbered by NVML on the host.
    pub nvml_device: Option<u32>,
    /// Hash of host name and boot id, plus commHash: equal within a communicator on the same host.
    pub host_hash: Option<u64>,
    /// Hash of PID and PID namespace, plus commHash.
    pub pid_hash: Option<u64>,
    /// Packed PCI id of the GPU: domain, bus, device, function.
    pub bus_id: Option<u64>,
    /// Exact release (2.23 and later).
    pub release: Option<Release>,
    /// Its view of the communicator's topology.
    pub topology: Option<RankTopology>,
}

/// One rank's graph information (AllGather3, NCCL `src/init.cc`, `src/graph/connect.cc`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct RankTopology {
    /// Channels of the ring graph, before NCCL doubles them.
    pub ring_channels: u32,
    /// Channels of the tree graph, before NCCL doubles them.
    pub tree_channels: u32,
    /// Whether rings leave a node through another NIC than they enter it, on alternate nodes
    /// (`crossNic` 2, in 2.21 and later).
    pub crosses_nics: bool,
    /// Per channel, what this rank's node knows of it.
    pub channels: Vec<ChannelTopology>,
}

/// One channel as one rank's node sees it; ranks of the communicator, `None` if unset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ChannelTopology {
    /// Where the ring enters the node.
    pub ring_receive: Option<u32>,
    /// Where the ring leaves the node.
    pub ring_send: Option<u32>,
    /// The previous rank inside the node.
    pub ring_previous: Option<u32>,
    /// The next rank inside the node.
    pub ring_next: Option<u32>,
    /// Where the tree's edge to the parent node starts.
    pub tree_to_parent: Option<u32>,
    /// Where the tree's edge to the first child node starts.
    pub tree_to_child0: Option<u32>,
    /// Where the tree's edge to the second child node starts.
    pub tree_to_child1: Option<u32>,
}

/// One split of a communicator: the requests of every rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// Colour and key by rank, as far as captured.
    pub requests: Vec<SplitRequest>,
    /// The frame that completed it.
    pub witness: Witness,
}

/// A rank's request in a split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplitRequest {
    /// Rank in the parent.
    pub rank: u32,
    /// Ranks of one colour form a child; negative colours (`NCCL_SPLIT_NOCOLOR`) join none.
    pub color: i32,
    /// Orders the ranks of a child; `None` if only the colours were captured.
    pub key: Option<i32>,
}

/// A transport set-up message: a rank's ends of its connections with another.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Magic of the communicator.
    pub magic: Option<u64>,
    /// The listener it was sent to: a [`RingMember::peer_listener`].
    pub to: SocketAddr,
    /// Rank that sent it.
    pub from_rank: u32,
    /// Distance in ranks: the receiver of the data is this far behind the sender.
    pub distance: u32,
    /// The graph that the connections belong to.
    pub graph: Graph,
    /// By channel: where a NET connection's receiver listens; `None` for entries of other
    /// transports and of senders.
    pub listeners: Vec<Option<SocketAddr>>,
    /// The frame that completed it.
    pub witness: Witness,
}

/// NET/IB's exchange of queue pairs for one connection: the connector sends the data.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// The sender's end of the TCP connection.
    pub connector: SocketAddr,
    /// The receiver's end: one of [`Setup::listeners`].
    pub listener: SocketAddr,
    /// The sender's data, if it was captured.
    pub sender: Option<Endpoint>,
    /// The receiver's data, if it was captured.
    pub receiver: Option<Endpoint>,
    /// Releases that match the exchange.
    pub releases: ReleaseRange,
    /// The frame that completed it.
    pub witness: Witness,
}

/// One end of a NET/IB connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Endpoint {
    /// Its queue pairs in order: the i-th of one end is connected to the i-th of the other.
    pub queue_pairs: Vec<EndpointQueuePair>,
    /// Name of its (merged) device.
    pub device_name: String,
    /// Where the other end writes: for a sender, the CTS FIFO; for a receiver, sizes.
    pub fifo_address: u64,
    /// R_Keys of that memory, by device.
    pub fifo_keys: Vec<u32>,
    /// Path MTU in bytes.
    pub mtu: Option<u32>,
    /// Requested traffic class (2.26 and later).
    pub traffic_class: Option<i32>,
}

/// One queue pair of an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndpointQueuePair {
    /// Its number.
    pub qpn: Qpn,
    /// GID of its port, which for RoCEv2 is the IP address (IPv4-mapped for IPv4); `None` for
    /// InfiniBand.
    pub address: Option<IpAddr>,
}

/// One TCP connection of NET/Socket.
#[derive(Clone, Debug)]
pub struct SocketConnection {
    /// The sender's end.
    pub connector: SocketAddr,
    /// The receiver's end: one of [`Setup::listeners`].
    pub listener: SocketAddr,
    /// Index of the socket; the last one carries sizes.
    pub index: u8,
    /// Bytes that the sender sent.
    pub bytes: u64,
    /// First and last frame.
    pub span: Span,
    /// What it carries, read as messages. Where others carry the data of its connection, these are no
    /// messages.
    pub messages: Series<SocketMessage>,
    /// When the receiver took no more data: its window was 0.
    pub closed: Series<Span>,
    /// It stands still in the end.
    pub stall: Option<SocketStall>,
    /// Its payload, repetitions aside.
    pub advance: Option<Advance>,
    /// Messages after these could not be read.
    pub is_lost: bool,
    /// The frame that completed the greeting.
    pub witness: Witness,
}

/// A message of NET/Socket. 48 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketMessage {
    /// Its number on the connection, from 1.
    pub number: u64,
    /// From the first byte of its size to its last byte.
    pub span: Span,
    /// Its bytes, without the size before it.
    pub bytes: u32,
    /// Its protocol, as far as its first bytes show it.
    pub protocol: Option<Protocol>,
    /// Digest of its first bytes, as `Message::head`; `None` if they were not captured.
    pub head: Option<NonZeroU64>,
    /// Its last frame; saturates at 32 bits.
    pub frame: u32,
}

const _: () = assert!(size_of::<SocketMessage>() <= 48);

/// A RAS greeting.
#[derive(Clone, Debug)]
pub struct RasPeer {
    /// The process's RAS listener: a [`RingMember::ras_listener`].
    pub address: SocketAddr,
    /// Its NCCL release.
    pub release: Release,
    /// The frame that completed it.
    pub witness: Witness,
}

/// Purpose of a TCP connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StreamKind {
    /// PyTorch's TCPStore.
    TcpStore,
    /// NCCL's bootstrap: root, ring, and messages between two ranks.
    Bootstrap,
    /// NET/IB's exchange of queue pairs.
    IbOob,
    /// NET/Socket data.
    Socket,
    /// NCCL's RAS.
    Ras,
    /// NCCL's proxy service.
    Proxy,
    /// Anything else, or undecided.
    #[default]
    Other,
}

/// One TCP connection.
#[derive(Clone, Debug)]
pub struct StreamFacts {
    /// Its number.
    pub id: ConnectionId,
    /// Its purpose.
    pub kind: StreamKind,
    /// The magic it greeted with.
    pub magic: Option<u64>,
    /// Its ends.
    pub connection: TcpConnection,
    /// Its totals, once it has ended.
    pub totals: Option<StreamTotals>,
    /// Of a TCPStore: what the client did.
    pub visit: Option<StoreVisit>,
}
