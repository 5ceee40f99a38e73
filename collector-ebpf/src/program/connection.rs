//! TCP's changes of state: who connects to whom.
//!
//! Hook: tracepoint `sock:inet_sock_set_state` (its fields as of kernel 5.6). Needs `CAP_BPF`,
//! `CAP_PERFMON`, and tracefs to find it, which is for root to read (`CAP_DAC_READ_SEARCH`) or, where it
//! is not mounted, to mount (`CAP_SYS_ADMIN`).

use aya_ebpf::bindings::BPF_RB_NO_WAKEUP;
use aya_ebpf::helpers::{
    bpf_get_current_cgroup_id, bpf_get_current_comm, bpf_get_current_pid_tgid, bpf_ktime_get_ns,
};
use aya_ebpf::macros::tracepoint;
use aya_ebpf::programs::TracePointContext;
use railscope_ebpf::connection::ConnectionEvent;
use railscope_ebpf::loss::Loss;

use super::maps::{self, ACTS};

/// `IPPROTO_TCP`.
const TCP: u16 = 6;

/// The tracepoint's record (`events/sock/inet_sock_set_state/format` in tracefs).
#[repr(C)]
struct Change {
    common: u64,
    socket: u64,
    old_state: u32,
    new_state: u32,
    local_port: u16,
    remote_port: u16,
    family: u16,
    protocol: u16,
    local_v4: [u8; 4],
    remote_v4: [u8; 4],
    /// IPv4 as an IPv4-mapped IPv6 address.
    local: [u8; 16],
    /// IPv4 as an IPv4-mapped IPv6 address.
    remote: [u8; 16],
}

#[tracepoint]
pub(crate) fn connection_changed(context: TracePointContext) -> u32 {
    // SAFETY: the record is as long as that, in every kernel that has ring buffers.
    let Ok(change) = (unsafe { context.read_at::<Change>(0) }) else { return 0 };
    if change.protocol != TCP {
        return 0;
    }
    let Some(mut entry) = ACTS.reserve::<ConnectionEvent>(0) else {
        maps::count(Loss::Connection);
        return 0;
    };
    // SAFETY: helpers without arguments.
    let (time, cgroup) = unsafe { (bpf_ktime_get_ns(), bpf_get_current_cgroup_id()) };
    entry.write(ConnectionEvent {
        time,
        cgroup,
        socket: change.socket,
        pid: (bpf_get_current_pid_tgid() >> 32) as u32,
        old_state: change.old_state,
        new_state: change.new_state,
        local_port: change.local_port,
        remote_port: change.remote_port,
        local: change.local,
        remote: change.remote,
        name: bpf_get_current_comm().unwrap_or([0; 16]),
    });
    entry.submit(u64::from(BPF_RB_NO_WAKEUP));
    0
}
