//! Jobs in the form in which the linker delivers them, made by the forward model: collectives one
//! after the other, with clear-to-sends that run ahead as far as NCCL's proxies allow.

use std::net::{IpAddr, Ipv4Addr};

use railscope_core::analysis::collective::plan::{messages, ring_chunks, stream_chunks};
use railscope_core::analysis::collective::slicing::{LL_CAPACITY, Slicing};
use railscope_core::link::job::{
    Channel, Communicator, CommunicatorId, Cts, Identity, Job, NetConnection, QueuePairEnds,
    Transfer, Transport,
};
use railscope_core::model::grade::Grade;
use railscope_core::model::nccl::{CollectiveKind, Graph, Protocol, Release};
use railscope_core::model::qpn::Qpn;
use railscope_core::model::tap::TapId;
use railscope_core::model::time::{Span, Timestamp};
use railscope_core::model::witness::Witness;

/// A collective to send.
#[derive(Clone, Debug)]
pub struct Operation {
    pub kind: CollectiveKind,
    pub protocol: Protocol,
    /// Bytes of each channel's part, in the forward model's units.
    pub shares: Vec<u64>,
    /// The root of a Broadcast.
    pub root: u32,
}

/// A job of one communicator with one rank per node.
pub struct Cluster {
    nranks: u32,
    /// Largest message of a ring under Simple.
    simple_capacity: u64,
    job: Job,
    now: u64,
}

/// Duration of a message, ns.
const MESSAGE_NS: u64 = 1000;
/// Gap between two collectives, ns.
const PAUSE_NS: u64 = 50_000;

impl Cluster {
    pub fn new(nranks: u32, channels: u32, simple_capacity: u64) -> Self {
        let ring: Vec<u32> = (0..nranks).collect();
        let channel = |channel| Channel { channel: Some(channel), ring: ring.clone(), tree: None };
        let mut job = Job::default();
        job.communicators.push(Communicator {
            identity: Identity::Inferred(0),
            log_hash: None,
            nranks: Some(nranks),
            release: Some(Release::new(2, 27, 5)),
            releases: None,
            root: None,
            parent: None,
            ranks: Vec::new(),
            channels: (0..channels).map(channel).collect(),
            transport: Transport::Ib,
            bootstrap: None,
            evidence: Vec::new(),
            grade: Grade::Proven,
        });
        for channel in 0..channels {
            job.connections.extend((0..nranks).map(|rank| connection(channel, rank, nranks)));
        }
        Self { nranks, simple_capacity, job, now: 1_000_000 }
    }

    pub fn run(&mut self, operation: &Operation) {
        let mut end = self.now;
        for (channel, &share) in operation.shares.iter().enumerate() {
            for rank in 0..self.nranks {
                let Some((sizes, capacity)) = self.sizes(operation, share, rank) else { continue };
                let place = channel * self.nranks as usize + rank as usize;
                let skew = u64::from(rank) * 10;
                let transfers = &mut self.job.connections[place].transfers;
                end = end.max(send(transfers, &sizes, capacity, self.now + skew));
            }
        }
        self.now = end + PAUSE_NS;
    }

    pub fn pause(&mut self, nanos: u64) {
        self.now += nanos;
    }

    pub fn finish(self) -> Job {
        self.job
    }

    /// Message sizes on the connection from `rank` to the next rank, and the size that a
    /// clear-to-send offers.
    fn sizes(&self, operation: &Operation, share: u64, rank: u32) -> Option<(Vec<u64>, u64)> {
        let is_simple = operation.protocol == Protocol::Simple;
        if operation.kind == CollectiveKind::Broadcast {
            let capacity = if is_simple { self.simple_capacity / 2 } else { LL_CAPACITY };
            let slicing = Slicing::stream(operation.protocol, capacity);
            let is_into_root = (rank + 1) % self.nranks == operation.root;
            let sizes = messages(&stream_chunks(share, &slicing), &slicing, 1);
            return (!is_into_root).then_some((sizes, capacity));
        }
        let capacity = if is_simple { self.simple_capacity } else { LL_CAPACITY };
        let slicing = Slicing::ring(operation.protocol, capacity);
        let (nranks, position) = (u64::from(self.nranks), u64::from(rank));
        let chunks = ring_chunks(operation.kind, share, nranks, position, &slicing);
        let element = if operation.kind == CollectiveKind::AllGather { 1 } else { 4 };
        Some((messages(&chunks, &slicing, element), capacity))
    }
}

/// Sends messages from `start` on; returns when the last one has ended.
fn send(transfers: &mut Vec<Transfer>, sizes: &[u64], capacity: u64, start: u64) -> u64 {
    let time = Timestamp::from_nanos;
    // The receiver's buffer has eight steps; a message of a ring takes two under Simple.
    let window = 4;
    let begin = |message: u64| start + 2000 + message * MESSAGE_NS;
    for (message, bytes) in (0_u64..).zip(sizes) {
        let posted = message.checked_sub(window).map_or(start, |before| begin(before) + 700);
        let first = begin(message);
        let last = first + 600;
        let span = |delay| Span { first: time(first + delay), last: time(last + delay) };
        transfers.push(Transfer {
            number: transfers.len() as u64 + 1,
            is_numbered: true,
            bytes: Some(*bytes),
            protocol: None,
            cts: Some(Cts {
                posted: Some(time(posted)),
                arrived: Some(time(posted + 10)),
                capacity,
                requests: Some(1),
                address: 0,
                remote_key: 1,
                tag: None,
            }),
            sent: Some(span(0)),
            received: Some(span(10)),
            head: None,
            packets: 0,
            ce_packets: 0,
            queue_pair: 0,
            witness: Witness::Frame { tap: TapId(0), number: message + 1, time: time(last) },
        });
    }
    begin(sizes.len() as u64)
}

fn connection(channel: u32, rank: u32, nranks: u32) -> NetConnection {
    let address = |rank: u32| IpAddr::from(Ipv4Addr::from(0x0a00_0001 + rank));
    let receiver = (rank + 1) % nranks;
    NetConnection {
        communicator: CommunicatorId(0),
        sender: Some(rank),
        receiver: Some(receiver),
        channel: Some(channel),
        graph: Some(Graph::Ring),
        queue_pairs: vec![QueuePairEnds {
            sender: address(rank),
            sender_qpn: Some(Qpn::new(100 + channel)),
            receiver: address(receiver),
            receiver_qpn: Qpn::new(200 + channel),
        }],
        exchange: None,
        socket: None,
        first_cts: None,
        matched: 0,
        unmatched: 0,
        transfers: Vec::new(),
        unanswered: None,
        evidence: Vec::new(),
        grade: Grade::Proven,
    }
}
