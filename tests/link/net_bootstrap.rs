//! A job whose bootstrap runs over NET/IB (`NCCL_OOB_NET_ENABLE`): its ring looks like data, and no
//! rank says on TCP who it is but to the root.
//!
//! Built from the formats of NCCL 2.27 with the driver's encoders: check-ins, replies of the root,
//! the exchanges and gathers of the ring, then the set-up of a data ring and AllReduces on it.

use std::net::SocketAddr;

use railscope_drive::release::Release;
use railscope_drive::wire::check_in::CheckIn;
use railscope_drive::wire::cts::{self, Cts};
use railscope_drive::wire::greeting::{self, SOCKET_MAGIC, SocketType};
use railscope_drive::wire::ib_metadata::{self, IbDevice, IbMetadata, QueuePair};
use railscope_drive::wire::{connect_entry, ib_handle, root_reply};
use serde_json::Value;

use crate::support::frame::{Built, FrameBuilder};
use crate::support::ip::{Ipv4, internet_checksum};
use crate::support::roce::Roce;
use crate::support::{pcap, railscope};

const RELEASE: Release = Release::V2_27_7;
const MAGIC: u64 = 0x0bad_cafe_1234_5678;
const ROOT: u16 = 41_000;

const WRITE_ONLY: u8 = 0x0a;
const WRITE_ONLY_WITH_IMMEDIATE: u8 = 0x0b;

/// Bytes of the gathers of 2.27: addresses, PeerInfo, topology and, at the first collective, two
/// flags.
const GATHERS: [u32; 4] = [120, 120, 2288, 2];

/// Bytes of a chunk of the AllReduces: each of 2 (n - 1) chunks is two messages, the second empty.
const CHUNK: u32 = 4096;

/// The frames of all hosts, each of which is captured at both of its ends.
struct Scene {
    ranks: u32,
    frames: Vec<Built>,
    next_port: u16,
}

/// A TCP connection with the bytes that each side has sent.
struct Line {
    ends: [SocketAddr; 2],
    sent: [u32; 2],
}

/// One direction between two ranks: what the exchange named.
struct Edge {
    from: u32,
    to: u32,
    qpns: [u32; 2],
    fifo: (u64, u32),
    buffer: (u64, u32),
    asked: u64,
    sent: u64,
    psns: [u32; 2],
}

impl Edge {
    /// The slot that message `number` goes to, and its key.
    fn room(&self, number: u64) -> (u64, u32) {
        (self.buffer.0 + (number - 1) % 8 * 0x8_0000, self.buffer.1)
    }
}

fn front(rank: u32) -> [u8; 4] {
    [192, 168, 0, rank as u8 + 1]
}

fn rail(rank: u32) -> [u8; 4] {
    [10, 0, 0, rank as u8 + 1]
}

fn ring_listener(rank: u32) -> SocketAddr {
    (front(rank), 42_000 + rank as u16).into()
}

impl Scene {
    fn new(ranks: u32) -> Self {
        Self { ranks, frames: Vec::new(), next_port: 50_000 }
    }

    fn open(&mut self, from: u32, to: SocketAddr) -> Line {
        self.next_port += 1;
        let mut line = Line { ends: [(front(from), self.next_port).into(), to], sent: [1000; 2] };
        self.segment(&mut line, 0, 0x02, &[]);
        self.segment(&mut line, 1, 0x12, &[]);
        line.sent = [1001; 2];
        line
    }

    fn say(&mut self, line: &mut Line, side: usize, bytes: &[u8]) {
        for piece in bytes.chunks(1400) {
            self.segment(line, side, 0x18, piece);
        }
    }

