//! Logs, against the truth recorded by the run's driver.

use std::collections::{BTreeMap, BTreeSet};

use railscope_core::decode::nccl::comm_hash;
use railscope_core::decode::nccl::hash::CharSign;
use railscope_core::link::job::{Communicator, CommunicatorId, Identity, Transport};
use railscope_core::link::log::process::QueuePairFact;
use railscope_core::link::log::{LinkedLogs, LogFacts};
use railscope_core::model::nccl::{CollectiveKind, Graph, Release, UniqueId};
use serde::Deserialize;

use super::{RUNS, facts, log};
use crate::support::fixture;

#[derive(Deserialize)]
struct Truth {
    nccl_version: String,
    nodes: Vec<Node>,
    communicators: Vec<TrueCommunicator>,
    connections: Vec<TrueConnection>,
    /// Communicator, function, bytes, ranks.
    collectives: Vec<(usize, String, u64, Vec<u32>)>,
}

/// A connection; an array in JSON.
#[derive(Deserialize)]
struct TrueConnection {
    communicator: usize,
    channel: u32,
    index: u32,
    sender: u32,
    receiver: u32,
    sender_address: String,
    sender_qpns: Vec<u32>,
}

#[derive(Deserialize)]
struct Node {
    rank: u32,
    hostname: String,
    pid: u32,
    bus_id: String,
    address: String,
}

#[derive(Deserialize)]
struct TrueCommunicator {
    ranks: Vec<u32>,
    unique_id: String,
    comm_hash: String,
    split_of: Option<usize>,
    channels: Vec<TrueChannel>,
}

#[derive(Deserialize)]
struct TrueChannel {
    id: u32,
    ring: Vec<u32>,
    tree: BTreeMap<u32, TrueNode>,
}

#[derive(Deserialize, PartialEq, Debug)]
struct TrueNode {
    up: i64,
    down: Vec<u32>,
}

/// A run's truth, the facts from its logs, and which communicators correspond.
struct Run {
    truth: Truth,
    logs: LinkedLogs,
    facts: LogFacts,
    places: Vec<usize>,
}

impl Run {
    fn new(name: &str) -> Self {
        let truth = std::fs::read(fixture::path(&format!("logs/{name}.truth.json"))).unwrap();
        let truth: Truth = serde_json::from_slice(&truth).unwrap();
        let text = log(&format!("{name}.log.gz"));
        let facts = facts(text.split(|byte| *byte == b'\n'));
        let logs = facts.link();
        let place = |one: &TrueCommunicator| {
            let is_it = |known: &&Communicator| {
                let pids = known.ranks.iter().map(|rank| rank.pid.unwrap());
                let true_pids = one.ranks.iter().map(|rank| truth.nodes[*rank as usize].pid);
                pids.eq(true_pids) && known.parent.is_some() == one.split_of.is_some()
            };
            logs.job.communicators.iter().position(|known| is_it(&known)).unwrap()
        };
        let places = truth.communicators.iter().map(place).collect();
        Self { truth, logs, facts, places }
    }

    /// Each communicator in the truth and in the logs.
    fn communicators(&self) -> impl Iterator<Item = (usize, &TrueCommunicator, &Communicator)> {
        let found = self.places.iter().map(|place| &self.logs.job.communicators[*place]);
        let pairs = self.truth.communicators.iter().zip(found).enumerate();
        pairs.map(|(at, (truth, found))| (at, truth, found))
    }

    fn id(&self, at: usize) -> CommunicatorId {
        CommunicatorId(self.places[at] as u32)
    }
}

fn runs() -> impl Iterator<Item = (&'static str, Run)> {
    RUNS.into_iter().map(|name| (name, Run::new(name)))
}

#[test]
fn communicators_and_their_names() {
    for (name, run) in runs() {
        assert_eq!(run.logs.job.communicators.len(), run.truth.communicators.len(), "{name}");
        for (_, truth, found) in run.communicators() {
            let release = found.release.unwrap();
            assert_eq!(release.to_string(), run.truth.nccl_version, "{name}");
            let expected = if release < Release::new(2, 26, 0) {
                let id = hex(&truth.unique_id).try_into().unwrap();
                Identity::LogHash(comm_hash::logged_id(&UniqueId(id), CharSign::Signed))
            } else {
                let hash = truth.comm_hash.trim_start_matches("0x");
                Identity::CommHash(u64::from_str_radix(hash, 16).unwrap())
            };
            assert_eq!(found.identity, expected, "{name}");
            assert_eq!(found.parent, truth.split_of.map(|parent| run.id(parent)), "{name}");
            assert_eq!(found.nranks, Some(truth.ranks.len() as u32), "{name}");
            assert_eq!(found.transport, Transport::Ib, "{name}");
        }
    }
}

fn hex(digits: &str) -> Vec<u8> {
    let pairs = digits.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
    pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}

