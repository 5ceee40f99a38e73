//! The control plane of jobs without captures, written by the suite's own encoder: every release
//! and ring size, and bytes that arrive in pieces, in any order, or not at all. Also protocols that
//! are not NCCL's.

use std::net::SocketAddr;

use proptest::collection::vec;
use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};
use railscope_core::flow::tcp_stream::sink::{Side, StreamSink};
use railscope_core::link::control::facts::{ControlFacts, StreamKind};
use railscope_core::link::control::plane::{ControlConfig, ControlCounts};
use railscope_core::model::time::Timestamp;

use crate::support::control::{MadeUp, facts_of};
use crate::support::random::Random;

const MAGIC: u64 = 0x0123_4567_89ab_cdef;
const SOCKET_MAGIC: u64 = 0x564a_b9f2_fc4b_9d6c;

fn greeting(magic: u64, kind: u32) -> Vec<u8> {
    [&magic.to_le_bytes()[..], &kind.to_le_bytes()].concat()
}

fn frame(body: &[u8]) -> Vec<u8> {
    [&(body.len() as u32).to_le_bytes()[..], body].concat()
}

fn frames<'a>(magic: u64, bodies: impl IntoIterator<Item = &'a Vec<u8>>) -> Vec<u8> {
    let mut bytes = greeting(magic, 1);
    bodies.into_iter().for_each(|body| bytes.extend(frame(body)));
    bytes
}

/// A structure of zeros with some fields set.
fn structure(len: usize, fields: &[(usize, &[u8])]) -> Vec<u8> {
    let mut bytes = vec![0; len];
    for (at, field) in fields {
        bytes[*at..*at + field.len()].copy_from_slice(field);
    }
    bytes
}

fn int(value: u32) -> [u8; 4] {
    value.to_le_bytes()
}

/// `sockaddr_in`: 10.1.0.`host`, with the port in network order.
fn address(host: u8, port: u16) -> [u8; 8] {
    let [high, low] = port.to_be_bytes();
    [2, 0, high, low, 10, 1, 0, host]
}

/// A release: its version code if ranks send it, the sizes of the ring's gathers, and the offsets
/// of the version in PeerInfo and of the number of channels in the ring's topology.
struct Release {
    code: Option<u32>,
    addresses: &'static [usize],
    peer_info: (usize, usize),
    topology: (usize, usize),
    is_both_ways: bool,
    name: &'static str,
}

/// Sizes by the NCCL sources of each release.
#[rustfmt::skip]
const RELEASES: [Release; 14] = [
    Release { code: None, addresses: &[28, 28], peer_info: (64, 0), topology: (988, 36), is_both_ways: false, name: "2.16 to 2.17" },
    Release { code: None, addresses: &[28, 28], peer_info: (64, 0), topology: (1192, 28), is_both_ways: false, name: "2.18 to 2.19" },
    Release { code: None, addresses: &[28], peer_info: (64, 0), topology: (1192, 28), is_both_ways: false, name: "2.18 to 2.19" },
    Release { code: None, addresses: &[28, 28, 8], peer_info: (96, 0), topology: (1220, 32), is_both_ways: false, name: "2.21" },
    Release { code: None, addresses: &[28, 28, 8], peer_info: (104, 0), topology: (1228, 32), is_both_ways: false, name: "2.22" },
    Release { code: Some(22_304), addresses: &[64], peer_info: (104, 100), topology: (1260, 32), is_both_ways: false, name: "2.23.4" },
    Release { code: Some(22_501), addresses: &[104], peer_info: (104, 100), topology: (2284, 32), is_both_ways: false, name: "2.25.1" },
    Release { code: Some(22_602), addresses: &[120], peer_info: (104, 100), topology: (2284, 32), is_both_ways: false, name: "2.26.2" },
    Release { code: Some(22_803), addresses: &[120], peer_info: (120, 112), topology: (2292, 32), is_both_ways: false, name: "2.28.3" },
    Release { code: Some(22_807), addresses: &[120], peer_info: (120, 112), topology: (2292, 32), is_both_ways: true, name: "2.28.7" },
    Release { code: Some(22_907), addresses: &[120], peer_info: (128, 112), topology: (2300, 32), is_both_ways: true, name: "2.29.7" },
    Release { code: Some(23_004), addresses: &[120], peer_info: (128, 112), topology: (2320, 32), is_both_ways: true, name: "2.30.4" },
    Release { code: Some(23_102), addresses: &[120], peer_info: (152, 132), topology: (2324, 32), is_both_ways: true, name: "2.31.2" },
    Release { code: Some(23_203), addresses: &[120], peer_info: (168, 132), topology: (2324, 32), is_both_ways: true, name: "2.32.3" },
];

