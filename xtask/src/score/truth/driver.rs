//! The truth that `railscope drive` writes: `railscope.truth/1`, JSON lines.
//!
//! Read with types of its own: this file knows the contract, not the program.

use std::collections::BTreeMap;
use std::net::IpAddr;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::{
    AnyConnection, Collective, Communicator, Connection, Edge, Frontend, Node, Operation, Truth,
};

const SCHEMA: &str = "railscope.truth/1";

#[derive(Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
enum Record {
    Job(Job),
    Rank(Rank),
    Link(Link),
    Collective(Called),
    Call(Call),
    RingStep(RingStep),
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Job {
    schema: String,
    nccl_version: String,
    ranks: u32,
    store: String,
    magic: String,
    comm_hash: String,
    root: String,
}

#[derive(Deserialize)]
struct Rank {
    rank: u32,
    host: String,
    pid: u32,
    address: IpAddr,
    data_address: IpAddr,
    bus_id: String,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Role {
    Sender,
    Receiver,
}

#[derive(Deserialize)]
struct Link {
    rank: u32,
    peer: u32,
    role: Role,
    channel: u32,
    qpns: Vec<u32>,
    connector: Option<String>,
    listener: Option<String>,
}

#[derive(Deserialize)]
struct Called {
    sequence: u64,
    kind: Operation,
    algorithm: String,
    protocol: String,
    bytes: u64,
}

#[derive(Deserialize)]
struct Call {
    sequence: u64,
    end_ns: i64,
}

#[derive(Deserialize)]
struct RingStep {
    sequence: u64,
    rank: u32,
    role: Role,
    channel: u32,
    index: u32,
    part: String,
    messages: Vec<u64>,
    first_byte_ns: Option<i64>,
    last_byte_ns: i64,
}

/// The records of a file, by kind.
#[derive(Default)]
struct Records {
    job: Option<Job>,
    ranks: BTreeMap<u32, Rank>,
    /// By channel and rank.
    links: BTreeMap<(Role, u32, u32), Link>,
    collectives: BTreeMap<u64, Called>,
    end_ns: BTreeMap<u64, i64>,
    /// What was sent, by collective, channel and rank.
    sent: BTreeMap<(u64, u32, u32), Vec<RingStep>>,
}

/// Whether this is the driver's truth.
pub(super) fn is_driven(text: &[u8]) -> bool {
    let first = text.split(|&byte| byte == b'\n').next().unwrap_or_default();
    matches!(serde_json::from_slice(first), Ok(Record::Job(_)))
}

pub(super) fn parse(text: &[u8]) -> Result<Truth> {
    let text = std::str::from_utf8(text).context("the truth is no text")?;
    let mut records = Records::default();
    for (number, line) in text.lines().enumerate() {
        let record = serde_json::from_str(line);
        records.add(record.with_context(|| format!("line {} of the truth", number + 1))?)?;
    }
    records.into_truth()
}

impl Records {
    fn add(&mut self, record: Record) -> Result<()> {
        match record {
            Record::Job(job) => {
                ensure!(job.schema == SCHEMA, "the truth is {}, not {SCHEMA}", job.schema);
                self.job = Some(job);
            }
            Record::Rank(rank) => drop(self.ranks.insert(rank.rank, rank)),
            Record::Link(link) => {
                self.links.insert((link.role, link.channel, link.rank), link);
            }
            Record::Collective(called) => drop(self.collectives.insert(called.sequence, called)),
            Record::Call(call) => {
                let end_ns = self.end_ns.entry(call.sequence).or_insert(call.end_ns);
                *end_ns = call.end_ns.max(*end_ns);
            }
            Record::RingStep(chunk) if chunk.role == Role::Sender => {
                let lane = (chunk.sequence, chunk.channel, chunk.rank);
                self.sent.entry(lane).or_default().push(chunk);
            }
            Record::RingStep(_) | Record::Other => {}
        }
        Ok(())
    }

    fn into_truth(mut self) -> Result<Truth> {
        let job = self.job.take().context("the truth names no job")?;
        let connections = self.connections()?;
        let collectives = self.collectives(job.ranks, &connections);
        let node = |rank: &Rank| Node {
            rank: rank.rank,
            hostname: rank.host.clone(),
            pid: rank.pid,
            gpu_bus_id: rank.bus_id.clone(),
            frontend: Frontend { ip: rank.address },
        };
        Ok(Truth {
            nccl_version: Some(job.nccl_version),
            nodes: self.ranks.values().map(node).collect(),
            tcpstore: Some(super::Store { server: job.store }),
            world_size: job.ranks as usize,
            communicators: vec![Communicator {
                ranks: (0..job.ranks).collect(),
                magic: job.magic,
                comm_hash: Some(job.comm_hash),
                root_address: Some(job.root),
                split_of: None,
            }],
            connections: connections.into_iter().map(AnyConnection::Net).collect(),
            collectives,
            ..Truth::default()
        })
    }

    /// Those over RDMA.
    fn connections(&self) -> Result<Vec<Connection>> {
        let senders = self.links.values().filter(|link| link.role == Role::Sender);
        let over_rdma = senders.filter(|link| !link.qpns.is_empty());
        over_rdma.map(|sender| self.connection(sender)).collect()
    }

