//! Checks of the node around its NICs: the kernel's log, memory, CPUs, where ranks meet.

use std::os::unix::fs::symlink;

use railscope::doctor::fact::{Facts, Wanted};
use railscope::doctor::outcome::Status;
use railscope::doctor::tree::Tree;

use super::judge::{expect, of, says};
use super::tree::Files;

/// Up for two days.
const UPTIME: &str = "/proc/uptime = 172800.00 900000.00";

#[test]
fn failures_of_hardware() {
    let name = "hardware_errors";
    let of = |lines: &[&str]| of("mlx5_roce_8", lines, &[], name);
    expect(&of(&[]), Status::Unknown, "/dev/kmsg does not exist");
    expect(&of(&["/dev/kmsg ="]), Status::Unknown, "is empty here");
    let quiet = "/dev/kmsg = 6,0,5140900,-;NET: Registered PF_PACKET protocol family";
    expect(&of(&[quiet]), Status::Right, "names no failed GPU, NVLink or NIC since boot");
    let late = "/dev/kmsg = 6,48211,900000000,-;NET: Registered PF_PACKET protocol family";
    expect(&of(&[UPTIME, late]), Status::Right, "in the last 1day 23h");
    // An illegal access of a program, and a repair: neither is a fault of the node.
    let harmless = [
        quiet,
        "/dev/kmsg += 4,340,6140900,-;NVRM: Xid (PCI:0000:1a:00): 31, pid=4711, name=python, MMU Fault",
        "/dev/kmsg += 4,341,6140901,-;NVRM: Xid (PCI:0000:1a:00): 63, Row Remapper: New row marked",
    ];
    expect(&of(&harmless), Status::Right, "names no failed GPU");
    let switch = "/dev/kmsg += 4,343,162000000000,-;nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 20034, Fatal, Link 30 LTSSM Fault Up";
    expect(&of(&[quiet, switch]), Status::Warning, "an NVLink of a GPU failed");
    let kmsg = |text: &str| ["/dev/kmsg += 4,343,162000000000,-;", text].concat();
    let after = |lines: &[&str]| {
        let lines: Vec<String> = lines.iter().map(|line| kmsg(line)).collect();
        let all: Vec<&str> = [quiet].into_iter().chain(lines.iter().map(String::as_str)).collect();
        of(&all)
    };
    let reset = "NVRM: Xid (PCI:0000:1a:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)";
    expect(&after(&[reset]), Status::Critical, "a GPU waits to be recovered (Xid 154)");
    let hot =
        "mlx5_core 0000:0c:00.0: Port module event[error]: module 0, Cable error, High Temperature";
    expect(&after(&[hot]), Status::Warning, "a cable or transceiver of a NIC was pulled");
    let aer = |severity: &str| {
        let start = "mlx5_core 0000:0c:00.0: PCIe Bus Error: severity=";
        after(&[&[start, severity, ", type=Physical Layer, (Receiver ID)"].concat()])
    };
    expect(&aer("Uncorrected (Fatal)"), Status::Warning, "PCIe reported a fatal error");
    expect(&aer("Uncorrected (Non-Fatal)"), Status::Warning, "PCIe lost a transaction");
    expect(&aer("Corrected"), Status::Note, "PCIe corrected errors");
    let failed = [
        UPTIME,
        quiet,
        "/dev/kmsg += 4,342,162000000000,-;NVRM: Xid (PCI:0000:1a:00): 79, GPU has fallen off the bus.",
    ];
    expect(
        &of(&failed),
        Status::Critical,
        "a GPU failed or fell off the bus (1 line, the last 3h ago): NVRM: Xid (PCI:0000:1a:00): 79",
    );
}

