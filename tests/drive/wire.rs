//! The driver's NCCL structures against bytes that real NCCL sent, and against railscope's
//! decoders.

use std::net::SocketAddr;

use railscope_core::decode::nccl::{self, layout};
use railscope_core::model;
use railscope_drive::release::Release;
use railscope_drive::wire::check_in::{self, CheckIn};
use railscope_drive::wire::cts::Cts;
use railscope_drive::wire::greeting::{self, SOCKET_MAGIC, SocketType};
use railscope_drive::wire::ib_metadata::{self, IbDevice, IbMetadata, QueuePair};
use railscope_drive::wire::net_socket_handle::NetSocketHandle;
use railscope_drive::wire::peer_info::{self, PeerInfo};
use railscope_drive::wire::ring_data::{self, RasRank, RingData};
use railscope_drive::wire::topology::{self, Topology};
use railscope_drive::wire::{UniqueId, connect_entry, hash, ib_handle, root_reply, socket_address};

use crate::support::fixture;
use crate::support::streams::{self, Recorded, Stretch};

/// Connections of real jobs: the bytes of each side.
fn conversations(run: &str) -> Vec<(Vec<u8>, Vec<u8>)> {
    let whole = |sent: &[Stretch]| match sent {
        [] => Vec::new(),
        [Stretch::Bytes(bytes)] => bytes.clone(),
        cut => panic!("{run}: {cut:?}"),
    };
    let sides = |recorded: Recorded| (whole(&recorded.client), whole(&recorded.server));
    let folder = std::fs::read_dir(fixture::path("nccl").join(run)).unwrap();
    let files = folder.map(|file| file.unwrap().path());
    let captures = files.filter(|path| path.extension() == Some("gz".as_ref()));
    captures.flat_map(|path| streams::of_file(&path)).map(sides).collect()
}

/// The frames after a greeting.
fn frames(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut frames = Vec::new();
    while let Some((len, rest)) = bytes.split_first_chunk() {
        let (frame, rest) = rest.split_at(u32::from_le_bytes(*len) as usize);
        frames.push(frame);
        bytes = rest;
    }
    frames
}

fn theirs(release: Release) -> model::nccl::Release {
    let code = release.version_code();
    model::nccl::Release::new(code / 10_000, code / 100 % 100, code % 100)
}

/// How often each structure was seen, so that no check passes without data.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    check_ins: usize,
    replies: usize,
    addresses: usize,
    peer_infos: usize,
    topologies: usize,
    entries: usize,
    ib_ends: usize,
}

fn check_frame(frame: &[u8], place: usize, release: Release, seen: &mut Seen) {
    let entry = connect_entry::len(release);
    let is = |len: usize| frame.len() == len;
    let is_new = release == Release::V2_27_7;
    if place == 0 && is(check_in::len(release)) {
        assert_eq!(CheckIn::parse(frame, release).unwrap().encode(release), frame);
        seen.check_ins += 1;
    } else if is(topology::len(release)) {
        let topology = Topology::parse(frame, release).unwrap();
        assert_eq!(topology.encode(release), frame);
        // The recorded nodes have one GPU and one 10 Gb/s NIC, like the topology that the driver
        // invents.
        let rank = topology.channels[0].ring_ends[0].cast_unsigned();
        assert_eq!(Topology::of_single_gpu(rank, 2, release), topology);
        seen.topologies += 1;
    } else if is_new && is(ring_data::BYTES) && place < 3 {
        assert_eq!(RingData::parse(frame).unwrap().encode(), frame);
        seen.addresses += 1;
    } else if is(peer_info::len(release)) {
        assert_eq!(PeerInfo::parse(frame, release).unwrap().encode(release), frame);
        seen.peer_infos += 1;
    } else if place == 0 && is(root_reply::len(release)) {
        let next = root_reply::parse(frame, release).unwrap();
        assert_eq!(root_reply::encode(next, release), frame);
        seen.replies += 1;
    } else if is(socket_address::BYTES) {
        let address = socket_address::parse(frame.try_into().unwrap()).unwrap();
        assert_eq!(socket_address::encode(address), frame);
        seen.addresses += 1;
    } else if frame.len() >= entry {
        for entry in frame.chunks(entry) {
            let handle = connect_entry::handle(entry, release).unwrap();
            assert_eq!(connect_entry::of_receiver(&handle, release), entry);
            match ib_handle::parse(&handle) {
                Ok(listener) => assert_eq!(ib_handle::encode(listener), handle),
                Err(_) => {
                    let rank = connect_entry::proxy_rank(entry, release).unwrap();
                    assert_eq!(connect_entry::of_sender(rank, release), entry);
                }
            }
            seen.entries += 1;
        }
    }
}