#[test]
fn ranks_are_processes() {
    for (name, run) in runs() {
        for (_, truth, found) in run.communicators() {
            for (place, (rank, top_rank)) in found.ranks.iter().zip(&truth.ranks).enumerate() {
                let node = &run.truth.nodes[*top_rank as usize];
                assert_eq!((rank.rank, rank.top_rank), (place as u32, Some(node.rank)), "{name}");
                assert_eq!(rank.host.as_deref(), Some(node.hostname.as_str()), "{name}");
                assert_eq!(rank.address.unwrap().to_string(), node.address, "{name}");
                let bus = rank.bus_id.unwrap();
                let bus_id = format!(
                    "{:04x}:{:02x}:{:02x}.{}",
                    bus >> 20,
                    bus >> 12,
                    bus >> 4 & 0xff,
                    bus & 0xf
                );
                assert_eq!(bus_id, node.bus_id, "{name}");
            }
        }
    }
}

#[test]
fn rings_and_trees() {
    for (name, run) in runs() {
        for (_, truth, found) in run.communicators() {
            let top = |rank: &u32| truth.ranks[*rank as usize];
            assert_eq!(found.channels.len(), truth.channels.len(), "{name}");
            for (channel, found) in truth.channels.iter().zip(&found.channels) {
                assert_eq!(found.channel, Some(channel.id), "{name}");
                let ring: Vec<u32> = found.ring.iter().map(top).collect();
                assert_eq!(ring, channel.ring, "{name}");
                let nodes = found.tree.as_ref().unwrap().iter().map(|node| {
                    let mut down: Vec<u32> = node.down.iter().map(top).collect();
                    down.sort_unstable();
                    let up = node.up.as_ref().map_or(-1, |up| i64::from(top(up)));
                    (top(&node.rank), TrueNode { up, down })
                });
                let mut tree: BTreeMap<u32, TrueNode> = BTreeMap::new();
                for (rank, node) in &channel.tree {
                    let mut down = node.down.clone();
                    down.sort_unstable();
                    tree.insert(*rank, TrueNode { up: node.up, down });
                }
                assert_eq!(nodes.collect::<BTreeMap<_, _>>(), tree, "{name}");
            }
        }
    }
}

#[test]
fn connections_and_queue_pairs() {
    for (name, run) in runs() {
        for (at, communicator, _) in run.communicators() {
            let truth = run.truth.connections.iter();
            let truth: BTreeSet<_> = truth
                .filter(|connection| connection.communicator == at)
                .map(|one| (one.channel, one.index == 1, one.sender, one.receiver))
                .collect();
            let found = run.logs.job.connections.iter();
            let found = found.filter(|connection| connection.communicator == run.id(at));
            let found: BTreeSet<_> = found
                .map(|connection| {
                    assert_eq!(connection.evidence[0].count, 2, "{name}: both ends print it");
                    let top = |rank: Option<u32>| communicator.ranks[rank.unwrap() as usize];
                    let is_point_to_point = connection.graph == Some(Graph::PointToPoint);
                    let (sender, receiver) = (top(connection.sender), top(connection.receiver));
                    (connection.channel.unwrap(), is_point_to_point, sender, receiver)
                })
                .collect();
            assert_eq!(found, truth, "{name}");
        }
        for connection in &run.truth.connections {
            let node = &run.truth.nodes[connection.sender as usize];
            let process = run.facts.processes.iter().find(|process| process.pid == node.pid);
            let address = &connection.sender_address;
            for qpn in &connection.sender_qpns {
                let is_it = |pair: &&QueuePairFact| {
                    pair.qpn.value() == *qpn && pair.address == address.parse().ok()
                };
                let pair = process.unwrap().queue_pairs.iter().find(is_it);
                assert!(pair.is_some(), "{name}: queue pair {qpn} of {address}");
            }
        }
    }
}

#[test]
fn calls() {
    for (name, run) in runs() {
        for (at, communicator, _) in run.communicators() {
            let nranks = communicator.ranks.len() as u64;
            for (rank, top_rank) in (0..).zip(&communicator.ranks) {
                let truth = run.truth.collectives.iter();
                let truth = truth.filter(|(of, _, _, ranks)| *of == at && ranks.contains(top_rank));
                let truth: Vec<(CollectiveKind, u64)> = truth
                    .flat_map(|(_, function, bytes, _)| true_calls(function, *bytes, nranks))
                    .collect();
                let calls = run.logs.job.calls.iter();
                let calls =
                    calls.filter(|call| call.communicator == run.id(at) && call.rank == rank);
                let calls: Vec<(CollectiveKind, u64)> =
                    calls.map(|call| (call.kind, call.bytes)).collect();
                assert_eq!(calls, truth, "{name} rank {rank}");
            }
        }
    }
}

/// The sizes that NCCL logs for a collective: for a ReduceScatter one rank's part, for an AlltoAll
/// each send and receive.
fn true_calls(function: &str, bytes: u64, nranks: u64) -> Vec<(CollectiveKind, u64)> {
    match function {
        "AllReduce" => vec![(CollectiveKind::AllReduce, bytes)],
        "ReduceScatter" => vec![(CollectiveKind::ReduceScatter, bytes / nranks)],
        "AlltoAll" => vec![(CollectiveKind::SendRecv, bytes); 2 * nranks as usize],
        other => panic!("{other}"),
    }
}

#[test]
fn nothing_is_unknown_or_dropped() {
    for (name, run) in runs() {
        assert_eq!(run.facts.health.iter().collect::<Vec<_>>(), [], "{name}");
        assert!(run.facts.unparsed.is_empty(), "{name}");
    }
}