#[test]
fn subnets_of_infiniband() {
    let of =
        |lines: &[&str], variables: &[(&str, &str)]| of("infiniband", lines, variables, "subnet");
    let at = "/sys/class/infiniband/mlx5_0/ports/1";
    let lid = |file: &str, lid: &str| format!("{at}/{file} = {lid}");
    let key = |index: u32, key: &str| format!("{at}/pkeys/{index} = {key}");
    let with = |lines: &[String], variables: &[(&str, &str)]| {
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        of(&lines, variables)
    };
    expect(&of(&[], &[]), Status::Right, "mlx5_0 and mlx5_1: LID set, full member");
    expect(&with(&[lid("sm_lid", "0x0")], &[]), Status::Warning, "no subnet manager known");
    expect(&with(&[key(0, "0x7fff")], &[]), Status::Critical, "mlx5_0: a limited member");
    let both = ["mlx5_0", "mlx5_1"]
        .map(|name| format!("/sys/class/infiniband/{name}/ports/1/sm_lid = 0x0"));
    expect(&with(&both, &[]), Status::Critical, "no subnet manager known");
    let other = with(&[key(0, "0x7fff")], &[("NCCL_IB_HCA", "mlx5_1")]);
    expect(&other, Status::Right, "mlx5_1: LID set");
    // A tenant's partition, named by its index.
    let tenant = [key(0, "0x7fff"), key(1, "0x8012")];
    expect(
        &with(&tenant, &[("NCCL_IB_PKEY", "1")]),
        Status::Critical,
        "mlx5_1: no P_Key at index 1",
    );
    let both = [&tenant[..], &["/sys/class/infiniband/mlx5_1/ports/1/pkeys/1 = 0x8012".to_owned()]];
    expect(&with(&both.concat(), &[("NCCL_IB_PKEY", "1")]), Status::Right, "full member");
    assert!(super::judge::of("mlx5_roce_8", &[], &[], "subnet").is_empty());
}

#[test]
fn where_ranks_meet() {
    let of = |lines: &[&str], variables: &[(&str, &str)]| {
        of("mlx5_roce_8", lines, variables, "rendezvous")
    };
    assert!(of(&[], &[]).is_empty());
    let two_nodes = [("WORLD_SIZE", "16"), ("LOCAL_WORLD_SIZE", "8")];
    let with = |address: &str, sizes: &[(&str, &str)]| {
        of(&[], &[&[("MASTER_ADDR", address)], sizes].concat())
    };
    for loopback in ["127.0.0.1", "LocalHost", "::1", "::ffff:127.0.0.1", "0.0.0.0"] {
        expect(&with(loopback, &two_nodes), Status::Critical, "each waits for its own rank 0");
        expect(&with(loopback, &[]), Status::Note, "one node only");
    }
    let alone = with("localhost", &[("WORLD_SIZE", "8"), ("LOCAL_WORLD_SIZE", "8")]);
    assert!(alone.is_empty(), "{alone:?}");
    expect(&with("10.0.0.7", &two_nodes), Status::Right, "meet at 10.0.0.7");
    assert!(with("", &two_nodes).is_empty());
    let elsewhere = ["/etc/hosts = 127.0.0.1 gpu09"];
    let named = [&two_nodes[..], &[("MASTER_ADDR", "gpu09")]].concat();
    expect(&of(&elsewhere, &named), Status::Critical, "gpu09 leads to each node itself");
    expect(&of(&[], &[("NCCL_COMM_ID", "127.0.0.1:4242")]), Status::Note, "NCCL_COMM_ID");
    let hosts =
        ["/etc/hosts = 127.0.0.1 localhost", "/etc/hosts += 127.0.1.1 gpu01.cluster gpu01 # ours"];
    let named = ["/proc/sys/kernel/hostname = gpu01", hosts[0], hosts[1]];
    expect(&of(&named, &two_nodes), Status::Warning, "gpu01, is 127.0.1.1 in /etc/hosts");
    let bound = [&two_nodes[..], &[("GLOO_SOCKET_IFNAME", "rail0")]].concat();
    assert!(of(&named, &bound).is_empty());
}