impl Release {
    /// The elements that a rank contributes to the gathers, in order.
    fn elements(&self, rank: u32) -> Vec<Vec<u8>> {
        let host = rank as u8 + 1;
        let mut elements: Vec<Vec<u8>> = self
            .addresses
            .iter()
            .map(|len| structure(*len, &[(0, &address(host, 4000)[..*len.min(&8)])]))
            .collect();
        let (len, version) = self.peer_info;
        let mut peer_info =
            structure(len, &[(0, &int(rank)), (4, &int(rank)), (40, &int(0x1b000 + rank))]);
        if let Some(code) = self.code {
            peer_info[version..version + 4].copy_from_slice(&int(code));
        }
        let (len, ring) = self.topology;
        elements.push(peer_info);
        elements.push(structure(len, &[(ring + 4, &int(2))]));
        elements
    }

    /// The bytes on the ring connection from `rank` to the next one: forwards and backwards.
    fn ring(&self, rank: u32, nranks: u32, later: &[fn(u32) -> Vec<u8>]) -> [Vec<Vec<u8>>; 2] {
        let mut passed = [Vec::new(), Vec::new()];
        let ahead = if self.is_both_ways { nranks / 2 } else { nranks - 1 };
        let mut gather = |element: &dyn Fn(u32) -> Vec<u8>| {
            for place in 0..ahead {
                passed[0].push(element((rank + nranks - place) % nranks));
            }
            for place in 0..nranks - 1 - ahead {
                passed[1].push(element((rank + 1 + place) % nranks));
            }
        };
        for number in 0..self.addresses.len() + 2 {
            gather(&|rank| self.elements(rank)[number].clone());
        }
        later.iter().for_each(|element| gather(element));
        passed
    }
}

/// Feeds both directions in pieces of random length, the client first.
fn feed(made_up: &mut MadeUp, client: &[u8], server: &[u8], mut random: Random) {
    let ends: [SocketAddr; 2] = [([10, 1, 0, 1], 40_000).into(), ([10, 1, 0, 2], 4000).into()];
    let id = made_up.open(ends[0], ends[1]);
    let mut rest = [client, server];
    let mut side = 0;
    while rest.iter().any(|rest| !rest.is_empty()) {
        let len = (1 + random.below(700) as usize).min(rest[side].len());
        if len > 0 {
            made_up.send(id, [Side::Client, Side::Server][side], &rest[side][..len]);
        }
        rest[side] = &rest[side][len..];
        side = random.below(2) as usize;
    }
    made_up.close(id);
}

fn heard(client: &[u8], server: &[u8], seed: u64) -> (ControlFacts, ControlCounts) {
    let mut made_up = MadeUp::new(ControlConfig::default());
    feed(&mut made_up, client, server, Random::new(seed));
    (made_up.plane.facts(), made_up.plane.counts())
}

#[test]
fn rings_of_every_release_and_size() {
    for release in &RELEASES {
        for nranks in 2..10 {
            for rank in 0..nranks {
                let [forward, backward] = release.ring(rank, nranks, &[|_| vec![0, 0]]);
                let client = frames(MAGIC, &forward);
                let server: Vec<u8> = backward.iter().flat_map(|body| frame(body)).collect();
                let (facts, counts) = heard(&client, &server, u64::from(rank));
                let what = format!("{}, rank {rank} of {nranks}", release.name);
                let [ring] = &facts.rings[..] else { panic!("{what}: {facts:?}") };
                assert_eq!(
                    (ring.connector_rank, ring.nranks),
                    (Some(rank), Some(nranks)),
                    "{what}"
                );
                assert_eq!(ring.releases.to_string(), release.name, "{what}");
                let ranks: Vec<u32> = ring.members.iter().map(|member| member.rank).collect();
                let others = (0..nranks).filter(|other| *other != (rank + 1) % nranks);
                // In both directions: the next rank's element is on the wire, the last rank's is
                // not.
                assert!(
                    release.is_both_ways || ranks.iter().copied().eq(others),
                    "{what}: {ranks:?}"
                );
                assert_eq!(ranks.len() as u32, nranks - 1);
                for member in &ring.members {
                    let host = [10, 1, 0, member.rank as u8 + 1];
                    assert_eq!(member.peer_listener, Some((host, 4000).into()), "{what}");
                    assert_eq!(member.bus_id, Some(0x1b000 + u64::from(member.rank)), "{what}");
                    let topology = member.topology.as_ref().unwrap();
                    assert_eq!((topology.ring_channels, topology.channels.len()), (2, 2));
                }
                assert_eq!(counts, ControlCounts::default(), "{what}");
            }
        }
    }
}

