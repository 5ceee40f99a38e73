//! Each check on a tree where all is right, and on one where it is not.

use railscope::doctor::check;
use railscope::doctor::fact::Facts;
use railscope::doctor::fact::dcb::Dcb;
use railscope::doctor::outcome::{Outcome, Status};
use railscope::ingest::counter::ethtool::LinkPause;

use super::tree::{Files, NAMES};

/// What one check says.
pub(super) fn says(facts: &Facts, name: &str) -> Vec<(Status, String)> {
    let all = check::judge(facts).into_iter().filter(|outcome| outcome.check == name);
    all.map(|Outcome { status, says, .. }| (status, says)).collect()
}

/// What one check says of a tree with these lines and variables.
pub(super) fn of(
    tree: &str,
    lines: &[&str],
    variables: &[(&str, &str)],
    name: &str,
) -> Vec<(Status, String)> {
    says(&Files::with(tree, lines).facts(variables), name)
}

/// Whether a check says one thing, of this status, with these words.
#[track_caller]
pub(super) fn expect(found: &[(Status, String)], status: Status, words: &str) {
    let is_said = found.iter().any(|(own, says)| *own == status && says.contains(words));
    assert!(is_said, "{status:?} {words:?} is not in {found:#?}");
}

#[test]
fn every_tree_as_a_whole() {
    for name in NAMES {
        let facts = Files::of(name).facts(&[]);
        let mut text = String::new();
        for outcome in check::judge(&facts) {
            let status = format!("{:?}", outcome.status).to_lowercase();
            text.push_str(&format!("{:18} {status:8} {}\n", outcome.check, outcome.says));
        }
        insta::with_settings!({ snapshot_path => "trees", prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(*name, text);
        });
    }
}

#[test]
fn the_page_has_every_check() {
    let page = include_str!("../../docs/doctor.md");
    for check in check::ALL {
        let row = format!("| `{}` | {} |", check.name, check.asks);
        assert!(page.contains(&row), "{row}");
    }
}

#[test]
fn a_good_node_has_nothing_against_it() {
    for name in ["mlx5_roce_8", "infiniband", "bnxt"] {
        let outcomes = check::judge(&Files::of(name).facts(&[]));
        let bad: Vec<&Outcome> =
            outcomes.iter().filter(|one| one.status >= Status::Warning).collect();
        assert!(bad.is_empty(), "{name}: {bad:#?}");
        assert!(
            outcomes.iter().all(|one| !one.seen.is_empty() && !one.says.contains("  ")),
            "{outcomes:#?}"
        );
    }
}

#[test]
fn devices() {
    expect(&of("container", &[], &[], "rdma_devices"), Status::Critical, "No RDMA device");
    expect(
        &of("container", &[], &[], "rdma_devices"),
        Status::Critical,
        "The host's driver has 0000:19:00.0; this container was not given it",
    );
    expect(&of("efa", &[], &[], "rdma_devices"), Status::Note, "2 devices of EFA: it speaks SRD");
    expect(&of("infiniband", &[], &[], "rdma_devices"), Status::Right, "mlx5_0, mlx5_1 and mlx5_2");
}

pub(super) const DOWN: &str = "/sys/class/infiniband/mlx5_3/ports/1/state = 1: DOWN";

#[test]
fn states_of_ports() {
    let tree = "mlx5_roce_8";
    expect(&of(tree, &[], &[], "port_state"), Status::Right, "All 8 RDMA ports are active.");
    expect(&of(tree, &[DOWN], &[], "port_state"), Status::Warning, "a rail is missing");
    let selected = of(tree, &[DOWN], &[("NCCL_IB_HCA", "mlx5_3")], "port_state");
    expect(&selected, Status::Critical, "NCCL_IB_HCA names no port that is up");
    expect(
        &of("infiniband", &[], &[], "port_state"),
        Status::Note,
        "1 of 3 RDMA ports down: mlx5_2",
    );
    let waiting = ["/sys/class/infiniband/mlx5_1/ports/1/state = 2: INIT"];
    expect(&of("infiniband", &waiting, &[], "port_state"), Status::Warning, "no subnet manager");
    let both = [waiting[0], "/sys/class/infiniband/mlx5_0/ports/1/state = 2: INIT"];
    expect(&of("infiniband", &both, &[], "port_state"), Status::Critical, "no subnet manager");
    let all = [0, 1].map(|at| format!("/sys/class/infiniband/bnxt_re{at}/ports/1/state = 1: DOWN"));
    expect(
        &of("bnxt", &all.each_ref().map(String::as_str), &[], "port_state"),
        Status::Critical,
        "No RDMA port is active: 2 ports down",
    );
}