#[test]
fn memory_and_cpus_that_are_set_aside() {
    let of = |lines: &[&str], name: &str| of("mlx5_roce_8", lines, &[], name);
    let memory = |pages: &str| {
        format!(
            "/proc/meminfo = MemTotal:       1056784128 kB\nHugePages_Total:   {pages}\nHugepagesize:       2048 kB"
        )
    };
    expect(&of(&[&memory("0")], "huge_pages"), Status::Right, "No memory is set aside");
    expect(&of(&[&memory("4096")], "huge_pages"), Status::Right, "8.0 GiB of 1007.8 GiB");
    expect(&of(&[&memory("400000")], "huge_pages"), Status::Warning, "cannot use them");
    let of_1_gib = format!("{}\nHugetlb:  838860800 kB", memory("0"));
    expect(&of(&[&of_1_gib], "huge_pages"), Status::Warning, "800.0 GiB of 1007.8 GiB");
    let isolated = "/sys/devices/system/cpu/isolated = 2-95";
    expect(&of(&[isolated], "processors"), Status::Note, "CPUs 2-95 are isolated");
}

#[test]
fn marks_of_cnps() {
    let of = |lines: &[String]| {
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let files = Files::with("mlx5_roce_8", &lines);
        says(&files.facts(&[]), "congestion_control")
    };
    let files = Files::of("mlx5_roce_8");
    let facts = files.facts(&[]);
    let functions: Vec<String> =
        facts.devices().iter().filter_map(|device| device.function.clone()).collect();
    let marks = |at: usize, dscp: u32| {
        let folder = format!("/sys/kernel/debug/mlx5/{}/cc_params", functions[at]);
        [format!("{folder}/np_cnp_dscp = {dscp}"), format!("{folder}/np_cnp_prio = 6")]
    };
    let alike: Vec<String> = (0..8).flat_map(|at| marks(at, 48)).collect();
    assert!(of(&alike).iter().all(|(status, _)| *status < Status::Note), "{:#?}", of(&alike));
    let odd = [alike, marks(5, 0).to_vec()].concat();
    expect(&of(&odd), Status::Warning, "NICs mark CNPs differently: DSCP 0, priority 6 on rail5");
}

#[test]
fn a_process_in_a_container_has_files_of_its_own() {
    let files = Files::with(
        "mlx5_roce_8",
        &[
            "/inside/usr/lib/x86_64-linux-gnu/libnccl.so.2.27.5 =",
            "/inside/usr/lib/x86_64-linux-gnu/libnccl.so.2 -> libnccl.so.2.27.5",
            // An absolute link leads to the container's file, not to the node's.
            "/inside/etc/nccl.conf -> /opt/nccl.conf",
            "/inside/opt/nccl.conf = NCCL_IB_HCA=mlx5_9",
            "/opt/nccl.conf = NCCL_IB_HCA=mlx5_0",
            "/proc/4711/environ = NCCL_DEBUG=INFO",
        ],
    );
    symlink(files.path().join("inside"), files.path().join("proc/4711/root")).unwrap();
    let wanted = Wanted { pid: Some(4711), ..Wanted::default() };
    let facts = Facts::read(&Tree::new(files.path()), &wanted);
    assert_eq!(facts.software.nccl_versions().into_iter().collect::<Vec<_>>(), ["2.27.5"]);
    let set = |name: &str| facts.variables.iter().find(|set| set.name == name);
    assert_eq!(set("NCCL_IB_HCA").unwrap().value, "mlx5_9");
    assert_eq!(set("NCCL_DEBUG").unwrap().source, "process 4711");
}

#[test]
fn networks_of_ipv6() {
    let line = |network: &str, name: &str| {
        format!(
            "{network} 40 {z} 00 {z} 00000100 00000001 00000000 00000001     {name}",
            z = "0".repeat(32)
        )
    };
    let files = Files::with(
        "mlx5_roce_8",
        &[
            &format!(
                "/proc/net/ipv6_route = {}",
                line("fd000000000000010000000000000000", "rail0")
            ),
            &format!(
                "/proc/net/ipv6_route += {}",
                line("fe800000000000000000000000000000", "rail0")
            ),
        ],
    );
    let facts = files.facts(&[]);
    let networks = &facts.interface("rail0").unwrap().networks;
    let v6: Vec<String> = networks
        .iter()
        .filter(|network| network.address.is_ipv6())
        .map(ToString::to_string)
        .collect();
    assert_eq!(v6, ["fd00:0:0:1::/64"]);
}