#[test]
fn splits_of_every_release() {
    let color = |rank: u32| int(rank % 3).to_vec();
    let key = |rank: u32| int(rank + 10).to_vec();
    let both = |rank: u32| [int(rank + 10), int(rank % 3)].concat();
    for release in &RELEASES {
        let later: &[fn(u32) -> Vec<u8>] = match release.code {
            None => &[color, key],
            Some(_) => &[|_| vec![0, 0], both, |_| vec![0; 40], both],
        };
        let [forward, backward] = release.ring(4, 6, later);
        let server: Vec<u8> = backward.iter().flat_map(|body| frame(body)).collect();
        let (facts, _) = heard(&frames(MAGIC, &forward), &server, 1);
        let ring = &facts.rings[0];
        assert_eq!(ring.splits.len(), later.len() / 2, "{}", release.name);
        for request in ring.splits.iter().flat_map(|split| &split.requests) {
            let expected = ((request.rank % 3) as i32, Some(request.rank as i32 + 10));
            assert_eq!((request.color, request.key), expected, "{}", release.name);
        }
    }
}

#[test]
fn a_root_of_several_and_its_reply() {
    let connect = |at: usize, len: usize, port: u16| {
        structure(len, &[(at, &address(9, port)), (at + 28, &address(9, port + 1))])
    };
    // 2.29: rank 130 of 256, root 1 of 2.
    let mut check_in = connect(20, 176, 700);
    for (place, value) in [130, 256, 1, 2].into_iter().enumerate() {
        check_in[4 * place..4 * place + 4].copy_from_slice(&int(value));
    }
    let facts = facts_of(&frames(MAGIC, [&check_in]), &[]);
    let [fact] = &facts.check_ins[..] else { panic!("{facts:?}") };
    assert_eq!((fact.rank, fact.nranks, fact.root_index, fact.root_count), (130, 256, 1, 2));
    assert_eq!(fact.root_listener, ([10, 1, 0, 9], 700).into());
    assert_eq!(fact.ring_listener, Some(([10, 1, 0, 9], 701).into()));
    assert_eq!(fact.releases.to_string(), "2.29 to 2.32");

    for len in [28, 128] {
        let facts = facts_of(&frames(MAGIC, [&structure(len, &[(0, &address(7, 80))])]), &[]);
        let [reply] = &facts.root_replies[..] else { panic!("{facts:?}") };
        assert_eq!(reply.next_ring_listener, Some(([10, 1, 0, 7], 80).into()));
        assert_eq!(reply.root_listener, ([10, 0, 0, 2], 50_000).into());
    }
    // An invalid rank, and an invalid root.
    check_in[0..4].copy_from_slice(&int(256));
    assert!(facts_of(&frames(MAGIC, [&check_in]), &[]).check_ins.is_empty());
}

/// NET/IB's exchange in 2.24: two devices, four queue pairs.
fn endpoint(first: u32) -> Vec<u8> {
    let mut bytes = structure(20, &[(0, &int(2)), (8, &int(1))]);
    let mut metadata = vec![0; 3576];
    for pair in 0..4 {
        let at = 24 * pair as usize;
        metadata[at..at + 4].copy_from_slice(&int(first + pair));
        metadata[at + 20..at + 24].copy_from_slice(&int(pair % 2));
    }
    for device in 0..2_u8 {
        let at = 3072 + 56 * usize::from(device);
        metadata[at + 4] = 1;
        metadata[at + 8] = 5;
        metadata[at + 12] = 2;
        metadata[at + 26..at + 32].copy_from_slice(&[0xff, 0xff, 10, 0, device, first as u8]);
        metadata[at + 32..at + 36].copy_from_slice(&int(0x1000 + u32::from(device)));
    }
    metadata[3296..3309].copy_from_slice(b"mlx5_0+mlx5_1");
    metadata[3560..3568].copy_from_slice(&0x7f00_0000_1000_u64.to_le_bytes());
    metadata[3568] = 2;
    bytes.extend(metadata);
    bytes
}

