//! The table of NCCL layouts against the debug information of released libraries: sizes and offsets
//! from `readelf`, one file per release (`tests/fixtures/nccl-layouts`).

use std::collections::BTreeMap;

use railscope_core::decode::nccl::cts::CTS_32_UNTAGGED;
use railscope_core::decode::nccl::ib_endpoint::{self, PortLayout};
use railscope_core::decode::nccl::layout::{self, LAYOUTS, Layout, ReleaseRange, narrow};
use railscope_core::decode::nccl::peer_info;
use railscope_core::decode::nccl::{net_handle, topology};
use railscope_core::model::nccl::Release;

use crate::support::fixture;

/// A structure: its size, and the offset, type and size of each field.
#[derive(Debug, Default)]
struct Structure {
    size: usize,
    fields: BTreeMap<String, (usize, String, usize)>,
}

impl Structure {
    fn at(&self, field: &str) -> Option<usize> {
        self.fields.get(field).map(|(offset, ..)| *offset)
    }

    fn size_of(&self, field: &str) -> usize {
        self.fields[field].2
    }

    fn count(&self, field: &str) -> usize {
        let (_, kind, _) = &self.fields[field];
        kind.split_once('[').unwrap().1.trim_end_matches(']').parse().unwrap()
    }
}

type Structures = BTreeMap<String, Structure>;

fn read(text: &str) -> Structures {
    let mut structures = Structures::new();
    let mut current = String::new();
    for line in text.lines() {
        if let Some((name, size)) = line.split_once(" size=") {
            current = name.to_owned();
            structures.entry(current.clone()).or_default().size = size.parse().unwrap();
        } else if let Some(field) = line.trim().strip_prefix('+') {
            let (offset, field) = field.split_once(' ').unwrap();
            let (name, kind) = field.split_once(" : ").unwrap();
            let (kind, size) = kind.rsplit_once(" (").unwrap();
            let size = size.trim_end_matches(')').parse().unwrap();
            let value = (offset.parse().unwrap(), kind.to_owned(), size);
            structures.get_mut(&current).unwrap().fields.insert(name.to_owned(), value);
        }
    }
    structures
}

fn releases() -> Vec<(Release, Structures)> {
    let files = std::fs::read_dir(fixture::path("nccl-layouts")).unwrap();
    let mut releases: Vec<_> = files
        .filter_map(|file| {
            let path = file.unwrap().path();
            let version = path.file_stem()?.to_str()?.strip_prefix("dw_")?.to_owned();
            let mut numbers = version.split('.').map(|number| number.parse().unwrap());
            let mut next = || numbers.next().unwrap();
            let release = Release::new(next(), next(), next());
            Some((release, read(&std::fs::read_to_string(path).unwrap())))
        })
        .collect();
    releases.sort_by_key(|(release, _)| *release);
    assert_eq!(releases.len(), 19);
    releases
}

fn each(check: impl Fn(&Layout, &Structures)) {
    for (release, structures) in releases() {
        println!("{release}");
        check(layout::for_release(release).unwrap(), &structures);
    }
}

#[test]
fn every_row_has_a_library() {
    let releases = releases();
    for row in &LAYOUTS {
        assert!(releases.iter().any(|(release, _)| row.releases.contains(*release)), "{row:?}");
    }
    let (first, last) = (releases.first().unwrap().0, releases.last().unwrap().0);
    assert!(ReleaseRange::KNOWN.contains(first) && ReleaseRange::KNOWN.contains(last));
    assert!(LAYOUTS.iter().zip(&LAYOUTS[1..]).all(|(a, b)| a.releases.last < b.releases.first));
}

#[test]
fn check_in() {
    each(|layout, structures| {
        let (ours, theirs) = (layout.check_in, &structures["extInfo"]);
        assert_eq!(ours.len, theirs.size);
        assert_eq!((theirs.at("rank"), theirs.at("nranks")), (Some(0), Some(4)));
        assert_eq!(ours.root, theirs.at("iroot"));
        assert_eq!(ours.root.map(|at| at + 4), theirs.at("nroots"));
        let root = theirs.at("listenRootAddress").or(theirs.at("extAddressListenRoot"));
        assert_eq!(Some(ours.root_listener), root);
        let ring = theirs.at("connectInfo").or(theirs.at("extAddressListen"));
        assert_eq!(Some(ours.ring_listener), ring);
    });
}

