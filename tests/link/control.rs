//! The control plane of real NCCL jobs, against `truth.json` of the jobs. The captures of as many
//! nodes as it takes to see every connection between two nodes.

use std::collections::{BTreeMap, BTreeSet};

use railscope_core::link::control::facts::{ControlFacts, Endpoint, Ring};
use railscope_core::model::nccl::Graph;
use serde_json::Value;

use crate::support::control;

/// A run: its facts and its truth.
struct Run {
    facts: ControlFacts,
    truth: Value,
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap()
}

fn hexadecimal(text: &str) -> u64 {
    u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap()
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().unwrap()
}

impl Run {
    fn new(name: &str) -> Self {
        let (captures, truth) = control::run(name);
        let plane = control::plane_of(&captures);
        assert_eq!(plane.counts(), Default::default(), "{name}: everything is decoded");
        Self { facts: plane.facts(), truth }
    }

    /// The communicator with a ring's magic.
    fn communicator(&self, ring: &Ring) -> &Value {
        let magic = ring.magic.unwrap();
        let is_it = |communicator: &&Value| {
            let by_magic = communicator["magic"].as_str().map(hexadecimal);
            // For child communicators (2.23 and later) the magic is the commHash.
            by_magic.unwrap_or_else(|| hexadecimal(text(communicator, "comm_hash"))) == magic
        };
        list(&self.truth, "communicators").iter().find(is_it).unwrap()
    }

    /// The node of a communicator's rank.
    fn node(&self, communicator: &Value, rank: u32) -> &Value {
        let world = &list(communicator, "ranks")[rank as usize];
        list(&self.truth, "nodes").iter().find(|node| &node["rank"] == world).unwrap()
    }

    /// Every element of every ring describes its rank, and together they cover all ranks.
    fn check_rings(&self, releases: &str) {
        let mut seen: BTreeMap<u64, BTreeSet<u32>> = BTreeMap::new();
        for ring in &self.facts.rings {
            let communicator = self.communicator(ring);
            let nranks = list(communicator, "ranks").len();
            assert_eq!(ring.nranks.unwrap() as usize, nranks);
            assert_eq!(ring.releases.to_string(), releases);
            let connector = self.node(communicator, ring.connector_rank.unwrap());
            assert_eq!(ring.connector.ip().to_string(), text(&connector["frontend"], "ip"));
            let is_child = !communicator["split_of"].is_null();
            let comm_hash = hexadecimal(text(communicator, "comm_hash"));
            assert!(ring.comm_hash.is_none_or(|hash| hash == comm_hash));
            let is_recent = ring.releases.first.code() >= 22_600;
            assert_eq!(ring.comm_hash.is_some(), is_recent && !is_child);
            for member in &ring.members {
                let node = self.node(communicator, member.rank);
                let listener = member.peer_listener.unwrap();
                assert_eq!(listener.ip().to_string(), text(&node["frontend"], "ip"));
                assert_eq!(member.bus_id.unwrap(), hexadecimal(text(node, "bus_id_packed")));
                let has_pid = ring.releases.first.code() >= 22_400 && !is_child;
                let pid = has_pid.then(|| node["pid"].as_u64().unwrap());
                assert_eq!(member.pid.map(u64::from), pid);
                let release = member.release.map(|release| release.to_string());
                assert!(release.is_none_or(|release| release == self.truth["nccl_version"]));
                let topology = member.topology.as_ref().unwrap();
                let channels = topology.ring_channels.max(topology.tree_channels) as usize;
                assert_eq!(topology.channels.len(), channels);
                let ranks = seen.entry(comm_hash).or_default();
                ranks.insert(member.rank);
            }
        }
        for communicator in list(&self.truth, "communicators") {
            let ranks = &seen[&hexadecimal(text(communicator, "comm_hash"))];
            assert_eq!(ranks.len(), list(communicator, "ranks").len());
        }
    }

    /// Check-ins name the root and the ring's listeners, which the root's replies name too.
    fn check_roots(&self) {
        let communicators = list(&self.truth, "communicators");
        let roots: BTreeSet<_> = communicators
            .iter()
            .filter(|communicator| communicator["split_of"].is_null())
            .map(|one| (hexadecimal(text(one, "magic")), text(one, "root_address").to_owned()))
            .collect();
        let check_ins = &self.facts.check_ins;
        let seen: BTreeSet<_> =
            check_ins.iter().map(|one| (one.magic.unwrap(), one.root.to_string())).collect();
        assert_eq!(seen, roots);
        let ring_listeners: BTreeSet<_> = self.facts.rings.iter().map(|r| r.listener).collect();
        for check_in in check_ins {
            let address = check_in.address;
            assert_eq!(check_in.root_listener.ip(), address);
            assert!(ring_listeners.contains(&check_in.ring_listener.unwrap()) || self.is_partial());
        }
        for reply in &self.facts.root_replies {
            let next = reply.next_ring_listener.unwrap();
            let asked = check_ins.iter().find(|one| one.root_listener == reply.root_listener);
            let Some(asked) = asked else { continue };
            let follower = (asked.rank + 1) % asked.nranks;
            let named = check_ins.iter().find(|one| one.ring_listener == Some(next));
            assert!(named.is_none_or(|named| named.rank == follower));
        }
    }

    /// Connections inside a node cannot be captured.
    fn is_partial(&self) -> bool {
        self.truth["nodes"].as_array().unwrap().iter().any(|node| node["rank"] == 3)
            && self.facts.rings.len() <= 4
    }

