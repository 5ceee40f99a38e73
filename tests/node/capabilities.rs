//! Which sources can run, on made-up hosts and on this machine's kernel.

use std::path::Path;

use railscope::ingest::capability::{Capability, Host, KernelRelease, Source};

use crate::support::tree::Tree;

/// A modern host with everything; tests remove parts of it.
const MODERN: &str = "\
proc/self/uid_map =          0          0 4294967295
proc/self/mounts = bpf /sys/fs/bpf bpf rw,nosuid 0 0
proc/sys/kernel/osrelease = 6.8.0-45-generic
proc/sys/kernel/unprivileged_bpf_disabled = 2
sys/kernel/btf/vmlinux = types
sys/kernel/tracing/events/enable = 0
sys/bus/event_source/devices/uprobe/type = 9
sys/class/infiniband/mlx5_0/node_type = 1: CA
";

const ALL: &str = "000001ffffffffff";

fn host(capabilities: &str, changes: &[(&str, &str)]) -> Host {
    let mut text = format!("{MODERN}proc/self/status = Name:\\nCapEff:\t{capabilities}\\n\n");
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    let tree = Tree::new([text.as_str()]);
    Host::read(&tree.root().join("proc"), &tree.root().join("sys"))
}

fn told(host: &Host) -> Vec<String> {
    Source::ALL.iter().map(|source| source.can_run(host).to_string()).collect()
}

#[test]
fn root_on_a_modern_host_runs_everything() {
    let host = host(ALL, &[]);
    assert_eq!(host.kernel, Some(KernelRelease(6, 8)));
    assert!(host.has_btf && host.has_bpffs && host.is_initial_user_namespace);
    assert_eq!(host.unprivileged_bpf_disabled, Some(2));
    assert!(told(&host).iter().all(|line| line.ends_with(": yes")), "{:?}", told(&host));
}

#[test]
fn without_any_capability_a_list_says_what_is_missing_and_what_works() {
    let expected = "\
packets by BPF at traffic control: no; CAP_BPF is missing, to load programs; CAP_NET_ADMIN is missing, to attach to interfaces; CAP_PERFMON is missing, to read packets where they lie
packets by packet sockets: no; CAP_NET_RAW is missing, to see others' packets
TCP connections of training processes: no; CAP_BPF is missing, to load programs; CAP_PERFMON is missing, to attach to functions and tracepoints
calls of libnccl and libibverbs: no; CAP_SYS_ADMIN is missing, to attach to functions of libraries
queue pairs as listed by the kernel: yes
NIC counters: yes
containers, pods and Slurm jobs of processes: yes; without CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH: environments of other users' processes are not read: Slurm's ranks and job names are not known";
    assert_eq!(told(&host("0", &[])).join("\n"), expected);
}

#[test]
fn without_a_device_there_is_nothing_to_read() {
    let told = told(&host(ALL, &[("class/infiniband/mlx5_0", "class/net/eth0")]));
    for source in ["queue pairs as listed by the kernel", "NIC counters"] {
        let line = format!("{source}: yes; there is no RDMA device here now");
        assert!(told.contains(&line), "{told:?}");
    }
}

#[test]
fn the_least_set_of_capabilities_of_each_source() {
    let sets = [
        (Source::TrafficControl, vec![Capability::Bpf, Capability::NetAdmin, Capability::Perfmon]),
        (Source::PacketSocket, vec![Capability::NetRaw]),
        (Source::TcpStates, vec![Capability::Bpf, Capability::Perfmon]),
        (Source::LibraryCalls, vec![Capability::SysAdmin]),
        (Source::RdmaNetlink, vec![]),
        (Source::Counters, vec![]),
        (Source::Processes, vec![]),
    ];
    let bit = |capability: &Capability| match capability {
        Capability::Bpf => 1_u64 << 39,
        Capability::Perfmon => 1 << 38,
        Capability::NetRaw => 1 << 13,
        Capability::NetAdmin => 1 << 12,
        Capability::SysAdmin => 1 << 21,
        other => panic!("{other:?}"),
    };
    for (source, set) in sets {
        let all: u64 = set.iter().map(bit).sum();
        assert!(source.can_run(&host(&format!("{all:016x}"), &[])).runs(), "{source:?}");
        for one in &set {
            let without = host(&format!("{:016x}", all & !bit(one)), &[]);
            let verdict = source.can_run(&without);
            assert!(!verdict.runs() && verdict.missing[0].starts_with(one.name()), "{verdict}");
        }
    }
    // Kernels before CAP_BPF need CAP_SYS_ADMIN for everything.
    let admin = host(&format!("{:016x}", 1_u64 << 21), &[]);
    assert!(Source::TcpStates.can_run(&admin).runs());
}

#[test]
fn missing_kernel_features_are_reported() {
    let verdict =
        |source: Source, changes: &[(&str, &str)]| source.can_run(&host(ALL, changes)).to_string();
    let old = verdict(Source::TrafficControl, &[("6.8.0", "5.15.0")]);
    assert!(old.contains(": yes; before Linux 6.6 there is no TCX"), "{old}");
    let ancient = verdict(Source::TrafficControl, &[("6.8.0", "4.18.0")]);
    assert!(ancient.ends_with(": no; Linux 5.8 or later is needed, for ring buffers"), "{ancient}");
    let userns =
        verdict(Source::TrafficControl, &[("0          0 4294967295", "0       1000          1")]);
    assert!(userns.contains(": no; in a user namespace"), "{userns}");
    let no_types = [("sys/kernel/btf", "sys/kernel/none")];
    assert!(Source::TcpStates.can_run(&host(ALL, &no_types)).runs());
    // With permission to mount tracefs, it need not be mounted.
    let unmounted = [("sys/kernel/tracing", "sys/kernel/other")];
    assert!(Source::TcpStates.can_run(&host(ALL, &unmounted)).runs());
    let bpf_and_perfmon = format!("{:016x}", 3_u64 << 38);
    let told = Source::TcpStates.can_run(&host(&bpf_and_perfmon, &unmounted)).to_string();
    assert!(told.contains(": no; ") && told.contains("tracefs is not mounted"), "{told}");
    assert!(Source::LibraryCalls.can_run(&host(ALL, &unmounted)).runs());
    let old = verdict(Source::LibraryCalls, &[("6.8.0", "5.14.0")]);
    assert!(old.ends_with(": no; Linux 5.15 or later is needed, for cookies of uprobes"), "{old}");
    let no_uprobes = [("sys/bus/event_source/devices/uprobe", "sys/none")];
    assert!(
        verdict(Source::LibraryCalls, &no_uprobes).ends_with(": no; the kernel has no uprobes")
    );
}

#[test]
fn this_machine() {
    let host = Host::read(Path::new("/proc"), Path::new("/sys"));
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    assert!(release.starts_with(&host.kernel.unwrap().to_string()), "{release}");
    assert!(Source::Counters.can_run(&host).runs());
}