#[test]
fn addresses() {
    each(|layout, structures| {
        let ours = layout.addresses;
        let Some(theirs) = structures.get("bootstrapRingData") else {
            assert!(ours.gathers.starts_with(&[28, 28]) && ours.ras.is_none());
            return;
        };
        assert_eq!(ours.gathers, [theirs.size]);
        assert_eq!(theirs.at("peerAddress"), Some(0));
        assert_eq!(ours.ras.map(|ras| ras.at), theirs.at("rasRank"));
        let Some(ras) = ours.ras else { return };
        let theirs = &structures["rasRankInit"];
        let fields = ["addr", "pid", "cudaDev", "nvmlDev"].map(|field| theirs.at(field).unwrap());
        assert_eq!(fields, [0, 28, 32, 36]);
        let hashes = ras.has_hashes.then_some((40, 48));
        assert_eq!(theirs.at("hostHash").zip(theirs.at("pidHash")), hashes);
    });
}

#[test]
fn peer_info() {
    each(|layout, structures| {
        let (ours, theirs) = (layout.peer_info, &structures["ncclPeerInfo"]);
        assert_eq!(ours.len, theirs.size);
        let fields = ["rank", "cudaDev", "hostHash", "pidHash", "busId"];
        let constants = [
            peer_info::RANK,
            peer_info::CUDA_DEVICE,
            peer_info::HOST_HASH,
            peer_info::PID_HASH,
            peer_info::BUS_ID,
        ];
        assert_eq!(fields.map(|field| theirs.at(field)), constants.map(Some));
        // Not read at a size of 64 bytes: there are several such layouts.
        let nvml_device = theirs.at("nvmlDev").filter(|_| theirs.size > 64);
        assert_eq!(ours.nvml_device, nvml_device);
        assert_eq!(ours.version, theirs.at("version"));
    });
}

#[test]
fn topology() {
    each(|layout, structures| {
        let (ours, theirs) = (layout.topology, &structures["allGatherInfo"]);
        assert_eq!(ours.len, theirs.size);
        if let Some(graphs) = theirs.at("graphInfo") {
            let len = theirs.size_of("graphInfo") / theirs.count("graphInfo");
            assert_eq!((ours.tree, ours.ring), (graphs, graphs + len));
            assert_eq!(ours.cross_nic, (len == 32).then_some(len + topology::CROSS_NIC));
        } else {
            assert_eq!((Some(ours.tree), Some(ours.ring)), (theirs.at("tree"), theirs.at("ring")));
        }
        let (start, ranks) = (theirs.at("topoRanks").unwrap(), &structures["ncclTopoRanks"]);
        let arrays = [
            "ringRecv",
            "ringSend",
            "ringPrev",
            "ringNext",
            "treeToParent",
            "treeToChild0",
            "treeToChild1",
        ];
        for (place, array) in arrays.into_iter().enumerate() {
            let ours = ours.ranks + place * ours.channels * 4;
            assert_eq!(Some(ours), ranks.at(array).map(|at| start + at), "{array}");
            assert_eq!(layout.topology.channels, ranks.count(array));
        }
    });
}

#[test]
fn transport_set_up() {
    each(|layout, structures| {
        assert_eq!(layout.peer_message.entry_len, structures["ncclConnect"].size);
        let handle = &structures["ncclIbHandle"];
        assert_eq!(handle.at("connectAddr"), Some(0));
        assert_eq!(handle.at("magic"), Some(net_handle::MAGIC));
    });
}