#[test]
fn a_device_made_of_two() {
    let ready = int(1).to_vec();
    let sender = [greeting(SOCKET_MAGIC, 4), endpoint(100), ready].concat();
    let (facts, counts) = heard(&sender, &endpoint(200), 3);
    let [exchange] = &facts.exchanges[..] else { panic!("{facts:?}") };
    assert_eq!(exchange.releases.to_string(), "2.24 to 2.25");
    for (end, first) in [(&exchange.sender, 100), (&exchange.receiver, 200)] {
        let end = end.as_ref().unwrap();
        let pairs = end.queue_pairs.iter();
        let pairs: Vec<_> =
            pairs.map(|pair| (pair.qpn.value(), pair.address.unwrap().to_string())).collect();
        let address = |device: u32| format!("10.0.{device}.{first}");
        let expected: Vec<_> = (0..4).map(|k| (first + k, address(k % 2))).collect();
        assert_eq!(pairs, expected);
        assert_eq!(end.device_name, "mlx5_0+mlx5_1");
        assert_eq!((end.fifo_address, end.mtu), (0x7f00_0000_1000, Some(4096)));
        assert_eq!(end.fifo_keys, [0x1000, 0x1001]);
    }
    assert_eq!(counts, ControlCounts::default());
}

#[test]
fn one_half_of_an_exchange() {
    let sender = [greeting(SOCKET_MAGIC, 4), endpoint(100), int(1).to_vec()].concat();
    let facts = facts_of(&sender, &[]);
    assert!(facts.exchanges[0].sender.is_some() && facts.exchanges[0].receiver.is_none());

    let mut made_up = MadeUp::new(ControlConfig::default());
    let id = made_up.open(([10, 0, 0, 1], 1).into(), ([10, 0, 0, 2], 2).into());
    made_up.send(id, Side::Client, &sender[..2000]);
    made_up.lose(id, Side::Client);
    made_up.send(id, Side::Server, &endpoint(200));
    made_up.close(id);
    let facts = made_up.plane.facts();
    assert!(facts.exchanges[0].sender.is_none() && facts.exchanges[0].receiver.is_some());
    assert_eq!(made_up.plane.counts().gap_connections, 1);

    // Too short for any release.
    let (facts, counts) = heard(&sender[..2000], &[], 1);
    assert!(facts.exchanges.is_empty());
    assert_eq!(counts.malformed_connections, 1);
}

#[test]
fn a_ring_up_to_a_gap() {
    let [forward, _] = RELEASES[8].ring(1, 4, &[]);
    let bytes = frames(MAGIC, &forward[..7]);
    let mut made_up = MadeUp::new(ControlConfig::default());
    let id = made_up.open(([10, 0, 0, 1], 1).into(), ([10, 0, 0, 2], 2).into());
    made_up.send(id, Side::Client, &bytes);
    made_up.lose(id, Side::Client);
    made_up.send(id, Side::Client, &bytes);
    let facts = made_up.plane.facts();
    let [ring] = &facts.rings[..] else { panic!("{facts:?}") };
    assert_eq!((ring.connector_rank, ring.nranks), (Some(1), Some(4)));
    let topologies = ring.members.iter().filter(|member| member.topology.is_some()).count();
    assert_eq!((ring.members.len(), topologies), (3, 1));
    assert_eq!(made_up.plane.counts().gap_connections, 1);
}

#[test]
fn sockets_and_proxies() {
    let socket = [greeting(SOCKET_MAGIC, 3), vec![2], vec![7; 100]].concat();
    let facts = facts_of(&socket, &[]);
    let [fact] = &facts.sockets[..] else { panic!("{facts:?}") };
    assert_eq!((fact.index, fact.bytes), (2, 100));
    assert!(fact.messages.is_empty(), "its other bytes are not there");
    let request = [int(1), int(0), int(0), int(8), int(8)].concat();
    let facts = facts_of(&[greeting(MAGIC, 2), request].concat(), &[]);
    assert_eq!(facts.streams[0].kind, StreamKind::Proxy);
}

