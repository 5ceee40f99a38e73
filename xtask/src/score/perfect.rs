//! For tests: a small job, and a perfect report about it.

use serde_json::{Value, json};

use super::matching::End;
use super::report::{
    Capture, Collective, CollectiveConnection, Communicator, Connection, Flow, Iteration, Owner,
    QueuePair, Rank, Report, Straggler, TcpStream,
};
use super::truth::{self, Truth};

const ORIGIN_NS: i64 = 1_000_000_000;
const LATE_NS: i64 = 50_000;

/// Four ranks in a ring, two of which split off; an AllReduce and an AllGather on all four, then an
/// AllReduce on the two.
pub(super) fn truth() -> Truth {
    let node = |rank: u32| {
        json!({
            "rank": rank, "hostname": format!("node-{rank}"), "pid": 100 + rank,
            "gpu_bus_id": "0000:1b:00.0", "frontend": { "ip": format!("192.168.0.{rank}") },
        })
    };
    let connection = |comm: u32, sender: u32, receiver: u32| {
        let qpn = 100 * comm + 10 * sender;
        json!({
            "comm": comm, "channel": 0, "sender": sender, "receiver": receiver,
            "sender_qpns": [qpn], "receiver_qpns": [qpn + 1],
            "sender_ip": format!("10.0.0.{sender}"), "receiver_ip": format!("10.0.0.{receiver}"),
            "oob_connector": format!("192.168.0.{sender}:{}", 5000 + qpn),
            "oob_listener": format!("192.168.0.{receiver}:{}", 6000 + qpn),
        })
    };
    let edge = |sender: u32, receiver: u32, start: i64, boundaries: &[u64]| {
        json!({
            "channel": 0, "sender": sender, "receiver": receiver, "messages": 6, "bytes": 6144,
            "proto": "SIMPLE", "phase_boundary_message_index": boundaries,
            "first_post_ns": ORIGIN_NS + start, "last_post_ns": ORIGIN_NS + start + 900_000,
        })
    };
    // In the first collective the GPU of rank 1 is late.
    let call = |rank: u32, start: i64| {
        let late_ns = if rank == 1 && start == 1_000_000 { LATE_NS } else { 0 };
        let enqueue_ns = ORIGIN_NS + start - 10_000;
        json!({ "rank": rank, "enqueue_ns": enqueue_ns, "start_ns": enqueue_ns + late_ns })
    };
    let collective = |comm: u32, seq: u64, op: &str, start: i64, edges: Vec<Value>| {
        json!({
            "comm": comm, "seq": seq, "op": op, "bytes": 1024, "algo": "RING", "proto": "SIMPLE",
            "end_ns": ORIGIN_NS + start + 950_000, "edges": edges, "iter": 1,
            "per_rank": (0..4).map(|rank| call(rank, start)).collect::<Vec<_>>(),
        })
    };
    let around = |start, boundaries: &[u64]| {
        (0..4).map(|rank| edge(rank, (rank + 1) % 4, start, boundaries)).collect()
    };
    let mut connections: Vec<Value> =
        (0..4).map(|rank| connection(0, rank, (rank + 1) % 4)).collect();
    connections.push(connection(1, 0, 2));
    let json = json!({
        "nccl_version": "2.27.5",
        "world_size": 4,
        "straggler": { "rank": 1, "iters": [1], "ms": 0.05 },
        "rank_env": { "3": { "EMU_SLICE_DELAY_US": "4000" } },
        "lost_frames": { "10.0.0.0->10.0.0.2": { "count": 1 } },
        "nodes": (0..4).map(node).collect::<Vec<_>>(),
        "tcpstore": { "server": "192.168.0.0:29500" },
        "communicators": [
            { "ranks": [0, 1, 2, 3], "magic": "0x10", "comm_hash": "0x0a0b",
              "root_address": "192.168.0.0:4000", "split_of": null },
            { "ranks": [0, 2], "magic": "0x20", "comm_hash": "0x0c0d",
              "root_address": null, "split_of": 0 },
        ],
        "connections": connections,
        "collectives": [
            collective(0, 0, "AllReduce", 1_000_000, around(1_000_000, &[3])),
            collective(0, 1, "AllGather", 2_000_000, around(2_000_000, &[])),
            collective(1, 0, "AllReduce", 3_000_000, vec![edge(0, 2, 3_000_000, &[3])]),
        ],
    });
    truth::document::parse(json.to_string().as_bytes()).unwrap()
}

/// An empty report.
pub(super) fn empty() -> Report {
    Report {
        capture: Capture { origin_ns: ORIGIN_NS.to_string() },
        flows: Vec::new(),
        tcp_streams: Vec::new(),
        communicators: Vec::new(),
        collectives: Vec::new(),
        iterations: Vec::new(),
    }
}

/// A perfect report.
pub(super) fn report() -> Report {
    let truth = truth();
    let communicators = (0..truth.communicators.len()).map(|at| communicator(&truth, at)).collect();
    let streams = truth.streams().into_iter().map(|stream| TcpStream {
        src: stream.connector.unwrap_or_else(|| "192.168.0.3:7000".into()),
        dst: stream.listener,
        kind: stream.kind.into(),
    });
    let ends = truth
        .connections()
        .flat_map(|connection| [true, false].map(|is_receiver| End { connection, is_receiver }));
    let flows = (0..).zip(ends).map(|(number, end)| flow(&truth, number, end));
    Report {
        flows: flows.collect(),
        tcp_streams: streams.collect(),
        communicators,
        collectives: truth.collectives.iter().map(|known| collective(&truth, known)).collect(),
        iterations: vec![Iteration { start_ns: 1_000_000, collective_ids: vec![0, 1, 2] }],
        ..empty()
    }
}

