//! What watching calls needs: programs at functions of libraries (uprobes).

use crate::ingest::capability::{Capability, Host, KernelRelease, Verdict};

/// Programs at functions learn from a cookie which function it is.
const COOKIES: KernelRelease = KernelRelease(5, 15);

pub(super) fn needs(host: &Host) -> Verdict {
    let mut verdict = Verdict::new("calls to libnccl and libibverbs");
    verdict.needs_kernel_programs(host);
    // The kernel always requires it (`perf_uprobe_event_init`).
    verdict.needs(host, Capability::SysAdmin, "to attach to functions of libraries");
    verdict.needs_release(host, COOKIES, "for cookies of uprobes");
    if !host.has_uprobe_events {
        verdict.missing.push("the kernel has no uprobes".to_owned());
    }
    verdict.wants(
        host,
        &[Capability::SysPtrace],
        "libraries of other users' processes and in containers are not found",
    );
    verdict
}