#[test]
fn speeds_of_ports() {
    let tree = "mlx5_roce_8";
    expect(&of(tree, &[], &[], "port_speed"), Status::Right, "8 ports at 400 Gb/s");
    let slow = ["/sys/class/infiniband/mlx5_6/ports/1/rate = 200 Gb/sec (4X HDR)"];
    expect(
        &of(tree, &slow, &[], "port_speed"),
        Status::Warning,
        "mlx5_6 (rail6) runs at 200 Gb/s, its twins at 400 Gb/s",
    );
}

#[test]
fn versions_of_firmware() {
    expect(&of("mlx5_roce_8", &[], &[], "firmware"), Status::Right, "28.39.1002");
    let old = ["/sys/class/infiniband/mlx5_2/fw_ver = 28.36.1010"];
    expect(&of("mlx5_roce_8", &old, &[], "firmware"), Status::Warning, "28.36.1010 on mlx5_2");
}

#[test]
fn gids() {
    let tree = "mlx5_roce_8";
    expect(
        &of(tree, &[], &[], "gids"),
        Status::Right,
        "8 RoCE ports with a routable RoCE v2 GID, at index 3 on each",
    );
    let none = ["/sys/class/infiniband/mlx5_1/ports/1/gid_attrs/types/3 = IB/RoCE v1"];
    expect(
        &of(tree, &none, &[], "gids"),
        Status::Warning,
        "mlx5_1 (rail1): link-local IPv6 addresses only",
    );
    for (index, is_right) in [("3", true), ("0", false), ("2", false), ("9", false)] {
        let found = of(tree, &[], &[("NCCL_IB_GID_INDEX", index)], "gids");
        assert_eq!(found[0].0 == Status::Right, is_right, "{index}: {found:?}");
    }
    assert!(of("infiniband", &[], &[("NCCL_IB_GID_INDEX", "3")], "gids").is_empty());
    expect(&of("dgx_spark", &[], &[], "gids"), Status::Note, "link-local");
}

#[test]
fn networks_of_rails() {
    expect(
        &of("mlx5_roce_8", &[], &[], "networks"),
        Status::Right,
        "8 rails, each in a network of its own",
    );
    let cross = of("mlx5_roce_8", &[], &[("NCCL_CROSS_NIC", "1")], "networks");
    expect(&cross, Status::Note, "NCCL_CROSS_NIC=1");
    expect(
        &of("dgx_spark", &[], &[], "networks"),
        Status::Note,
        "share the network 169.254.0.0/16",
    );
    let right = [
        "/proc/sys/net/ipv4/conf/all/arp_ignore = 1",
        "/proc/sys/net/ipv4/conf/all/arp_announce = 2",
    ];
    assert!(of("dgx_spark", &right, &[], "networks").is_empty());
}

#[test]
fn mtus() {
    expect(&of("mlx5_roce_8", &[], &[], "mtu"), Status::Right, "path MTU 4096");
    let one = ["/sys/class/net/rail4/mtu = 1500"];
    expect(
        &of("mlx5_roce_8", &one, &[], "mtu"),
        Status::Warning,
        "1500 on rail4; 9000 on rail0, rail1, rail2 and 4 more",
    );
    expect(
        &of("dgx_spark", &[], &[], "mtu"),
        Status::Note,
        "RDMA packets carry 1024 bytes instead of 4096",
    );
}

#[test]
fn namespaces_of_rdma_devices() {
    expect(&of("bnxt", &[], &[], "rdma_namespace"), Status::Right, "shared");
    let own = ["/sys/module/ib_core/parameters/netns_mode = N"];
    expect(&of("bnxt", &own, &[], "rdma_namespace"), Status::Note, "exclusive");
}

#[test]
fn files_of_devices() {
    expect(&of("bnxt", &[], &[], "character_devices"), Status::Right, "2 devices may be opened.");
    let gone = ["delete /dev/infiniband/uverbs1"];
    expect(
        &of("bnxt", &gone, &[], "character_devices"),
        Status::Warning,
        "/dev/infiniband has no uverbs1",
    );
}