/// Gives the communicator at `place` another name wherever it is named.
pub(super) fn rename(report: &mut Report, place: usize, id: &str, id_kind: &str) {
    let communicator = &mut report.communicators[place];
    let before = std::mem::replace(&mut communicator.id, id.into());
    communicator.id_kind = id_kind.into();
    let parents = report.communicators.iter_mut().filter_map(|c| c.parent.as_mut());
    let owners =
        report.flows.iter_mut().filter_map(|flow| flow.owner.as_mut()?.communicator.as_mut());
    let collectives = report.collectives.iter_mut().map(|collective| &mut collective.communicator);
    for name in parents.chain(owners).chain(collectives).filter(|name| **name == before) {
        *name = id.into();
    }
}

fn id(truth: &Truth, at: usize) -> String {
    let hash = truth.communicators[at].comm_hash.as_ref().unwrap();
    hash.trim_start_matches("0x").into()
}

/// The number that a world rank has in the communicator at `at`.
fn rank_of(truth: &Truth, at: usize, world_rank: u32) -> Option<u32> {
    let mut numbers = (0..).zip(&truth.communicators[at].ranks);
    numbers.find(|(_, member)| **member == world_rank).map(|(number, _)| number)
}

fn communicator(truth: &Truth, at: usize) -> Communicator {
    let known = &truth.communicators[at];
    let rank = |(rank, &world_rank): (u32, &u32)| {
        let node = truth.node(world_rank).unwrap();
        Rank {
            rank,
            host: Some(node.hostname.clone()),
            address: Some(node.frontend.ip),
            pid: Some(node.pid),
            bus_id: Some(node.gpu_bus_id.clone()),
        }
    };
    let connections = truth.connections().zip(0..).filter(|(connection, _)| connection.comm == at);
    Communicator {
        id: id(truth, at),
        id_kind: "comm_hash".into(),
        nranks: Some(known.ranks.len() as u32),
        nccl_version: truth.nccl_version.clone(),
        root: known.root_address.clone(),
        parent: known.split_of.map(|parent| id(truth, parent)),
        ranks: (0..).zip(&known.ranks).map(rank).collect(),
        connections: connections.map(|(known, id)| connection(truth, known, id)).collect(),
    }
}

fn connection(truth: &Truth, known: &truth::Connection, id: u32) -> Connection {
    let rank = |world_rank| rank_of(truth, known.comm, world_rank);
    let queue_pair = |&dst_qpn: &u32| QueuePair { dst: known.receiver_ip, dst_qpn };
    Connection {
        id,
        sender: rank(known.sender),
        receiver: rank(known.receiver),
        channel: Some(known.channel),
        queue_pairs: known.receiver_qpns.iter().map(queue_pair).collect(),
    }
}

fn flow(truth: &Truth, number: u32, end: End<'_>) -> Flow {
    let known = end.connection;
    let (sender, receiver) = (known.sender_ip.to_string(), known.receiver_ip.to_string());
    let (src, dst, dest_qpn) = if end.is_receiver {
        (sender, receiver, known.receiver_qpns[0])
    } else {
        (receiver, sender, known.sender_qpns[0])
    };
    let rank = |world_rank| rank_of(truth, known.comm, world_rank);
    let owner = Owner {
        communicator: Some(id(truth, known.comm)),
        rank: rank(end.ranks().0),
        peer_rank: rank(end.ranks().1),
        channel: Some(known.channel),
        role: Some(end.role().into()),
        grade: "proven".into(),
    };
    Flow { id: number, src, dst, dest_qpn, first_ns: 0, owner: Some(owner) }
}

fn collective(truth: &Truth, known: &truth::Collective) -> Collective {
    let edges: Vec<_> = truth.network_edges(known).collect();
    let place = |edge: &truth::Edge| {
        let mut connections = truth.connections().zip(0..).filter(|(c, _)| c.comm == known.comm);
        connections.find(|(c, _)| c.sender == edge.sender).map_or(0, |(_, id)| id)
    };
    let connection = |edge: &&truth::Edge| CollectiveConnection {
        connection: place(edge),
        messages: edge.messages,
        bytes: edge.bytes,
        part_boundaries: edge.phase_boundary_message_index.clone(),
    };
    let start = edges.iter().map(|edge| edge.first_post_ns).min().unwrap();
    let end = edges.iter().map(|edge| edge.last_post_ns).max().unwrap();
    Collective {
        communicator: id(truth, known.comm),
        kind: known.op.name().into(),
        alternatives: Vec::new(),
        algorithm: "ring".into(),
        protocol: "simple".into(),
        bytes: Some(truth.bytes_of(known)),
        estimated: false,
        channels: known.channels(),
        start_ns: start - ORIGIN_NS,
        end_ns: end - ORIGIN_NS,
        ranks: Vec::new(),
        straggler: Some(straggler(known)),
        connections: edges.iter().map(connection).collect(),
    }
}

/// Rank 1 in the first collective, which is late; rank 3 takes data slowly in the second, and on
/// the connection of the third packets are lost.
fn straggler(known: &truth::Collective) -> Straggler {
    let named =
        |rank, lag_ns, cause: &str, flow| Straggler { rank, lag_ns, cause: cause.into(), flow };
    match (known.comm, known.seq) {
        (0, 0) => named(1, LATE_NS as u64, "compute", None),
        (0, _) => named(3, 1, "receiver", None),
        _ => named(0, 1, "loss", Some(8)),
    }
}