#[test]
fn exchange_of_queue_pairs() {
    each(|layout, structures| {
        let ours = layout.endpoint;
        let byte = structures.get("ncclIbDevExtraProps").map_or(0, |extra| extra.size);
        // The count, then that many devices.
        let devices = layout.devices.map(|list| (list.len, list.devices as usize));
        assert!(devices.is_none_or(|(len, devices)| len == 4 + 4 * devices + byte));
        let ports = match ours.ports {
            PortLayout::One { gid } => {
                let theirs = &structures["ncclIbQpInfo"];
                assert_eq!(ours.len, theirs.size);
                assert_eq!(Some(gid), theirs.at("gid").or(theirs.at("spn")));
                assert_eq!(Some(gid + 16), theirs.at("mtu"));
                assert_eq!(Some(gid + 20), theirs.at("fifoRkey"));
                assert_eq!(Some(ours.fifo_address), theirs.at("fifoAddr"));
                assert_eq!(theirs.at("qpn"), Some(ib_endpoint::ONE_PORT_QPN.0));
                assert_eq!(theirs.count("qpn"), ib_endpoint::QUEUE_PAIRS);
                assert_eq!(theirs.at("link_layer"), Some(ib_endpoint::ONE_PORT_LINK_LAYER));
                return;
            }
            PortLayout::Several(ports) => ports,
        };
        let theirs = &structures["ncclIbConnectionMetadata"];
        assert_eq!(ours.len, theirs.size);
        assert_eq!(Some(ours.fifo_address), theirs.at("fifoAddr").or(theirs.at("addr")));
        assert_eq!(Some(ports.devices), theirs.at("devs"));
        assert_eq!(ports.device_limit as usize, theirs.count("devs"));
        assert_eq!(Some(ports.name), theirs.at("devName"));
        assert_eq!(ports.name_len, theirs.size_of("devName"));
        assert_eq!(Some(ports.device_count), theirs.at("ndevs"));
        assert_eq!(ports.traffic_class, theirs.at("tc"));
        assert_eq!(theirs.at("qpInfo"), Some(0));
        assert_eq!(theirs.count("qpInfo"), ib_endpoint::QUEUE_PAIRS);
        assert!(devices.is_none_or(|(_, devices)| devices == theirs.count("devs")));

        let queue_pair = &structures["ncclIbQpInfo"];
        assert_eq!(queue_pair.size, ib_endpoint::QP_INFO_LEN);
        assert_eq!(queue_pair.at("qpn"), Some(0));
        assert_eq!(queue_pair.at("ece_supported"), Some(ib_endpoint::QP_ECE_SUPPORTED));
        assert_eq!(queue_pair.at("devIndex"), Some(ib_endpoint::QP_DEVICE));

        let device = &structures["ncclIbDevInfo"];
        assert_eq!(device.size, ports.device_len);
        assert_eq!(device.at("mtu"), Some(ib_endpoint::DEVICE_MTU));
        assert_eq!(device.at("link_layer"), Some(ib_endpoint::DEVICE_LINK_LAYER));
        let gid = device.at("gid").or(device.at("spn"));
        assert_eq!(gid, Some(ib_endpoint::DEVICE_GID));
        let key = device.at("fifoRkey").or(device.at("rkey"));
        assert_eq!(key, Some(ib_endpoint::DEVICE_RKEY));
    });
}

#[test]
fn clear_to_send() {
    each(|layout, structures| {
        let (ours, theirs) = (layout.cts, &structures["ncclIbSendFifo"]);
        assert_eq!(ours.len, theirs.size);
        assert_eq!((theirs.at("addr"), theirs.at("size")), (Some(0), Some(8)));
        assert_eq!(ours.has_wide_size, theirs.size_of("size") == 8);
        assert_eq!(Some(ours.remote_key), theirs.at("rkey").or(theirs.at("rkeys")));
        assert_eq!(ours.requests, theirs.at("nreqs"));
        assert_eq!(ours.requests.map(|at| at + 4), theirs.at("tag"));
        assert_eq!(Some(ours.number), theirs.at("idx"));
    });
    assert!(LAYOUTS.iter().all(|row| row.cts != &CTS_32_UNTAGGED), "2.11 and earlier only");
}

#[test]
fn sizes_identify_the_release() {
    let range = |fits: fn(&Layout) -> bool| ReleaseRange::covering(narrow(&LAYOUTS, fits)).unwrap();
    let gathers = range(|layout| layout.topology.len == 1192);
    let exchange = range(|layout| layout.endpoint.len == 552);
    let both = gathers.intersect(exchange).unwrap();
    assert_eq!(
        [gathers, exchange, both].map(|range| range.to_string()),
        ["2.18 to 2.19", "2.16 to 2.18", "2.18"]
    );
    assert_eq!(gathers.intersect(range(|layout| layout.endpoint.len == 3336)), None);
    let exact = ReleaseRange::exactly(Release::new(2, 27, 5));
    assert_eq!(exact.to_string(), "2.27.5");
    assert!(narrow(&LAYOUTS, |layout| layout.topology.len == 1193).is_empty());
}
