//! One line of each kind, as each release spells it.

use std::net::IpAddr;

use railscope_core::decode::nccl_log::call::{Call, Choice};
use railscope_core::decode::nccl_log::communicator::{End, Init, InitStage, Split, Summary};
use railscope_core::decode::nccl_log::entries;
use railscope_core::decode::nccl_log::fault::{Cause, FailedCompletion};
use railscope_core::decode::nccl_log::graph::{
    Connected, Edge, EdgeEnd, RingPlace, TreePlace, Via,
};
use railscope_core::decode::nccl_log::message::Message;
use railscope_core::decode::nccl_log::network::{
    Device, GpuDirect, Hca, Interface, Ofi, Plugin, PluginEvent,
};
use railscope_core::decode::nccl_log::queue_pair::{LoggedQueuePair, QueuePairCreated};
use railscope_core::model::nccl::{Algorithm, CollectiveKind, Protocol, Release};
use railscope_core::model::qpn::Qpn;

fn read<T>(text: &str, then: impl FnOnce(Message<'_>) -> T) -> T {
    let line = format!("node-1:152:386 [0] NCCL INFO {text}");
    let mut found = entries(&line);
    let message = found.next().unwrap().message;
    assert_eq!(found.next(), None, "{text}");
    then(message)
}

/// All spellings mean the same.
fn check(spellings: &[&str], expected: Message<'_>) {
    for text in spellings {
        read(text, |message| assert_eq!(message, expected, "{text}"));
    }
}

#[test]
fn ranks() {
    let old = Init {
        function: None,
        pointer: 0x24d3_a6e0,
        rank: 1,
        nranks: 4,
        cuda_device: Some(0),
        nvml_device: None,
        bus_id: Some(0x1b000),
        hash: None,
        split: None,
        stage: InitStage::Complete,
    };
    let head = "comm 0x24d3a6e0 rank 1 nranks 4 cudaDev 0";
    let hash = Some(0x58b3_881f_f264_28af);
    check(&[&format!("{head} busId 1b000 - Init COMPLETE")], Message::Init(old));
    let with_hash = Init { hash, ..old };
    check(
        &[&format!("{head} busId 1b000 commId 0x58b3881ff26428af - Init COMPLETE")],
        Message::Init(with_hash),
    );
    let with_nvml = Init { nvml_device: Some(3), stage: InitStage::Start, ..with_hash };
    let tail = "nvmlDev 3 busId 1b000 commId 0x58b3881ff26428af - Init START";
    check(&[&format!("{head} {tail}")], Message::Init(with_nvml));
    let function = Some("ncclCommInitRankConfig");
    check(
        &[
            &format!("ncclCommInitRankConfig {head} {tail}"),
            &format!("[Rank 1] ncclCommInitRankConfig {head} {tail}"),
        ],
        Message::Init(Init { function, ..with_nvml }),
    );
}

#[test]
fn splits() {
    let head = "ncclCommSplit comm 0x2 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 1b000 parent 0x1";
    let split = |text: &str| {
        read(text, |message| {
            let Message::Init(init) = message else { panic!("{message:?}") };
            (init.split.unwrap(), init.hash)
        })
    };
    let expected = Split { parent: 1, number: Some(1), color: 2_003_953_581, key: 7 };
    for count in ["splitCount", "childCount"] {
        for end in ["- Init START", " - Init COMPLETE"] {
            let text = format!("{head} {count} 1 color 2003953581 key 7{end}");
            assert_eq!(split(&text), (expected, None), "{text}");
        }
    }
    let (found, hash) =
        split(&format!("{head} color 2003953581 key 7 commId 0xab - Init COMPLETE"));
    assert_eq!((found, hash), (Split { number: None, ..expected }, Some(0xab)));
    let shrink = head.replace("ncclCommSplit", "ncclCommShrink");
    assert_eq!(
        split(&format!("{shrink} childCount 1 color 2003953581 key 7- Init START")).0,
        expected
    );
}

#[test]
fn lives_of_communicators() {
    let summary = Summary { pointer: 1, rank: 0, nranks: 8, nodes: 2, local_ranks: 4 };
    check(
        &[
            "comm 0x1 rank 0 nRanks 8 nNodes 2 localRanks 4 localRank 0 MNNVL 0",
            "comm 0x1 rank 0 nRanks 8 nNodes 2 localRanks 4 localRank 0",
        ],
        Message::Summary(summary),
    );
    for (text, is_abort) in [("Destroy", false), ("Abort", true)] {
        let text = format!("comm 0x1 rank 0 nranks 8 cudaDev 0 busId 1b000 - {text} COMPLETE");
        check(&[&text], Message::End(End { pointer: 1, is_abort }));
    }
    for text in [
        "Init timings - ncclCommInitRank: rank 0 nranks 4 total 59.98 (kernels 0.13, rest 0.00)",
        "Init timings: rank 0 nranks 4 total 59.98 (kernels 0.13, rest 0.00)",
    ] {
        read(text, |message| {
            let Message::InitTimings(timings) = message else { panic!("{message:?}") };
            assert_eq!(timings.total_ns, 59_980_000_000);
            let parts: Vec<_> = timings.parts().collect();
            assert_eq!(parts, [("kernels", 130_000_000), ("rest", 0)]);
        });
    }
    check(&["NCCL version 2.27.5+cuda12.9"], Message::Release(Release::new(2, 27, 5)));
    check(&["NCCL version 2.19.3"], Message::Release(Release::new(2, 19, 3)));
}

#[test]
fn interfaces_and_hcas() {
    let interface = Interface { name: "eth0", address: "10.0.4.51" };
    check(
        &["Bootstrap : Using eth0:10.0.4.51<0>", "Bootstrap: Using eth0:10.0.4.51<0>"],
        Message::BootstrapInterface(interface),
    );
    let scoped = Interface { name: "eth0", address: "fe80::1%eth0" };
    check(&["Bootstrap: Using eth0:fe80::1%eth0<0>"], Message::BootstrapInterface(scoped));
    assert_eq!(scoped.ip(), "fe80::1".parse::<IpAddr>().ok());
    check(
        &[
            "Bootstrap : Using [0]eth0:10.0.4.51<0> [1]eth1:10.0.5.51<0>",
            "NET : Using interface eth0:10.0.4.51<0>",
        ],
        Message::BootstrapInterface(interface),
    );
    read("NET/Socket : Using [0]eth0:10.0.4.51<0> [1]eth1:10.0.5.51<0>", |message| {
        let Message::SocketInterfaces(all) = message else { panic!("{message:?}") };
        let second = Interface { name: "eth1", address: "10.0.5.51" };
        assert!(all.iter().eq([interface, second]));
    });
    check(&["NET/IB : No device found."], Message::NoHca);

    let (first, second) = (("mlx5_0", 1, "RoCE"), ("mlx5_1", 2, "IB"));
    for (text, expected) in [
        ("NET/IB : Using [RO]; OOB eth0:10.0.4.51<0>", vec![]),
        ("NET/IB : Using [0]mlx5_0:1/RoCE ; OOB eth0:10.0.4.51<0>", vec![first]),
        (
            "NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:2/IB [RO]; OOB eth0:10.0.4.51<0>",
            vec![first, second],
        ),
        (
            "NET/IB : Using [0]={[0] mlx5_0:1/RoCE, [1] mlx5_1:2/IB} [RO]; OOB eth0:10.0.4.51<0>",
            vec![first, second],
        ),
        ("NET/IB : Using [0]mlx5_0:1:3:0/RoCE [RO]; OOB eth0:10.0.4.51<0>", vec![first]),
    ] {
        read(text, |message| {
            let Message::Hcas(hcas) = message else { panic!("{text}: {message:?}") };
            assert_eq!(hcas.oob, Some(interface), "{text}");
            let found =
                hcas.iter().map(|Hca { device, port, link_layer }| (device, port, link_layer));
            assert_eq!(found.collect::<Vec<_>>(), expected, "{text}");
        });
    }
    check(
        &[
            "NET/IB: [0] mlx5_0:uverbs0:1/RoCE provider=Mlx5 speed=400000 context=0x1 pciPath=/sys ar=1",
            "NET/IB: [0] mlx5_0:uverbs0:1/RoCE provider=Mlx5 speed=400000 context=0x1 pciPath=/sys ar=1 oooRqSize=0",
        ],
        Message::Device(Device {
            name: "mlx5_0",
            speed_mbps: Some(400_000),
            is_adaptive: Some(true),
        }),
    );
    let merged = Device { name: "mlx5_0+mlx5_1", speed_mbps: Some(800_000), is_adaptive: None };
    check(
        &["NET/IB : Made virtual device [2] name=mlx5_0+mlx5_1 speed=800000 ndevs=2"],
        Message::VirtualDevice(merged),
    );
    for (text, is_enabled) in [("Enabled", true), ("Disabled", false)] {
        let text = format!("NET/IB : GPU Direct RDMA {text} for HCA 0 'mlx5_0'");
        let direct = GpuDirect {
            device: Some("mlx5_0"),
            number: Some(0),
            distance: None,
            reason: None,
            is_enabled,
        };
        check(&[&text], Message::GpuDirect(direct));
    }
    let far = GpuDirect {
        device: None,
        number: Some(0),
        distance: Some("4 >= 2"),
        reason: None,
        is_enabled: false,
    };
    let text = "NET/IB : GPU Direct RDMA Disabled for GPU 3[3] / HCA 0 (distance 4 >= 2)";
    check(&[text], Message::GpuDirect(far));
    let old = GpuDirect {
        device: Some("mlx5_3"),
        number: Some(6),
        distance: None,
        reason: Some("no module or not supported by GPU"),
        is_enabled: false,
    };
    let text = "NET/IB : GPU Direct RDMA Disabled for GPU 2[2] / HCA 6 'mlx5_3' (no module or not \
                supported by GPU)";
    check(&[text], Message::GpuDirect(old));
}

#[test]
fn networks_and_plugins() {
    check(&["Using network AWS Libfabric"], Message::Network("AWS Libfabric"));
    check(&["Initialized NET plugin IB"], Message::InitializedNetwork("IB"));
    check(&["Assigned NET plugin IB to comm"], Message::AssignedNetwork("IB"));
    let net = |event| Message::Plugin(Plugin { area: "NET", event });
    check(
        &[
            "NET/Plugin: Loaded net plugin AWS Libfabric (v10)",
            "NET/Plugin : Loaded net plugin AWS Libfabric (v4)",
        ],
        net(PluginEvent::Loaded("AWS Libfabric")),
    );
    check(
        &[
            "NET/Plugin: Could not find: libnccl-net.so. ",
            "NET/Plugin: Could not find: libnccl-net.so",
            "NET/Plugin: No plugin found (libnccl-net.so)",
            "NET/Plugin : Plugin load (libnccl-net.so) returned 2 : libnccl-net.so: cannot open shared object file: No such file or directory",
            "NET/Plugin: Plugin load returned 2 : libnccl-net.so: cannot open shared object file: No such file or directory : when loading libnccl-net.so",
        ],
        net(PluginEvent::Missing("libnccl-net.so")),
    );
    check(
        &["NET/Plugin : No plugin found, using internal implementation"],
        net(PluginEvent::Missing("")),
    );
    check(&["NET/Plugin: Using internal network plugin."], net(PluginEvent::Internal));
    check(
        &["NET/Plugin: Plugin name set by env to libnccl-net.so"],
        net(PluginEvent::Named("libnccl-net.so")),
    );
    check(
        &["TUNER/Plugin: Using tuner plugin nccl_ofi_tuner"],
        Message::Plugin(Plugin { area: "TUNER", event: PluginEvent::Loaded("nccl_ofi_tuner") }),
    );
    check(&["NET/OFI Initializing aws-ofi-nccl 1.16.2"], Message::Ofi(Ofi::Release("1.16.2")));
    check(&["NET/OFI Using Libfabric version 2.1"], Message::Ofi(Ofi::Libfabric("2.1")));
    check(&["NET/OFI No eligible providers were found"], Message::Ofi(Ofi::NoProvider));
    check(
        &[
            "NET/OFI Selected provider is efa, fabric is efa (found 4 nics)",
            "NET/OFI Selected Provider is efa, fabric is efa (found 4 nics)",
        ],
        Message::Ofi(Ofi::Provider("efa, fabric is efa (found 4 nics)")),
    );
}

#[test]
fn graphs() {
    for (text, channels) in [
        ("Channel 01/02 : 0 1 2 3", Some(2)),
        ("Channel 01/02 :    0   1   2   3", Some(2)),
        ("Channel 01 :    0   1   2   3", None),
        ("Ring 01 :    0   1   2   3", None),
    ] {
        read(text, |message| {
            let Message::RingOrder(ring) = message else { panic!("{message:?}") };
            assert_eq!((ring.channel, ring.channels), (1, channels));
            assert!(ring.ranks().eq(0..4));
        });
    }
    let place = RingPlace { channel: 0, previous: 3, rank: 0, next: 1 };
    check(&["Ring 00 : 3 -> 0 -> 1"], Message::RingPlace(place));
    let tree = TreePlace { channel: 1, up: Some(3), rank: 1, down: [Some(2), Some(0), None] };
    check(&["Tree 1 : 3 -> 1 -> 2/0/-1"], Message::TreePlace(tree));
    read("Trees [0] -1/-1/-1->1->2 [1] 2/0/-1->1->3", |message| {
        let Message::Trees(trees) = message else { panic!("{message:?}") };
        let root = TreePlace { channel: 0, up: Some(2), rank: 1, down: [None; 3] };
        assert_eq!(trees.iter().collect::<Vec<_>>(), [root, tree]);
    });
    let rings = |pxn, gpu_direct| Message::Connected(Connected { what: "rings", pxn, gpu_direct });
    check(&["Connected all rings"], rings(None, None));
    check(&["Connected all rings, use ring PXN 0 GDR 1"], rings(Some(false), Some(true)));
}

#[test]
fn edges() {
    let net = |proxy_rank, is_gpu_direct, is_shared| Via::Net {
        network: "IB",
        device: Some(2),
        proxy_rank,
        is_gpu_direct,
        is_shared,
    };
    let of_gpus = |gpus, connection_index, end, via| {
        Message::Edge(Edge {
            channel: 1,
            connection_index,
            sender: 3,
            receiver: 10,
            gpus,
            end,
            via,
        })
    };
    let edge = |index, end, via| of_gpus([Some(7), Some(0)], Some(index), end, via);
    let send = Some(EdgeEnd::Send);
    check(
        &["Channel 01/0 : 3[7] -> 10[0] [send] via NET/IB/2"],
        edge(0, send, net(None, false, false)),
    );
    check(
        &["Channel 01 : 3[1b000] -> 10[1c000] [send] via NET/IB/2"],
        of_gpus([Some(0x1b000), Some(0x1c000)], None, send, net(None, false, false)),
    );
    check(
        &["Ring 01 : 3 -> 10 [send] via NET/IB/2"],
        of_gpus([None, None], None, send, net(None, false, false)),
    );
    check(
        &["Channel 01/1 : 3[7] -> 10[0] [receive] via NET/IB/2/GDRDMA/Shared"],
        edge(1, Some(EdgeEnd::Receive), net(None, true, true)),
    );
    check(
        &[
            "Channel 01/0 : 3[7] -> 10[0] [send] via NET/IB/2(5)/GDRDMA",
            "Channel 01/0 : 3[7] -> 10[0] [send] via NET/IB/2(5)/GDRDMA(PCI)",
        ],
        edge(0, send, net(Some(5), true, false)),
    );
    check(
        &["Channel 01/0 : 3[7] -> 10[0] via P2P/CUMEM/read"],
        edge(0, None, Via::Local("P2P/CUMEM/read")),
    );
    read("Channel 00 : 0[0] -> 1[1] via SHM/direct/direct", |message| {
        let Message::Edge(edge) = message else { panic!("{message:?}") };
        assert_eq!((edge.connection_index, edge.via), (None, Via::Local("SHM/direct/direct")));
    });
}

#[test]
fn queue_pairs() {
    let pair = |cts_remote_key| LoggedQueuePair {
        qpn: Qpn::new(127),
        device: Some(0),
        address: Some(IpAddr::from([10, 0, 0, 1])),
        cts_remote_key,
    };
    check(
        &["NET/IB: Dev 0 Port 1 qpn 127 mtu 5 GID 1 (0/100000AFFFF0000)"],
        Message::QueuePair(pair(None)),
    );
    check(
        &[
            "NET/IB: NCCL Dev 0 IbDev 0 Port 1 qpn 127 mtu 5 GID 1 (0/100000AFFFF0000) fifoRkey=0x3a3 fifoLkey=0x3a3",
            "NET/IB: NCCL MergedDev 0 IbDev 0 Port 1 qpn 127 mtu 5 GID 1 (0/100000AFFFF0000) fifoRkey=0x3a3 fifoLkey=0x3a3",
            "NET/IB: NCCL Dev 0 IbDev 0 Port 1 qpn 127 mtu 5 query_ece={supported=0, vendor_id=0x0, options=0x0, comp_mask=0x0} GID 1 (0/100000AFFFF0000) fifoRkey=0x3a3 fifoLkey=0x3a3",
            "NET/IB: ncclIbConnectImpl: NCCL Dev 0 IbDev 0 Port 1 qp_num 127 mtu 5 GID 1 (0/100000AFFFF0000) ctsFifoRkey=0x3a3 ctsFifoLkey=0x3a3",
        ],
        Message::QueuePair(pair(Some(0x3a3))),
    );
    let on_infiniband = LoggedQueuePair { address: None, ..pair(None) };
    check(&["NET/IB: Dev 0 Port 1 qpn 127 mtu 5 LID 17"], Message::QueuePair(on_infiniband));
    let created = |end, is_flush| {
        let device = Some("mlx5_0");
        Message::QueuePairCreated(QueuePairCreated { qpn: Qpn::new(128), device, is_flush, end })
    };
    let tail =
        "QP created: port=1 dev=0 devName=mlx5_0 ndevs=1 nmdevs=1 qp_num=128 pkey=0 pd=0x1 oooRq=0";
    check(
        &[&format!("NET/IB: ncclIbSenderQpsCreate: {tail}")],
        created(Some(EdgeEnd::Send), false),
    );
    check(
        &[&format!("NET/IB: ncclIbReceiverQpsCreateToRts: {tail}")],
        created(Some(EdgeEnd::Receive), false),
    );
    check(&[&format!("NET/IB: ncclIbAccept: Flush {tail}")], created(None, true));
}

#[test]
fn calls_and_choices() {
    let call = Call {
        name: "AllReduce",
        kind: CollectiveKind::AllReduce,
        number: 0x1f,
        bytes: Some(1 << 20),
        root: 0,
        pointer: 0x7f,
        nranks: Some(4),
    };
    let text = |datatype: u32| {
        format!(
            "AllReduce: opCount 1f sendbuff 0x1 recvbuff 0x2 count 262144 datatype {datatype} \
             op 0 root 0 comm 0x7f [nranks=4] stream 0x3"
        )
    };
    check(&[&text(7), &text(2)], Message::Call(call));
    check(&[&text(9), &text(6)], Message::Call(Call { bytes: Some(1 << 19), ..call }));
    check(&[&text(12)], Message::Call(Call { bytes: None, ..call }));

    let choice = Choice {
        kind: None,
        bytes: 1_048_576,
        algorithm: Algorithm::Ring,
        protocol: Protocol::Simple,
        channels: None,
    };
    let named = Choice { kind: Some(CollectiveKind::AllReduce), ..choice };
    check(&["1048576 Bytes -> Algo 1 proto 2 time 1745.123"], Message::Choice(choice));
    check(&["AllReduce: 1048576 Bytes -> Algo 1 proto 2 time 1745.1"], Message::Choice(named));
    check(
        &["AllReduce: 1048576 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..15}"],
        Message::Choice(Choice { channels: Some((0, 15)), ..named }),
    );
    let tree = Choice { algorithm: Algorithm::Tree, protocol: Protocol::Ll128, ..choice };
    check(&["1048576 Bytes -> Algo 0 proto 1 time 17.4"], Message::Choice(tree));
}

#[test]
fn faults() {
    let failed =
        FailedCompletion { peer: "10.0.0.2", status: 12, vendor_error: Some(129), device: None };
    check(
        &[
            "NET/IB : Got completion from peer 10.0.0.2<43210> with error 12, opcode 0, len 0, vendor err 129",
            "NET/IB : Got completion from peer 10.0.0.2<43210> with status=12 opcode=0 len=0 vendor err 129 (Send)",
            "NET/IB : Got completion from peer 10.0.0.2<43210> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_SEND(0) reqSize=0 vendor err 129 (Send)",
        ],
        Message::FailedCompletion(failed),
    );
    check(
        &[
            "NET/IB : Got completion from peer 10.0.0.2<43210> with status=12 opcode=0 len=0 vendor err 129 (Send) localGid ::1 remoteGids::2 hca mlx5_0",
        ],
        Message::FailedCompletion(FailedCompletion { device: Some("mlx5_0"), ..failed }),
    );
    for (text, is_fatal) in [
        ("NET/IB : mlx5_0:1 async fatal event: local catastrophic error", true),
        ("NET/IB : mlx5_0:1 Got non-fatal async event: client reregistration event(17)", false),
        ("NET/IB : mlx5_0:1 Got async error event: port error", false),
    ] {
        read(text, |message| {
            let Message::AsyncEvent(event) = message else { panic!("{text}: {message:?}") };
            assert_eq!(event.is_fatal, is_fatal, "{text}");
        });
    }
    for (text, cause) in [
        (
            "NET/IB : Got completion from peer 10.0.0.2<1> with status=IBV_WC_RETRY_EXC_ERR(12)",
            Cause::RetryExceeded,
        ),
        ("NET/IB : Got completion from peer 10.0.0.2<1> with status=5", Cause::WorkRequest),
        ("socketFinalizeAccept: wrong magic 1 != 2", Cause::ControlPlane),
        ("Bootstrap Root : mismatch in rank count from procs 4 : 8", Cause::Mismatch),
        ("NET/OFI Initializing plugin failed", Cause::Plugin),
        ("Cuda failure 'out of memory'", Cause::Memory),
        ("Something new", Cause::Other),
    ] {
        assert_eq!(Cause::from_text(text), cause, "{text}");
    }
}

#[test]
fn variables() {
    check(
        &[
            "NCCL_IB_TC set by environment to 106.",
            "NCCL_IB_TC set by environment to 106",
            "NCCL_IB_TC set to 106",
        ],
        Message::Environment { name: "NCCL_IB_TC", value: "106" },
    );
}
