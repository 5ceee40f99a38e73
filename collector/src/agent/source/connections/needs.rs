//! What watching TCP connections needs: a program at a tracepoint.

use crate::ingest::capability::{Capability, Host, Verdict};

pub(super) fn needs(host: &Host) -> Verdict {
    let mut verdict = Verdict::new("TCP connections of training processes");
    verdict.needs_bpf(host);
    verdict.needs_or_admin(host, Capability::Perfmon, "to attach to functions and tracepoints");
    if host.tracefs.is_none() && !host.has(Capability::SysAdmin) {
        let why = "the kernel's tracepoints are not found: tracefs is not mounted at \
                   /sys/kernel/tracing, or not readable (CAP_DAC_READ_SEARCH), and CAP_SYS_ADMIN is \
                   missing to mount it";
        verdict.missing.push(why.to_owned());
    }
    if host.may_refuse_tracepoints() && !host.has(Capability::SysAdmin) {
        let why = "CAP_SYS_ADMIN is missing, without which some kernels of Debian and Ubuntu refuse \
                   tracepoints: if the kernel here does, set kernel.perf_event_paranoid to 2";
        verdict.lesser.push(why.to_owned());
    }
    verdict
}