    fn connection(&self, sender: &Link) -> Result<Connection> {
        let missing = || format!("the truth lacks the other end of {}'s link", sender.rank);
        let receiver = self.links.get(&(Role::Receiver, sender.channel, sender.peer));
        let receiver = receiver.filter(|link| link.peer == sender.rank).with_context(missing)?;
        let ip = |rank: u32| {
            let rank = self.ranks.get(&rank).with_context(|| format!("no rank {rank}"))?;
            anyhow::Ok(rank.data_address)
        };
        Ok(Connection {
            comm: 0,
            channel: sender.channel,
            sender: sender.rank,
            receiver: receiver.rank,
            sender_qpns: sender.qpns.clone(),
            receiver_qpns: receiver.qpns.clone(),
            sender_ip: ip(sender.rank)?,
            receiver_ip: ip(receiver.rank)?,
            oob_connector: sender.connector.clone().unwrap_or_default(),
            oob_listener: receiver.listener.clone().unwrap_or_default(),
        })
    }

    fn collectives(&self, ranks: u32, connections: &[Connection]) -> Vec<Collective> {
        let collective = |called: &Called| {
            let edges = connections.iter().filter_map(|c| self.edge(called.sequence, c));
            // Here the truth counts what one rank contributes to an AllGather.
            let share = if called.kind == Operation::AllGather { u64::from(ranks) } else { 1 };
            Collective {
                comm: 0,
                seq: called.sequence,
                op: called.kind,
                bytes: called.bytes / share,
                algo: Some(called.algorithm.clone()),
                proto: Some(called.protocol.clone()),
                end_ns: self.end_ns.get(&called.sequence).copied().unwrap_or(0),
                edges: edges.collect(),
                ..Collective::default()
            }
        };
        self.collectives.values().map(collective).collect()
    }

    fn edge(&self, sequence: u64, connection: &Connection) -> Option<Edge> {
        let mut chunks: Vec<&RingStep> =
            self.sent.get(&(sequence, connection.channel, connection.sender))?.iter().collect();
        chunks.sort_by_key(|chunk| chunk.index);
        let mut boundaries = Vec::new();
        let mut messages = 0;
        let mut before: Option<&RingStep> = None;
        for chunk in &chunks {
            if before.is_some_and(|b| b.part == "reduce_scatter" && chunk.part == "all_gather") {
                boundaries.push(messages);
            }
            messages += chunk.messages.len() as u64;
            before = Some(chunk);
        }
        let posted = |chunk: &&RingStep| chunk.first_byte_ns.unwrap_or(chunk.last_byte_ns);
        Some(Edge {
            channel: connection.channel,
            sender: connection.sender,
            receiver: connection.receiver,
            messages,
            bytes: chunks.iter().flat_map(|chunk| &chunk.messages).sum(),
            proto: None,
            phase_boundary_message_index: boundaries,
            first_post_ns: chunks.iter().map(posted).min()?,
            last_post_ns: chunks.iter().map(|chunk| chunk.last_byte_ns).max()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{is_driven, parse};

    const TRUTH: &str = r#"{"record":"job","schema":"railscope.truth/1","nccl_version":"2.27.7","transport":"soft","network":"IB","ranks":2,"channels":1,"store":"10.0.0.1:29500","unique_id":"","magic":"0x1","comm_hash":"0x2","root":"10.0.0.1:4000"}
{"record":"rank","rank":0,"host":"a","pid":7,"address":"10.0.0.1","data_address":"10.0.0.1","interface":"eth0","device":"soft0","bus_id":"0000:1b:00.0"}
{"record":"rank","rank":1,"host":"b","pid":8,"address":"10.0.0.2","data_address":"10.0.0.2","interface":"eth0","device":"soft0","bus_id":"0000:1b:00.0"}
{"record":"link","rank":0,"peer":1,"role":"sender","channel":0,"qpns":[17],"peer_qpns":[18],"connector":"10.0.0.1:5","listener":"10.0.0.2:6"}
{"record":"link","rank":1,"peer":0,"role":"receiver","channel":0,"qpns":[18],"peer_qpns":[17],"connector":"10.0.0.1:5","listener":"10.0.0.2:6"}
{"record":"collective","sequence":0,"kind":"AllGather","algorithm":"ring","protocol":"simple","bytes":4096}
{"record":"compute","rank":0,"start_ns":1,"end_ns":2}
{"record":"call","sequence":0,"rank":0,"start_ns":10,"end_ns":50}
{"record":"call","sequence":0,"rank":1,"start_ns":10,"end_ns":60}
{"record":"ring_step","sequence":0,"rank":0,"role":"sender","channel":0,"index":1,"part":"all_gather","messages":[100,0],"first_byte_ns":30,"last_byte_ns":40}
{"record":"ring_step","sequence":0,"rank":0,"role":"sender","channel":0,"index":0,"part":"reduce_scatter","messages":[1000,1000],"first_byte_ns":20,"last_byte_ns":30}"#;

    #[test]
    fn lines_become_a_truth() {
        assert!(is_driven(TRUTH.as_bytes()) && !is_driven(b"{\"run\":\"ring\"}"));
        let truth = parse(TRUTH.as_bytes()).unwrap();
        let connection = truth.connections().next().unwrap();
        assert_eq!(
            (&connection.sender_qpns[..], &connection.receiver_qpns[..]),
            (&[17][..], &[18][..])
        );
        let collective = &truth.collectives[0];
        assert_eq!((truth.bytes_of(collective), collective.end_ns), (4096, 60));
        let edge = &collective.edges[0];
        assert_eq!((edge.messages, edge.bytes, edge.first_post_ns), (4, 2100, 20));
        assert_eq!(edge.phase_boundary_message_index, [2]);
    }

    #[test]
    fn a_link_with_one_end_is_refused() {
        let one_end: Vec<_> = TRUTH.lines().filter(|line| !line.contains("receiver\"")).collect();
        let error = parse(one_end.join("\n").as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), "the truth lacks the other end of 0's link");
    }
}