#[test]
fn locked_memory() {
    let mut facts = Files::of("bnxt").facts(&[]);
    expect(&says(&facts, "locked_memory"), Status::Unknown, "below --root");
    facts.resources.may_lock_all = Some(false);
    facts.resources.locked = Ok(Some(8 << 20));
    expect(&says(&facts, "locked_memory"), Status::Critical, "may pin 8.0 MiB only");
    facts.resources.may_lock_all = Some(true);
    expect(&says(&facts, "locked_memory"), Status::Right, "no limit");
    facts.is_of_job = false;
    expect(&says(&facts, "locked_memory"), Status::Note, "CAP_IPC_LOCK");
    facts.resources.locked = Ok(None);
    expect(&says(&facts, "locked_memory"), Status::Right, "no limit");
}

/// A node whose interfaces have these priorities.
fn with_priorities(pfc: impl Fn(usize) -> Option<usize>, variables: &[(&str, &str)]) -> Facts {
    let mut facts = Files::of("mlx5_roce_8").facts(variables);
    for (at, interface) in facts.interfaces.as_mut().unwrap().iter_mut().enumerate() {
        let mut on = [false; 8];
        pfc(at).into_iter().for_each(|priority| on[priority] = true);
        // DSCP 26 leads to priority 3, as its upper three bits say.
        let dscp = (0..64).map(|dscp| (dscp, dscp >> 3)).collect();
        interface.dcb = Ok(Dcb { pfc: Some(on), dscp, ..Dcb::default() });
        interface.pause = Ok(LinkPause { receives: false, sends: false });
    }
    facts
}

#[test]
fn priorities() {
    expect(&of("mlx5_roce_8", &[], &[], "priorities"), Status::Unknown, "below --root");
    expect(
        &says(&with_priorities(|_| Some(3), &[]), "priorities"),
        Status::Right,
        "Priority 3 can be paused",
    );
    expect(
        &says(&with_priorities(|_| None, &[]), "priorities"),
        Status::Note,
        "No priority can be paused",
    );
    let differing = with_priorities(|at| Some(if at == 5 { 4 } else { 3 }), &[]);
    expect(&says(&differing, "priorities"), Status::Warning, "4 on rail5; 3 on rail0");
    assert!(says(&Files::of("infiniband").facts(&[]), "priorities").is_empty());
}

#[test]
fn traffic_classes() {
    let of_class = |class| with_priorities(|_| Some(3), &[("NCCL_IB_TC", class)]);
    expect(&says(&of_class("106"), "traffic_class"), Status::Right, "Traffic class 106 (DSCP 26)");
    expect(&says(&of_class("136"), "traffic_class"), Status::Warning, "leads to priority 4");
    expect(
        &says(&with_priorities(|_| Some(3), &[]), "traffic_class"),
        Status::Warning,
        "Traffic class 0 (DSCP 0) leads to priority 0",
    );
    let forced = ["/sys/class/infiniband/mlx5_1/tc/1/traffic_class = Global tclass=236"];
    expect(&of("mlx5_roce_8", &forced, &[], "traffic_class"), Status::Note, "class 236 (DSCP 59)");
    assert!(of("mlx5_roce_8", &forced, &[("NCCL_IB_TC", "236")], "traffic_class").is_empty());
}

#[test]
fn link_level_pause() {
    let mut facts = with_priorities(|_| Some(3), &[]);
    assert!(says(&facts, "link_pause").is_empty());
    let set = |facts: &mut Facts| {
        facts.interfaces.as_mut().unwrap()[2].pause = Ok(LinkPause { receives: true, sends: true });
    };
    set(&mut facts);
    expect(&says(&facts, "link_pause"), Status::Warning, "both on at rail2");
    let mut facts = with_priorities(|_| None, &[]);
    set(&mut facts);
    expect(&says(&facts, "link_pause"), Status::Note, "pause is on at rail2");
}

#[test]
fn congestion_control() {
    let check = "congestion_control";
    expect(&says(&with_priorities(|_| Some(3), &[]), check), Status::Right, "NICs send CNPs");
    expect(
        &says(&with_priorities(|_| Some(5), &[]), check),
        Status::Warning,
        "rail0 pauses priority 5 without",
    );
    expect(&of("bnxt", &[], &[], check), Status::Unknown, "only MLNX_OFED");
    assert!(of("vm_rxe", &[], &[], check).is_empty());
}

const NIC: &str = "/sys/devices/pci0000:26/0000:26:01.0/0000:27:00.0/0000:28:01.0/0000:2a:00.0";