#[test]
fn releases_before_the_greeting_are_counted() {
    let check_in = structure(
        64,
        &[(0, &int(1)), (4, &int(4)), (8, &address(3, 5000)), (36, &address(3, 5001))],
    );
    let (facts, counts) = heard(&frame(&check_in), &[], 1);
    assert!(facts.check_ins.is_empty() && facts.streams.is_empty());
    assert_eq!(counts, ControlCounts { unsupported_connections: 1, ..Default::default() });
}

/// First bytes of other protocols.
#[test]
fn other_protocols_are_ignored() {
    let openings: [&[u8]; 8] = [
        b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        // iperf3's cookie, MySQL, Open MPI's TCP transport, a zeroed header.
        b"7drp2y5ey4y2sn3wxfbc3h4v3fp7gzq2yd3x\0",
        b"\x4a\x00\x00\x00\x0a8.0.36\x00\x0b\x00\x00\x00",
        b"OMPI-TCP\x01\x00\x00\x00\x10\x00\x00\x00",
        &[0; 64],
    ];
    for opening in openings {
        let (facts, counts) = heard(opening, b"hello there, whoever you may be", 5);
        assert!(facts.streams.is_empty(), "{opening:?}: {facts:?}");
        assert_eq!(counts, ControlCounts::default());
        // The server's banner precedes bytes that look like a greeting.
        let mut made_up = MadeUp::new(ControlConfig::default());
        let id = made_up.open(([10, 0, 0, 1], 1).into(), ([10, 0, 0, 2], 2).into());
        made_up.send(id, Side::Server, opening);
        made_up.send(id, Side::Client, &greeting(SOCKET_MAGIC, 4));
        assert!(made_up.plane.facts().streams.is_empty());
        assert_eq!(made_up.plane.kept_bytes(), 0);
    }
}

#[test]
fn held_bytes_are_limited() {
    let config = ControlConfig { connection_capacity: 100, kept_bytes: 50_000 };
    let mut made_up = MadeUp::new(config);
    let [forward, _] = RELEASES[8].ring(0, 40, &[]);
    let bytes = frames(MAGIC, &forward);
    for port in 0..200 {
        let id = made_up.open(([10, 0, 0, 1], 1000 + port).into(), ([10, 0, 0, 2], 2).into());
        for piece in bytes.chunks(1448) {
            made_up.send(id, Side::Client, piece);
            assert!(made_up.plane.kept_bytes() <= 50_000);
        }
    }
    let counts = made_up.plane.counts();
    assert!(counts.oversized_connections >= 100, "{counts:?}");
}

/// NET/Socket's messages, with their sizes.
fn over_socket(sizes: &[u32]) -> Vec<u8> {
    let mut bytes = [greeting(SOCKET_MAGIC, 3), vec![0]].concat();
    for (at, size) in sizes.iter().enumerate() {
        bytes.extend(size.to_le_bytes());
        bytes.extend((0..*size).map(|place| (place as u8).wrapping_mul(7) ^ at as u8));
    }
    bytes
}

#[test]
fn messages_after_missing_bytes_are_read_if_only_data_is_missing() {
    let sizes = |losses: &[(usize, usize)]| {
        let bytes = over_socket(&[100, 200, 300]);
        let mut made_up = MadeUp::new(ControlConfig::default());
        let id = made_up.open(([10, 0, 0, 1], 1).into(), ([10, 0, 0, 2], 2).into());
        let mut from = 0;
        for (at, lost) in losses {
            made_up.send(id, Side::Client, &bytes[from..*at]);
            made_up.lose_bytes(id, Side::Client, *lost as u64);
            from = at + lost;
        }
        made_up.send(id, Side::Client, &bytes[from..]);
        let facts = made_up.plane.facts();
        let [fact] = &facts.sockets[..] else { panic!("{facts:?}") };
        let sizes: Vec<u32> = fact.messages.iter().map(|message| message.bytes).collect();
        (sizes, fact.is_lost, made_up.plane.counts().gap_connections)
    };
    assert_eq!(sizes(&[]), (vec![100, 200, 300], false, 0));
    // Greeting and index are 13 bytes, the first size 4: what follows it is data.
    assert_eq!(sizes(&[(20, 97)]), (vec![100, 200, 300], false, 0));
    assert_eq!(sizes(&[(20, 50), (200, 20)]), (vec![100, 200, 300], false, 0));
    // With the second size, its messages are lost.
    assert_eq!(sizes(&[(20, 98)]), (vec![], true, 1));
    assert_eq!(sizes(&[(117, 4)]), (vec![100], true, 1));
}