    fn segment(&mut self, line: &mut Line, side: usize, flags: u8, bytes: &[u8]) {
        let [from, to] = [line.ends[side], line.ends[1 - side]];
        let mut header = [from.port().to_be_bytes(), to.port().to_be_bytes()].concat();
        header.extend(line.sent[side].to_be_bytes());
        header.extend(line.sent[1 - side].to_be_bytes());
        header.extend([0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
        header.extend(bytes);
        line.sent[side] += bytes.len() as u32;
        let octets = |end: SocketAddr| match end {
            SocketAddr::V4(end) => end.ip().octets(),
            SocketAddr::V6(_) => unreachable!("the scene has IPv4"),
        };
        let (source, destination) = (octets(from), octets(to));
        let ip = Ipv4 { source, destination, ..Ipv4::default() };
        let mut built = FrameBuilder::ethernet().ipv4(&ip).bytes(&header).finish();
        let ip = &mut built.bytes[14..34];
        ip[9] = 6;
        ip[10..12].fill(0);
        let sum = internet_checksum(ip).to_be_bytes();
        ip[10..12].copy_from_slice(&sum);
        self.frames.push(built);
    }

    /// A connection of the bootstrap that carries these frames.
    fn bootstrap(&mut self, from: u32, to: SocketAddr, frames: &[&[u8]]) {
        let mut line = self.open(from, to);
        let (magic, kind) = greeting::encode(MAGIC, SocketType::Bootstrap);
        self.say(&mut line, 0, &[&magic[..], &kind[..]].concat());
        for frame in frames {
            self.say(&mut line, 0, &(frame.len() as u32).to_le_bytes());
            self.say(&mut line, 0, frame);
        }
        self.segment(&mut line, 0, 0x11, &[]);
    }

    /// What the root hears and says. It is on the host of rank 0, whose check-in is on no wire.
    fn check_in(&mut self) {
        let ranks = self.ranks;
        let root = (front(0), ROOT).into();
        for rank in 1..ranks {
            let root_listener = (front(rank), 43_000).into();
            let check_in =
                CheckIn { rank, ranks, root_listener, ring_listener: ring_listener(rank) };
            self.bootstrap(rank, root, &[&check_in.encode(RELEASE)]);
        }
        for rank in 1..ranks {
            let next = root_reply::encode(ring_listener((rank + 1) % ranks), RELEASE);
            self.bootstrap(0, (front(rank), 43_000).into(), &[&next]);
        }
    }

    /// NET/IB's exchange of queue pairs with a listener of rank `to`.
    fn exchange(&mut self, from: u32, to: u32, listener: SocketAddr, number: u32) -> Edge {
        let base = 0x7f00_0000_0000 + u64::from(number) * 0x100_0000;
        let edge = Edge {
            from,
            to,
            qpns: [1000 + number * 2, 1001 + number * 2],
            fifo: (base, 7000 + number),
            buffer: (base + 0x80_0000, 8000 + number),
            asked: 0,
            sent: 0,
            psns: [0; 2],
        };
        let metadata = |rank: u32, qpn: u32, (address, rkey): (u64, u32)| {
            let mut gid = [0; 16];
            gid[10..12].fill(0xff);
            gid[12..].copy_from_slice(&rail(rank));
            let (lid, port, link_layer) = (0, 1, ib_metadata::ETHERNET);
            let mtu = ib_metadata::mtu_code(4096);
            IbMetadata {
                queue_pairs: vec![QueuePair { qpn, device: 0 }],
                devices: vec![IbDevice { lid, port, mtu, link_layer, gid, rkey }],
                name: "mlx5_0".to_owned(),
                address,
                traffic_class: 0,
                service_level: 0,
            }
            .encode(RELEASE)
        };
        let mut line = self.open(from, listener);
        let (magic, kind) = greeting::encode(SOCKET_MAGIC, SocketType::NetIb);
        self.say(&mut line, 0, &[&magic[..], &kind[..]].concat());
        self.say(&mut line, 0, &ib_metadata::device_list(1));
        self.say(&mut line, 1, &ib_metadata::device_list(1));
        self.say(&mut line, 0, &metadata(from, edge.qpns[0], edge.fifo));
        self.say(&mut line, 1, &metadata(to, edge.qpns[1], (edge.buffer.0 + 0x40_0000, 1)));
        self.say(&mut line, 0, &1_u32.to_le_bytes());
        edge
    }

    /// The receiver asks for `capacity` bytes with this tag.
    fn ask(&mut self, edge: &mut Edge, capacity: u32, tag: u32) {
        edge.asked += 1;
        let (address, rkey) = edge.room(edge.asked);
        let asked = Cts { address, size: capacity, rkey, tag, index: edge.asked };
        let slot = (edge.fifo.0 + Cts::offset(asked.index), edge.fifo.1);
        let bytes = asked.encode(RELEASE)[..cts::BYTES].to_vec();
        let request = write(WRITE_ONLY, edge.qpns[0], edge.psns[1], bytes, slot);
        self.packet(edge.to, edge.from, &request);
        self.answer((edge.from, edge.to), edge.qpns[1], edge.psns[1]);
        edge.psns[1] += 1;
    }

    fn send(&mut self, edge: &mut Edge, bytes: u32) {
        let payload = vec![0x5a; bytes as usize];
        edge.sent += 1;
        let (qpn, room) = (edge.qpns[1], edge.room(edge.sent));
        let data = write(WRITE_ONLY_WITH_IMMEDIATE, qpn, edge.psns[0], payload, room);
        self.packet(edge.from, edge.to, &data);
        self.answer((edge.to, edge.from), edge.qpns[0], edge.psns[0]);
        edge.psns[0] += 1;
    }

    fn answer(&mut self, (from, to): (u32, u32), dest_qpn: u32, psn: u32) {
        let answer = Roce { dest_qpn, psn, syndrome: 0x1f, msn: psn + 1, ..Roce::new(0x11, 0) };
        self.packet(from, to, &answer);
    }

    fn packet(&mut self, from: u32, to: u32, packet: &Roce) {
        let ip = Ipv4 { source: rail(from), destination: rail(to), ..Ipv4::default() };
        let frame = FrameBuilder::ethernet().ipv4(&ip).udp(49_152, 4791).roce(packet).finish();
        self.frames.push(frame);
    }

    /// The bootstrap's ring and its gathers: the tag is the step.
    fn gather(&mut self) {
        let ranks = self.ranks;
        let mut edges: Vec<Edge> = (0..ranks)
            .map(|rank| {
                let next = (rank + 1) % ranks;
                self.exchange(rank, next, ring_listener(next), rank)
            })
            .collect();
        for bytes in GATHERS {
            for ring_step in 0..ranks - 1 {
                for edge in &mut edges {
                    self.ask(edge, bytes, ring_step);
                    self.send(edge, bytes);
                }
            }
        }
    }

    /// A data ring and two AllReduces on it: the tag is the sender's rank.
    fn reduce(&mut self) {
        let ranks = self.ranks;
        let mut edges = Vec::new();
        for rank in 0..ranks {
            let next = (rank + 1) % ranks;
            let listener: SocketAddr = (front(next), 44_000 + rank as u16).into();
            let entry = connect_entry::of_receiver(&ib_handle::encode(listener), RELEASE);
            let tag: u32 = (1 << 8) + 1;
            let preamble = [next.to_le_bytes(), tag.to_le_bytes()].concat();
            self.bootstrap(next, (front(rank), 45_000).into(), &[&preamble, &entry]);
            edges.push(self.exchange(rank, next, listener, ranks + rank));
        }
        for _ in 0..2 {
            let messages = [CHUNK, 0].repeat(2 * (ranks as usize - 1));
            for (at, bytes) in messages.iter().enumerate() {
                for edge in &mut edges {
                    let ahead = if at == 0 { 2 } else { usize::from(at + 1 < messages.len()) };
                    let tag = edge.from;
                    (0..ahead).for_each(|_| self.ask(edge, 1 << 20, tag));
                    self.send(edge, *bytes);
                }
            }
        }
    }

    fn report(&self, is_kept: impl Fn(&Built) -> bool) -> Value {
        let folder = tempfile::tempdir().unwrap();
        let tap = |rank: u32| {
            let is_own = |at: usize, frame: &Built| {
                [front(rank), rail(rank)].iter().any(|own| frame.bytes[at..at + 4] == *own)
            };
            let mut file = pcap::header(1, 65_535);
            for (at, frame) in (0_u64..).zip(&self.frames) {
                if is_kept(frame) && (is_own(26, frame) || is_own(30, frame)) {
                    let time = pcap::FIRST_NS + at * 1000;
                    pcap::record(&mut file, time, &frame.bytes, frame.bytes.len());
                }
            }
            let path = folder.path().join(format!("node{rank}.pcap"));
            std::fs::write(&path, file).unwrap();
            path
        };
        let files: Vec<_> = (0..self.ranks).map(tap).collect();
        railscope::analyze(&files)
    }
}

/// A WRITE of one packet to this address, with this key.
fn write(opcode: u8, dest_qpn: u32, psn: u32, payload: Vec<u8>, to: (u64, u32)) -> Roce {
    let (virtual_address, remote_key) = to;
    let dma_len = payload.len() as u32;
    Roce {
        dest_qpn,
        psn,
        ack_request: true,
        virtual_address,
        remote_key,
        dma_len,
        immediate: dma_len.swap_bytes(),
        payload,
        ..Roce::new(opcode, 0)
    }
}

fn job(ranks: u32) -> Scene {
    let mut scene = Scene::new(ranks);
    scene.check_in();
    scene.gather();
    scene.reduce();
    scene
}

/// Sender, receiver and number of messages of the connections with this graph.
fn edges(report: &Value, graph: &str) -> Vec<(u64, u64, u64)> {
    let all = report["communicators"].as_array().unwrap().iter();
    let all = all.flat_map(|one| one["connections"].as_array().unwrap());
    let of_graph = all.filter(|one| one["graph"] == graph);
    of_graph
        .map(|one| {
            let number = |key: &str| one[key].as_u64().unwrap();
            (number("sender"), number("receiver"), number("messages"))
        })
        .collect()
}

fn assert_only_all_reduces(report: &Value, ranks: u32) {
    let collectives = report["collectives"].as_array().unwrap();
    let facts: Vec<_> = collectives.iter().map(|one| (&one["kind"], &one["bytes"])).collect();
    let expected = (Value::from("all_reduce"), Value::from(CHUNK * ranks));
    assert_eq!(facts, [(&expected.0, &expected.1); 2], "{ranks} ranks");
}

#[test]
fn its_messages_are_no_collectives_and_its_ranks_are_proven() {
    for ranks in [2, 3, 4, 6] {
        let report = job(ranks).report(|_| true);
        assert_only_all_reduces(&report, ranks);
        let n = u64::from(ranks);
        let gathered = GATHERS.len() as u64 * (n - 1);
        let ring: Vec<_> = (0..n).map(|rank| (rank, (rank + 1) % n, gathered)).collect();
        assert_eq!(edges(&report, "bootstrap"), ring, "{ranks} ranks");
        let data: Vec<_> = (0..n).map(|rank| (rank, (rank + 1) % n, 8 * (n - 1))).collect();
        assert_eq!(edges(&report, "ring"), data, "{ranks} ranks");
        assert_eq!(report["health"]["collectives.bootstrap_messages"], n * gathered);
        let communicator = &report["communicators"][0];
        let addresses: Vec<_> = communicator["ranks"].as_array().unwrap().iter().collect();
        let addresses: Vec<_> = addresses.iter().map(|rank| rank["address"].as_str()).collect();
        let expected: Vec<_> = (0..n).map(|rank| format!("192.168.0.{}", rank + 1)).collect();
        let expected: Vec<_> = expected.iter().map(|address| Some(address.as_str())).collect();
        assert_eq!(addresses, expected, "{ranks} ranks");
        assert_eq!(communicator["bootstrap"]["missing_ranks"], Value::from(Vec::<u32>::new()));
    }
}

#[test]
fn without_its_check_ins_it_is_still_no_data() {
    for ranks in [2, 4] {
        // To and from the root, as where the management network was not captured.
        let is_root = |frame: &Built| {
            let ports =
                [34, 36].map(|at| u16::from_be_bytes([frame.bytes[at], frame.bytes[at + 1]]));
            frame.bytes[23] == 6 && ports.iter().any(|port| [ROOT, 43_000].contains(port))
        };
        let report = job(ranks).report(|frame| !is_root(frame));
        let all = report["collectives"].as_array().unwrap();
        assert!(all.iter().all(|one| one["kind"] == "all_reduce"), "{ranks} ranks: {all:?}");
        let flows = report["flows"].as_array().unwrap().iter();
        let of_ring =
            flows.filter(|flow| flow["dest_qpn"].as_u64().unwrap() < 1000 + 2 * u64::from(ranks));
        for flow in of_ring {
            let owner = &flow["owner"];
            assert!(owner["rank"].is_null(), "{ranks} ranks: {owner}");
        }
    }
}