#[test]
fn links_of_pcie() {
    let tree = "mlx5_roce_8";
    expect(&of(tree, &[], &[], "pcie_link"), Status::Right, "16 PCIe links");
    let narrow = format!("{NIC}/current_link_width = 8");
    let found = of(tree, &[&narrow], &[], "pcie_link");
    expect(
        &found,
        Status::Warning,
        "mlx5_1 (0000:2a:00.0) is linked at 32 GT/s x8: that carries 227 Gb/s of the port's 400 Gb/s",
    );
    // DGX Spark's functions have four lanes each, and share a port.
    expect(&of("dgx_spark", &[], &[], "pcie_link"), Status::Note, "share one port");
}

#[test]
fn settings_of_pcie() {
    let tree = "mlx5_roce_8";
    expect(&of(tree, &[], &[], "read_request"), Status::Right, "as large as");
    let small = format!("{NIC}/config = hex:4096 34=60 60=10 68=10 69=20");
    expect(&of(tree, &[&small], &[], "read_request"), Status::Note, "mlx5_1 (512 bytes)");
    let hidden: Vec<String> =
        (0..8).map(|at| format!("delete /sys/class/infiniband/mlx5_{at}/device/config")).collect();
    let hidden: Vec<&str> = hidden.iter().map(String::as_str).collect();
    expect(&of(tree, &hidden, &[], "read_request"), Status::Unknown, "for root only");

    expect(
        &of(tree, &[], &[], "access_control"),
        Status::Right,
        "16 bridges between GPUs and NICs",
    );
    let redirects = [
        "/sys/devices/pci0000:a7/0000:a7:01.0/0000:a8:00.0/0000:a9:01.0/config = hex:4096 100=0d 106=1d",
    ];
    expect(
        &of(tree, &redirects, &[], "access_control"),
        Status::Warning,
        "ACS redirects requests at 1 bridge: 0000:a9:01.0",
    );

    expect(&of(tree, &[], &[], "iommu"), Status::Right, "identity");
    let translates = format!("{NIC}/iommu_group/type = DMA-FQ");
    expect(
        &of(tree, &[&translates], &[], "iommu"),
        Status::Warning,
        "translates addresses of 0000:2a:00.0",
    );
    let none = ["delete /sys/class/iommu"];
    expect(&of(tree, &none, &[], "iommu"), Status::Right, "No IOMMU");
}

#[test]
fn distances_of_gpus() {
    let tree = "mlx5_roce_8";
    expect(
        &of(tree, &[], &[], "gpu_distance"),
        Status::Right,
        "Each of 8 GPUs has a NIC within PIX",
    );
    expect(
        &of(tree, &[DOWN], &[], "gpu_distance"),
        Status::Warning,
        "No NIC nearer than NODE for GPU (0000:4b:00.0)",
    );
    let guest = ["/sys/class/dmi/id/sys_vendor = QEMU"];
    expect(&of(tree, &guest, &[], "gpu_distance"), Status::Unknown, "NCCL_TOPO_FILE");
}

#[test]
fn memory_of_gpus() {
    let tree = "mlx5_roce_8";
    expect(&of(tree, &[], &[], "gpu_direct"), Status::Right, "peer memory");
    let gone = ["delete /sys/module/nvidia_peermem"];
    expect(&of(tree, &gone, &[], "gpu_direct"), Status::Warning, "nvidia_peermem is not loaded");
    let unregistered = ["delete /sys/kernel/mm/memory_peers"];
    expect(
        &of(tree, &unregistered, &[], "gpu_direct"),
        Status::Warning,
        "RDMA core has no peer memory",
    );
    expect(&of("dgx_spark", &[], &[], "gpu_direct"), Status::Note, "no memory of its own");
    let open = [
        "/proc/driver/nvidia/version = NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.90.07",
    ];
    expect(&of(tree, &[gone[0], open[0]], &[], "gpu_direct"), Status::Right, "DMA-BUF");
    let idle = ["delete /sys/devices/pci000f:00/000f:00:00.0/000f:01:00.0/driver"];
    expect(
        &of("dgx_spark", &idle, &[], "gpu_direct"),
        Status::Warning,
        "1 GPU without the maker's driver",
    );
}