fn check_ib(bytes: &[u8], queue_pairs: usize, release: Release, seen: &mut Seen) {
    let bytes = match release {
        Release::V2_21_5 => bytes,
        Release::V2_27_7 => {
            let (list, rest) = bytes.split_at(ib_metadata::DEVICE_LIST_BYTES);
            assert_eq!(ib_metadata::parse_device_list(list), Ok(1));
            assert_eq!(ib_metadata::device_list(1), list);
            rest
        }
    };
    let bytes = &bytes[..ib_metadata::len(release)];
    let metadata = IbMetadata::parse(bytes, queue_pairs, release).unwrap();
    assert_eq!((metadata.devices.len(), metadata.name.get(..3)), (1, Some("rxe")));
    let encoded = metadata.encode(release);
    // Bytes that 2.21.5 does not set are stack garbage.
    if release == Release::V2_27_7 {
        assert_eq!(encoded, bytes);
    }
    assert_eq!(IbMetadata::parse(&encoded, queue_pairs, release), Ok(metadata));
    seen.ib_ends += 1;
}

fn check_run(run: &str, release: Release, queue_pairs: usize) -> Seen {
    let mut seen = Seen::default();
    for (client, server) in conversations(run) {
        let Some((greeted, sent)) = client.split_first_chunk::<{ greeting::BYTES }>() else {
            continue;
        };
        let (magic, kind) = greeting::parse(greeted);
        if kind == SocketType::Bootstrap as u32 {
            let (magic, kind) = greeting::encode(magic, SocketType::Bootstrap);
            assert_eq!([magic.as_slice(), &kind].concat(), greeted);
            for (place, frame) in frames(sent).into_iter().enumerate() {
                check_frame(frame, place, release, &mut seen);
            }
        } else if (magic, kind) == (SOCKET_MAGIC, SocketType::NetIb as u32) {
            check_ib(sent, queue_pairs, release, &mut seen);
            check_ib(&server, queue_pairs, release, &mut seen);
        }
    }
    seen
}

#[test]
fn messages_of_real_nccl_are_encoded_byte_for_byte() {
    let seen = check_run("ring-2.21.5", Release::V2_21_5, 1);
    assert!(seen.check_ins > 0 && seen.replies > 0 && seen.addresses > 0, "{seen:?}");
    assert!(seen.peer_infos > 0 && seen.topologies > 0, "{seen:?}");
    assert!(seen.entries > 0 && seen.ib_ends > 0, "{seen:?}");
    let two = check_run("qps2-2.21.5", Release::V2_21_5, 2);
    assert!(two.ib_ends > 0 && two.topologies > 0, "{two:?}");
    let new = check_run("ring-2.27.5", Release::V2_27_7, 1);
    assert!(new.check_ins > 0 && new.replies > 0 && new.addresses > 0, "{new:?}");
    assert!(new.peer_infos > 0 && new.topologies > 0, "{new:?}");
    assert!(new.entries > 0 && new.ib_ends > 0, "{new:?}");
}

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

#[test]
fn railscope_reads_the_drivers_ranks() {
    for release in Release::ALL {
        let layout = layout::for_release(theirs(release)).unwrap();
        let (rank, ranks) = (2, 4);
        let (root_listener, ring_listener) = (address("10.0.0.3:9"), address("[fd00::3]:10"));
        let check_in = CheckIn { rank, ranks, root_listener, ring_listener }.encode(release);
        let read = nccl::check_in::CheckIn::decode(&check_in, layout.check_in).unwrap();
        assert_eq!((read.rank, read.nranks), (rank, ranks));
        assert_eq!(read.root_listener, root_listener);
        assert_eq!(read.ring_listener, Some(ring_listener));
        let reply = root_reply::encode(ring_listener, release);
        assert_eq!(nccl::root_reply::next_ring_listener(&reply), Some(ring_listener));

        let peer = PeerInfo {
            rank,
            cuda_device: 1,
            nvml_device: 5,
            gdr_support: 0,
            host_hash: 0x1122_3344_5566_7788,
            pid_hash: 0x99,
            shm_device: 0x21,
            bus_id: 0x1b000,
            comm: 0x7f00_0000_0000,
            compute_capability: 80,
            fabric_version: 0x0200_0024,
            gpu_memory: 80 << 30,
            cu_mem_support: 1,
            version: release.version_code(),
        };
        let read = peer.encode(release);
        let read = nccl::peer_info::PeerInfo::decode(&read, layout.peer_info).unwrap();
        assert_eq!((read.rank, read.cuda_device, read.nvml_device), (rank, 1, Some(5)));
        assert_eq!((read.host_hash, read.pid_hash), (peer.host_hash, peer.pid_hash));
        assert_eq!(read.bus_id, peer.bus_id);
        let has_version = release == Release::V2_27_7;
        assert_eq!(read.release, has_version.then(|| theirs(release)));

        let topology = Topology::of_single_gpu(rank, 4, release).encode(release);
        let read = nccl::topology::Topology::decode(&topology, layout.topology).unwrap();
        assert_eq!((read.ring_channels, read.tree_channels), (2, 2));
        for channel in 0..2 {
            let array = nccl::topology::TopologyArray::RingSend;
            assert_eq!(read.rank(array, channel), Some(rank));
        }
    }
}

