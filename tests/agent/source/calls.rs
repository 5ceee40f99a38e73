//! Calls of libraries: what uprobes need. What is seen of real calls is in `tests/calls`.

use railscope::ingest::capability::Capability;

use super::host::{needs_each_of, said};

const SEES: &str = "calls to libnccl and libibverbs";

#[test]
fn calls_need_one_capability_and_uprobes() {
    needs_each_of(SEES, &[Capability::SysAdmin]);
    assert!(said(SEES, &[("sys/kernel/tracing", "sys/kernel/other")]).ends_with(": yes"));
    let no_uprobes = said(SEES, &[("sys/bus/event_source/devices/uprobe", "sys/none")]);
    assert!(no_uprobes.ends_with(": no; the kernel has no uprobes"), "{no_uprobes}");
    let old = said(SEES, &[("6.8.0", "5.14.0")]);
    assert!(old.ends_with(": no; Linux 5.15 or later is needed, for cookies of uprobes"), "{old}");
}