#[test]
fn resources_of_a_process() {
    let mut facts = Files::of("bnxt").facts(&[]);
    for check in ["shared_memory", "open_files"] {
        expect(&says(&facts, check), Status::Unknown, "below --root");
    }
    facts.resources.shared_memory = Ok(64 << 20);
    expect(&says(&facts, "shared_memory"), Status::Warning, "/dev/shm has 64.0 MiB");
    facts.resources.shared_memory = Ok(64 << 30);
    expect(&says(&facts, "shared_memory"), Status::Right, "64.0 GiB");
    facts.resources.files = Ok(Some(1024));
    expect(&says(&facts, "open_files"), Status::Note, "At most 1024");
    facts.resources.files = Ok(None);
    expect(&says(&facts, "open_files"), Status::Right, "no limit");
    assert!(says(&facts, "control_group").is_empty());
    let set =
        |file: &str, value: &str| vec![(format!("/sys/fs/cgroup/job/{file}"), value.to_owned())];
    facts.resources.group = set("rdma.max", "mlx5_0 hca_handle=2 hca_object=2000");
    expect(&says(&facts, "control_group"), Status::Warning, "hca_object=2000");
    facts.resources.group = set("rdma.max", "mlx5_0 hca_handle=max hca_object=max");
    assert!(says(&facts, "control_group").is_empty());
    facts.resources.group = set("pids.max", "512");
    expect(&says(&facts, "control_group"), Status::Warning, "At most 512");
}

#[test]
fn processors_and_memory() {
    expect(&of("mlx5_roce_8", &[], &[], "processors"), Status::Right, "performance");
    let slow = [
        "/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor = powersave",
        "/proc/sys/kernel/numa_balancing = 1",
    ];
    let found = of("mlx5_roce_8", &slow, &[], "processors");
    expect(&found, Status::Note, "powersave on 1 CPU");
    expect(&found, Status::Note, "moves memory between NUMA nodes");
}

#[test]
fn clocks_and_filters() {
    use railscope::doctor::fact::clock::Clock;
    use railscope::doctor::fact::firewall::Firewall;
    let mut facts = Files::of("bnxt").facts(&[]);
    for (is_synchronised, max_error_us, status) in
        [(true, 800, Status::Right), (true, 400_000, Status::Note), (false, 800, Status::Note)]
    {
        facts.clock = Ok(Clock { is_synchronised, max_error_us, estimated_error_us: 10 });
        assert_eq!(says(&facts, "clock")[0].0, status);
    }
    let rules = r#"{"nftables": [{"metainfo": {"version": "1.0.6"}},
        {"chain": {"family": "inet", "table": "filter", "name": "input", "type": "filter", "hook": "input", "prio": 0, "policy": "drop"}},
        {"chain": {"family": "inet", "table": "filter", "name": "forward", "hook": "forward", "prio": 0, "policy": "drop"}}]}"#;
    facts.firewall = Ok(Firewall::of_rules(&serde_json::from_str(rules).unwrap()));
    expect(&says(&facts, "firewall"), Status::Note, "inet filter input drops what no rule accepts");
    facts.firewall = Ok(Firewall::default());
    expect(&says(&facts, "firewall"), Status::Right, "No packet filter");
}

#[test]
fn counters_that_rise() {
    use railscope::doctor::fact::rise::Rise;
    use railscope_core::decode::counter::measure::Measure;
    let mut facts = Files::of("bnxt").facts(&[]);
    let rise = |total, rose| Rise {
        device: "bnxt_re0".to_owned(),
        counter: "to_retransmits".to_owned(),
        measure: Measure::AckTimeouts,
        total,
        rose,
    };
    facts.rise = Ok(vec![rise(7, 0)]);
    expect(&says(&facts, "counters"), Status::Right, "None of 1 error counters");
    facts.rise = Ok(vec![rise(9, 2)]);
    expect(&says(&facts, "counters"), Status::Warning, "bnxt_re0 to_retransmits 2");
    facts.rise = Ok(Vec::new());
    expect(&says(&facts, "counters"), Status::Unknown, "no RDMA device here has counters");
}

#[test]
fn versions() {
    expect(
        &of("mlx5_roce_8", &[], &[], "versions"),
        Status::Right,
        "NCCL 2.27.5, CUDA 12.4.1, NVIDIA driver 550.90.07, mlx5 24.07-0.6.1",
    );
    let second = ["/usr/lib/x86_64-linux-gnu/libnccl.so.2.21.5 ="];
    expect(&of("mlx5_roce_8", &second, &[], "versions"), Status::Note, "2.21.5 and 2.27.5");
    let other = ["/usr/lib/x86_64-linux-gnu/libnccl.so.2.21.5 =", "delete /opt/amazon"];
    expect(&of("efa", &other, &[], "versions"), Status::Warning, "EFA needs NCCL's plugin");
}

/// What is said of single variables on a good node.
#[track_caller]
fn variable(name: &str, value: &str, status: Status, words: &str) {
    let found = of("mlx5_roce_8", &[], &[(name, value)], "variables");
    expect(&found, status, words);
    assert!(found.iter().all(|(own, _)| *own <= status), "{found:?}");
}

