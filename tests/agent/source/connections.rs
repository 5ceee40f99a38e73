//! TCP connections: what their tracepoint needs. What is seen of real ones is in `tests/calls`.

use railscope::ingest::capability::Capability;

use super::host::{ALL, host, needs_each_of};
use super::verdict;

const SEES: &str = "TCP connections of training processes";

#[test]
fn connections_need_two_capabilities_and_tracepoints() {
    needs_each_of(SEES, &[Capability::Bpf, Capability::Perfmon]);
    // Kernels before CAP_BPF have one capability for everything.
    let admin = format!("{:016x}", 1_u64 << 21);
    assert!(verdict(SEES, &host(&admin, &[])).runs());
    let no_types = [("sys/kernel/btf", "sys/kernel/none")];
    assert!(verdict(SEES, &host(ALL, &no_types)).runs());
    // A process that may mount tracefs does not need a mounted one.
    let unmounted = [("sys/kernel/tracing", "sys/kernel/other")];
    assert!(verdict(SEES, &host(ALL, &unmounted)).runs());
    let bpf_and_perfmon = format!("{:016x}", 3_u64 << 38);
    let said = verdict(SEES, &host(&bpf_and_perfmon, &unmounted)).to_string();
    assert!(said.contains(": no; ") && said.contains("tracefs is not mounted"), "{said}");
    let paranoid = [("perf_event_paranoid = 2", "perf_event_paranoid = 4")];
    let said = verdict(SEES, &host(&bpf_and_perfmon, &paranoid)).to_string();
    assert!(said.contains(": yes; CAP_SYS_ADMIN is missing"), "{said}");
    assert!(!verdict(SEES, &host(ALL, &paranoid)).to_string().contains("CAP_SYS_ADMIN"));
}
