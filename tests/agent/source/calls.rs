//! Calls of libraries: what uprobes need. What is seen of real calls is in `tests/calls`.

use railscope::ingest::capability::Capability;
use railscope_testbed::agent::Agent;

use super::host::{needs_each_of, said};
use super::visible;
use crate::support::railscope::PROGRAM;
use crate::support::require;

const SEES: &str = "calls to libnccl and libibverbs";

/// Everything but calls is switched off.
const ONLY_CALLS: [&str; 3] =
    ["sources.packets=false", "sources.counters=false", "sources.processes=false"];

#[test]
fn calls_need_one_capability_and_uprobes() {
    needs_each_of(SEES, &[Capability::SysAdmin]);
    assert!(said(SEES, &[("sys/kernel/tracing", "sys/kernel/other")]).ends_with(": yes"));
    let no_uprobes = said(SEES, &[("sys/bus/event_source/devices/uprobe", "sys/none")]);
    assert!(no_uprobes.ends_with(": no; the kernel has no uprobes"), "{no_uprobes}");
    let old = said(SEES, &[("6.8.0", "5.14.0")]);
    assert!(old.ends_with(": no; Linux 5.15 or later is needed, for cookies of uprobes"), "{old}");
}

#[test]
fn calls_alone_are_enough_to_be_ready() {
    if !require::root("calls_alone_are_enough_to_be_ready") {
        return;
    }
    let agent = Agent::start(PROGRAM, &ONLY_CALLS);
    let metrics = agent.get("/metrics").unwrap();
    assert_eq!(visible(&metrics, "calls", "all").as_deref(), Some("1"), "{metrics}");
    assert_eq!(agent.answer("/readyz"), Some(("200".to_owned(), "ok\n".to_owned())));
}