#[test]
fn variables() {
    variable("NCCL_DEBUG", "INFO", Status::Right, "1 setting, nothing odd");
    variable("NCCL_IB_HCA", "mlx5", Status::Right, "nothing odd");
    variable("NCCL_IB_HCA", "=mlx5_0:1,mlx5_1:1", Status::Right, "nothing odd");
    variable("NCCL_IB_HCA", "^mlx5_7", Status::Right, "nothing odd");
    variable("NCCL_IB_HCA", "ib0", Status::Critical, "selects no RDMA device");
    variable(
        "NCCL_IB_HCA",
        "mlx5_0,mlx5_12",
        Status::Warning,
        "names mlx5_12, which this node does not have",
    );
    variable("NCCL_SOCKET_IFNAME", "rail", Status::Right, "nothing odd");
    variable("NCCL_SOCKET_IFNAME", "eth0", Status::Critical, "selects no interface");
    variable("NCCL_SOCKET_IFNAME", "lo", Status::Warning, "ranks on other nodes cannot connect");
    variable("NCCL_IB_DISABLE", "1", Status::Critical, "RDMA is off");
    variable("NCCL_IB_DISABLE", "0", Status::Right, "nothing odd");
    variable("NCCL_IB_DISABLE", "true", Status::Warning, "is no number: NCCL reads it as 0");
    variable("NCCL_IB_TIMOUT", "22", Status::Warning, "Did you mean NCCL_IB_TIMEOUT?");
    variable("NCCL_TREE_THRESHOLD", "0", Status::Note, "NCCL read it up to 2.4");
    variable("NCCL_GIN_ENABLE", "1", Status::Note, "it is read from 2.28 on");
    variable("NCCL_ACME_TURBO", "1", Status::Note, "a plugin may read it");
    variable("NCCL_FASTRAK_NUM_FLOWS", "2", Status::Right, "nothing odd");
    variable("NCCL_P2P_LEVEL", "5", Status::Note, "across CPU sockets, not NVLink");
    variable("NCCL_P2P_LEVEL", "NVL", Status::Right, "nothing odd");
    variable("NCCL_IB_TC", "107", Status::Warning, "has met congestion");
    variable("NCCL_IB_TIMEOUT", "0", Status::Warning, "0 waits for ever");
    variable("NCCL_DEBUG", "VERBOSE", Status::Warning, "no such level");
    variable("UCX_NET_DEVICES", "mlx5_0:1", Status::Right, "nothing odd");
    variable("UCX_NET_DEVICES", "mlx5_9:1", Status::Warning, "names mlx5_9");
    variable("FI_PROVIDER", "efa", Status::Critical, "shows no EFA device");
}

#[test]
fn variables_together() {
    let found = of(
        "mlx5_roce_8",
        &[],
        &[("NCCL_MIN_NCHANNELS", "32"), ("NCCL_MAX_NCHANNELS", "16")],
        "variables",
    );
    expect(&found, Status::Warning, "contradict each other");
    let found = of(
        "mlx5_roce_8",
        &[],
        &[("NCCL_SOCKET_NTHREADS", "16"), ("NCCL_NSOCKS_PERTHREAD", "8")],
        "variables",
    );
    expect(&found, Status::Warning, "more than 64");
    let file = ["/etc/nccl.conf = NCCL_IB_TC=106"];
    let found = of("mlx5_roce_8", &file, &[("NCCL_IB_TC", "138")], "variables");
    expect(&found, Status::Note, "NCCL_IB_TC is \"138\"");
    // Ten devices: mlx5_1 is the beginning of mlx5_10.
    let eleven: Vec<String> =
        ["/sys/class/infiniband/mlx5_10/ports/1/state = 4: ACTIVE"].map(str::to_owned).to_vec();
    let eleven: Vec<&str> = eleven.iter().map(String::as_str).collect();
    expect(
        &of("mlx5_roce_8", &eleven, &[("NCCL_IB_HCA", "mlx5_1")], "variables"),
        Status::Warning,
        "selects mlx5_10, too",
    );
    assert!(
        of("efa", &[], &[("FI_PROVIDER", "efa")], "variables")
            .iter()
            .all(|(status, _)| *status == Status::Right)
    );
    expect(
        &of("efa", &[], &[("FI_PROVIDER", "tcp")], "variables"),
        Status::Warning,
        "leaves EFA out",
    );
}