    /// Every connection has its queue pairs and a set-up message that names its listener.
    fn check_connections(&self, graphs: &[Graph]) {
        let communicators = list(&self.truth, "communicators");
        let mut seen = BTreeSet::new();
        for connection in list(&self.truth, "connections") {
            let ends = [text(connection, "oob_connector"), text(connection, "oob_listener")];
            let exchanges = self.facts.exchanges.iter().filter(|exchange| {
                [exchange.connector, exchange.listener].map(|end| end.to_string()) == ends
            });
            let communicator = &communicators[connection["comm"].as_u64().unwrap() as usize];
            let ranks = list(communicator, "ranks");
            let mut is_seen = false;
            for exchange in exchanges {
                is_seen = true;
                let sides = [(&exchange.sender, "sender"), (&exchange.receiver, "receiver")];
                for (endpoint, side) in sides {
                    check_endpoint(endpoint.as_ref().unwrap(), connection, side);
                }
                let setups: Vec<_> = self
                    .facts
                    .setups
                    .iter()
                    .filter(|setup| setup.listeners.contains(&Some(exchange.listener)))
                    .collect();
                assert!(!setups.is_empty(), "{ends:?}");
                for setup in setups {
                    let receiver = setup.from_rank as usize;
                    let sender = (receiver + ranks.len() - setup.distance as usize) % ranks.len();
                    assert_eq!(ranks[receiver], connection["receiver"]);
                    assert_eq!(ranks[sender], connection["sender"]);
                    assert!(graphs.contains(&setup.graph), "{:?}", setup.graph);
                    seen.insert(format!("{:?}", setup.graph));
                }
            }
            assert!(is_seen, "{ends:?}");
        }
        assert_eq!(seen.len(), graphs.len(), "{seen:?}");
    }
}

fn check_endpoint(endpoint: &Endpoint, connection: &Value, side: &str) {
    let qpns: Vec<_> = endpoint.queue_pairs.iter().map(|pair| pair.qpn.value().into()).collect();
    assert_eq!(&Value::Array(qpns), &connection[&format!("{side}_qpns")]);
    let address = text(connection, &format!("{side}_ip"));
    for pair in &endpoint.queue_pairs {
        assert_eq!(pair.address.unwrap().to_string(), address);
    }
    assert_eq!((endpoint.mtu, endpoint.fifo_keys.len()), (Some(4096), 1));
    assert!(endpoint.device_name.is_empty() || endpoint.device_name.starts_with("rxe"));
}

#[test]
fn release_2_18() {
    let run = Run::new("ring-2.18.6");
    run.check_rings("2.18 to 2.19");
    run.check_roots();
    run.check_connections(&[Graph::Ring, Graph::Tree]);
    let gathers = run.facts.rings[0].releases;
    let exchange = run.facts.exchanges[0].releases;
    assert_eq!(gathers.intersect(exchange).unwrap().to_string(), "2.18");
}

#[test]
fn release_2_21() {
    let run = Run::new("ring-2.21.5");
    run.check_rings("2.21");
    run.check_roots();
    run.check_connections(&[Graph::Ring, Graph::Tree]);
}

#[test]
fn two_queue_pairs_among_garbage() {
    let run = Run::new("qps2-2.21.5");
    run.check_rings("2.21");
    run.check_connections(&[Graph::Ring, Graph::Tree]);
}

#[test]
fn release_2_27() {
    let run = Run::new("ring-2.27.5");
    run.check_rings("2.27.5");
    run.check_roots();
    run.check_connections(&[Graph::Ring]);
    assert!(run.facts.ras_peers.iter().all(|peer| peer.release.to_string() == "2.27.5"));
    let listeners: BTreeSet<_> = run
        .facts
        .rings
        .iter()
        .flat_map(|ring| &ring.members)
        .collect::<Vec<_>>()
        .iter()
        .filter_map(|member| member.ras_listener)
        .collect();
    assert!(run.facts.ras_peers.iter().all(|peer| listeners.contains(&peer.address)));
}

#[test]
fn gathers_both_ways() {
    for (name, release) in [("ring-2.28.9", "2.28.9"), ("ring-2.30.7", "2.30.7")] {
        let run = Run::new(name);
        run.check_rings(release);
        run.check_roots();
        run.check_connections(&[Graph::Ring]);
    }
}

#[test]
fn addresses_of_queue_pairs_in_ipv6() {
    let run = Run::new("ipv6gid-2.27.5");
    run.check_rings("2.27.5");
    run.check_connections(&[Graph::Ring]);
}

#[test]
fn several_ranks_on_a_node() {
    for name in ["rails-2n2g2nic-2.27.5", "multigpu-2n2g-2.27.5"] {
        let run = Run::new(name);
        run.check_rings("2.27.5");
        run.check_roots();
        run.check_connections(&[Graph::Ring]);
    }
}

#[test]
fn a_split_in_two() {
    let run = Run::new("split-2.27.5");
    run.check_rings("2.27.5");
    run.check_roots();
    run.check_connections(&[Graph::Ring]);
    let parents = run.facts.rings.iter().filter(|ring| ring.nranks == Some(4));
    let mut count = 0;
    for parent in parents {
        count += 1;
        let [split] = &parent.splits[..] else { panic!("{:?}", parent.splits) };
        assert_eq!(split.requests.len(), 3);
        for request in &split.requests {
            let odd_or_even = (request.rank % 2) as i32;
            assert_eq!((request.color, request.key), (odd_or_even, Some(request.rank as i32)));
        }
    }
    assert!(count > 0);
}
