//! Made-up hosts, the least capabilities of each source, and what is read of this machine.

use std::path::Path;

use railscope::ingest::capability::{Capability, Host, KernelRelease};

use super::verdict;
use crate::support::tree::Tree;

/// A modern host with everything, of which tests take something away.
const MODERN: &str = "\
proc/self/uid_map =          0          0 4294967295
proc/self/mounts = bpf /sys/fs/bpf bpf rw,nosuid 0 0
proc/sys/kernel/osrelease = 6.8.0-45-generic
proc/sys/kernel/unprivileged_bpf_disabled = 2
proc/sys/kernel/perf_event_paranoid = 2
sys/kernel/btf/vmlinux = types
sys/kernel/tracing/events/enable = 0
sys/bus/event_source/devices/uprobe/type = 9
sys/class/infiniband/mlx5_0/node_type = 1: CA
";

/// All capabilities, as in `/proc/PID/status`.
pub(in crate::agent) const ALL: &str = "000001ffffffffff";

/// A modern host with these capabilities and changes.
pub(in crate::agent) fn host(capabilities: &str, changes: &[(&str, &str)]) -> Host {
    let mut text = format!("{MODERN}proc/self/status = Name:\\nCapEff:\t{capabilities}\\n\n");
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    let tree = Tree::new([text.as_str()]);
    Host::read(&tree.root().join("proc"), &tree.root().join("sys"))
}

/// What is said of a source on a host with all capabilities and these changes.
pub(super) fn said(sees: &str, changes: &[(&str, &str)]) -> String {
    verdict(sees, &host(ALL, changes)).to_string()
}

/// A source runs with these capabilities, and not without any one of them.
#[track_caller]
pub(super) fn needs_each_of(sees: &str, set: &[Capability]) {
    let bit = |capability: &Capability| match capability {
        Capability::Bpf => 1_u64 << 39,
        Capability::Perfmon => 1 << 38,
        Capability::NetRaw => 1 << 13,
        Capability::NetAdmin => 1 << 12,
        Capability::SysAdmin => 1 << 21,
        other => panic!("{other:?}"),
    };
    let all: u64 = set.iter().map(bit).sum();
    assert!(verdict(sees, &host(&format!("{all:016x}"), &[])).runs(), "{sees}");
    for one in set {
        let verdict = verdict(sees, &host(&format!("{:016x}", all & !bit(one)), &[]));
        assert!(!verdict.runs() && verdict.missing[0].starts_with(one.name()), "{verdict}");
    }
}

#[test]
fn a_modern_host_is_read() {
    let host = host(ALL, &[]);
    assert_eq!(host.kernel, Some(KernelRelease(6, 8)));
    assert!(host.has_btf && host.has_bpffs && host.is_initial_user_namespace);
    assert_eq!(host.unprivileged_bpf_disabled, Some(2));
}

#[test]
fn this_machine_is_read() {
    let host = Host::read(Path::new("/proc"), Path::new("/sys"));
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    assert!(release.starts_with(&host.kernel.unwrap().to_string()), "{release}");
    assert!(verdict("NIC counters", &host).runs());
}