#[test]
fn railscope_reads_where_the_driver_listens() {
    let layout = layout::for_release(theirs(Release::V2_27_7)).unwrap();
    let (listener, proxy) = (address("10.0.0.3:9"), address("10.0.0.3:10"));
    let ras = RasRank {
        listener: address("10.0.0.3:11"),
        pid: 77,
        cuda_device: 0,
        nvml_device: 3,
        host_hash: 5,
        pid_hash: 6,
    };
    for ras in [None, Some(ras)] {
        let data = RingData { peer_listener: listener, proxy_listener: proxy, unix_socket: 4, ras };
        let read = data.encode();
        let read = nccl::ring_data::RingData::decode(&read, layout.addresses).unwrap();
        assert_eq!(read.peer_listener, listener);
        assert_eq!(read.ras.unwrap().pid, ras.map(|ras| ras.pid));
    }
    let id = UniqueId::new(0x0123_4567_89ab_cdef, address("10.0.0.1:50000"));
    let read = nccl::unique_id::from_magic(id.magic(), id.root().unwrap());
    assert_eq!(read.0, id.0);
    let socket = NetSocketHandle { listener, sockets: 1, threads: 1 };
    assert_eq!(nccl::net_handle::listener(&socket.encode()), Some(listener));
    assert_eq!(NetSocketHandle::parse(&socket.encode()), Ok(socket));
    assert_eq!(nccl::net_handle::listener(&ib_handle::encode(listener)), Some(listener));
}

#[test]
fn both_hash_alike() {
    use nccl::hash::{CharSign, HashFunction};
    let sign = if cfg!(target_arch = "aarch64") { CharSign::Unsigned } else { CharSign::Signed };
    for release in Release::ALL {
        let function = HashFunction::for_release(theirs(release), sign);
        for bytes in [b"".as_slice(), b"a", b"12345678", b"4711pid:[4026531836]", &[0xff; 128]] {
            assert_eq!(hash::hash(release, bytes), function.hash(bytes), "{bytes:?}");
        }
    }
}

#[test]
fn railscope_reads_the_queue_pairs_of_the_driver() {
    let device = IbDevice {
        lid: 0,
        port: 1,
        mtu: ib_metadata::mtu_code(4096),
        link_layer: ib_metadata::ETHERNET,
        gid: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 3],
        rkey: 0x1234,
    };
    let metadata = IbMetadata {
        queue_pairs: vec![
            QueuePair { qpn: 0x11, device: 0 },
            QueuePair { qpn: 0xff_ffff, device: 0 },
        ],
        devices: vec![device],
        name: "soft0".to_owned(),
        address: 0x7f00_0000_1000,
        traffic_class: 106,
        service_level: 0,
    };
    for release in Release::ALL {
        let layout = layout::for_release(theirs(release)).unwrap();
        let bytes = metadata.encode(release);
        let read = nccl::ib_endpoint::Endpoint::decode(&bytes, layout.endpoint).unwrap();
        let pair = read.queue_pair(1).unwrap();
        assert_eq!(pair.qpn.value(), 0xff_ffff);
        let port = read.port(0).unwrap();
        assert_eq!(port.address, "10.0.0.3".parse().ok());
        assert_eq!(port.fifo_key, 0x1234);
    }
}

#[test]
fn railscope_reads_a_clear_to_send_of_the_driver() {
    let cts = Cts { address: 0x7f00_0010_0000, size: 1 << 20, rkey: 0x77, tag: 3, index: 300 };
    for release in Release::ALL {
        let layout = layout::for_release(theirs(release)).unwrap();
        let read = nccl::cts::Cts::decode(&cts.encode(release), layout.cts).unwrap();
        assert_eq!((read.address, read.capacity), (cts.address, u64::from(cts.size)));
        assert_eq!((read.number, read.tag), (Some(cts.index), Some(cts.tag)));
        assert_eq!(read.remote_keys[0], cts.rkey);
    }
}