#[test]
fn a_closed_window_is_the_receivers() {
    let mut made_up = MadeUp::new(ControlConfig::default());
    let id = made_up.open(([10, 0, 0, 1], 1).into(), ([10, 0, 0, 2], 2).into());
    made_up.send(id, Side::Client, &over_socket(&[100]));
    for (of, is_closed, ns) in [
        (Side::Client, true, 10),
        (Side::Server, true, 20),
        (Side::Server, false, 50),
        (Side::Server, true, 60),
    ] {
        made_up.plane.window(id, of, is_closed, Timestamp::from_nanos(ns));
    }
    let facts = made_up.plane.facts();
    let closed: Vec<_> = facts.sockets[0].closed.iter().collect();
    let [span] = closed[..] else { panic!("{closed:?}") };
    assert_eq!((span.first.as_nanos(), span.last.as_nanos()), (20, 50));
}

#[test]
fn old_messages_over_sockets_are_forgotten() {
    let mut made_up = MadeUp::new(ControlConfig::default());
    let id = made_up.open(([10, 0, 0, 1], 1).into(), ([10, 0, 0, 2], 2).into());
    for bytes in [over_socket(&[10]), vec![2, 0, 0, 0, 7, 7], vec![1, 0, 0, 0, 7]] {
        made_up.send(id, Side::Client, &bytes);
    }
    let kept = made_up.plane.kept_bytes();
    made_up.plane.forget_before(Timestamp::from_nanos(3));
    let facts = made_up.plane.facts();
    let numbers: Vec<u64> = facts.sockets[0].messages.iter().map(|one| one.number).collect();
    assert_eq!((numbers, made_up.plane.forgotten_messages()), (vec![3], 2));
    assert!(made_up.plane.kept_bytes() < kept);
}

proptest! {
    #[test]
    fn messages_over_sockets_do_not_depend_on_segments(
        seed in any::<u64>(),
        sizes in vec(0_u32..3000, 0..20),
    ) {
        let whole = facts_of(&over_socket(&sizes), &[]);
        let (pieces, counts) = heard(&over_socket(&sizes), &[], seed);
        let read = |facts: &ControlFacts| -> Vec<(u64, u32, bool)> {
            let messages = facts.sockets[0].messages.iter();
            messages.map(|one| (one.number, one.bytes, one.head.is_some())).collect()
        };
        let sent: Vec<_> = (1..).zip(&sizes).map(|(at, size)| (at, *size, *size > 0)).collect();
        prop_assert_eq!(read(&whole), sent.clone());
        prop_assert_eq!(read(&pieces), sent);
        prop_assert_eq!(counts, ControlCounts::default());
    }

    #[test]
    fn random_bytes_give_no_facts(
        client in vec(any::<u8>(), 0..3000),
        server in vec(any::<u8>(), 0..3000),
        kind in 0_u32..8,
    ) {
        let facts = facts_of(&client, &server);
        prop_assert!(facts.streams.is_empty());
        // Even after a greeting.
        let facts = facts_of(&[greeting(SOCKET_MAGIC, kind), client.clone()].concat(), &server);
        prop_assert!(facts.exchanges.is_empty() && facts.ras_peers.is_empty());
        let facts = facts_of(&[greeting(MAGIC, 1), client].concat(), &server);
        prop_assert!(facts.check_ins.is_empty() && facts.rings.is_empty());
        prop_assert!(facts.root_replies.is_empty() && facts.setups.is_empty());
    }

    #[test]
    fn segment_sizes_do_not_matter(seed in any::<u64>(), release in 0..RELEASES.len(), nranks in 2_u32..7) {
        let [forward, backward] = RELEASES[release].ring(1, nranks, &[|_| vec![0, 0]]);
        let client = frames(MAGIC, &forward);
        let server: Vec<u8> = backward.iter().flat_map(|body| frame(body)).collect();
        let (facts, counts) = heard(&client, &server, seed);
        prop_assert_eq!(facts.rings.len(), 1);
        prop_assert_eq!(facts.rings[0].members.len() as u32, nranks - 1);
        prop_assert_eq!(counts, ControlCounts::default());
    }
}
