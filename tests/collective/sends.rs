//! Groups of sends and receives as NCCL's proxies carry them (`src/enqueue.cc` `addP2pToPlan`,
//! `src/transport/net.cc` `recvProxyProgress`): parts on channels, chunks in shared slots.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use railscope_core::link::job::{
    Communicator, CommunicatorId, Cts, Identity, Job, NetConnection, QueuePairEnds, Rank, Transfer,
    Transport,
};
use railscope_core::model::grade::Grade;
use railscope_core::model::nccl::{Graph, Release};
use railscope_core::model::qpn::Qpn;
use railscope_core::model::tap::TapId;
use railscope_core::model::time::{Span, Timestamp};
use railscope_core::model::witness::Witness;

/// `NCCL_P2P_NET_CHUNKSIZE`.
const SLOT: u64 = 131_072;
const CHANNEL_SLOTS: u64 = 16;

/// Duration of a message, ns, and what a receiver takes to ask.
const MESSAGE_NS: u64 = 1000;
const ASK_NS: u64 = 100;

/// A job whose ranks only send and receive; each is on a host of its own.
pub struct Senders {
    pub job: Job,
    release: Release,
    channels: u32,
    places: BTreeMap<(u32, u32, u32), usize>,
    /// When each rank has finished its last group.
    free: Vec<u64>,
}

impl Senders {
    pub fn new(nranks: u32, channels: u32, release: Release) -> Self {
        let mut job = Job::default();
        let address = |rank: u32| IpAddr::from(Ipv4Addr::from(0x0a00_0001 + rank));
        let rank = |rank| Rank { address: Some(address(rank)), ..Rank::new(rank) };
        job.communicators.push(Communicator {
            identity: Identity::Inferred(0),
            log_hash: None,
            nranks: Some(nranks),
            release: Some(release),
            releases: None,
            root: None,
            parent: None,
            ranks: (0..nranks).map(rank).collect(),
            channels: Vec::new(),
            transport: Transport::Ib,
            bootstrap: None,
            evidence: Vec::new(),
            grade: Grade::Proven,
        });
        let mut places = BTreeMap::new();
        for channel in 0..channels {
            for (sender, receiver) in (0..nranks).flat_map(|a| (0..nranks).map(move |b| (a, b))) {
                if sender == receiver {
                    continue;
                }
                places.insert((channel, sender, receiver), job.connections.len());
                job.connections.push(NetConnection {
                    communicator: CommunicatorId(0),
                    sender: Some(sender),
                    receiver: Some(receiver),
                    channel: Some(channel),
                    graph: Some(Graph::PointToPoint),
                    queue_pairs: vec![QueuePairEnds {
                        sender: address(sender),
                        sender_qpn: None,
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
                });
            }
        }
        Self { job, release, channels, places, free: vec![1_000_000; nranks as usize] }
    }

    /// All ranks compute this long; `late` is late by as much again as the last group took.
    pub fn compute(&mut self, nanos: u64, late: Option<(u32, u64)>) {
        let start = self.free.iter().max().unwrap() + nanos;
        self.free.fill(start);
        if let Some((rank, nanos)) = late {
            self.free[rank as usize] += nanos;
        }
    }

    /// One group: sender, receiver, bytes of each send.
    pub fn group(&mut self, sends: &[(u32, u32, u64)]) {
        let begun = self.free.clone();
        let mut parts = Vec::new();
        for &(sender, receiver, bytes) in sends {
            let count = u64::from(self.channels).min(bytes.div_ceil(SLOT / 2)).max(1);
            let part = bytes.div_ceil(count).next_multiple_of(4096);
            let base = (sender + receiver) % self.channels;
            for number in 0..count {
                let channel = (base + number as u32) % self.channels;
                let own = bytes.min((number + 1) * part) - bytes.min(number * part);
                if own > 0 || bytes == 0 {
                    parts.push((channel, sender, receiver, own, chunk_of(bytes)));
                }
            }
        }
        for &(channel, sender, receiver, bytes, chunk) in &parts {
            let into = |part: &&(u32, u32, u32, u64, u64)| (part.0, part.2) == (channel, receiver);
            let connections = parts.iter().filter(into).count() as u64;
            let first = parts.iter().filter(into).position(|part| part.1 == sender).unwrap() as u64;
            let depth = 8.min(CHANNEL_SLOTS / connections);
            let asked = begun[receiver as usize] + ASK_NS * first;
            let ready = asked.max(begun[sender as usize]);
            let count = bytes.div_ceil(chunk).max(1);
            let place = self.places[&(channel, sender, receiver)];
            for message in 0..count {
                let slot = first + message % depth * connections;
                let address = SLOT * (u64::from(channel) * CHANNEL_SLOTS + slot);
                let own = chunk.min(bytes - message * chunk);
                let capacity = self.offer(bytes.min(chunk));
                let before = message.checked_sub(depth).map(|at| ready + (at + 2) * MESSAGE_NS);
                let asked = before.unwrap_or(asked + message);
                let begin = ready + (message + 1) * MESSAGE_NS;
                self.add(place, (own, capacity, address), asked, begin);
            }
            let end = ready + (count + 1) * MESSAGE_NS;
            for rank in [sender, receiver] {
                let free = &mut self.free[rank as usize];
                *free = end.max(*free);
            }
        }
    }

    fn offer(&self, own: u64) -> u64 {
        if self.release < Release::new(2, 29, 0) { own } else { SLOT }
    }

    fn add(&mut self, place: usize, sizes: (u64, u64, u64), asked: u64, begin: u64) {
        let (bytes, capacity, address) = sizes;
        let time = Timestamp::from_nanos;
        let transfers = &mut self.job.connections[place].transfers;
        let span = |delay| Span { first: time(begin + delay), last: time(begin + delay + 600) };
        let number = transfers.len() as u64 + 1;
        transfers.push(Transfer {
            number,
            is_numbered: true,
            bytes: Some(bytes),
            protocol: None,
            cts: Some(Cts {
                posted: Some(time(asked)),
                arrived: Some(time(asked + 10)),
                capacity,
                requests: Some(1),
                address,
                remote_key: 1,
                tag: None,
            }),
            sent: Some(span(0)),
            received: Some(span(10)),
            head: None,
            packets: 0,
            ce_packets: 0,
            queue_pair: 0,
            witness: Witness::Frame { tap: TapId(0), number, time: time(begin) },
        });
    }

    /// The job, without connections that carried nothing.
    pub fn finish(mut self) -> Job {
        self.job.connections.retain(|one| !one.transfers.is_empty());
        self.job
    }
}

/// Bytes of the chunks that a send of `bytes` is cut into.
const fn chunk_of(bytes: u64) -> u64 {
    match bytes {
        _ if bytes < SLOT => SLOT / 4,
        _ if bytes < 8 * SLOT => SLOT / 2,
        _ => SLOT,
    }
}
