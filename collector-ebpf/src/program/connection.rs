//! TCP state changes: who connects to whom.
//!
//! Hook: tracepoint `sock:inet_sock_set_state` (its fields as of kernel 5.6). Needs `CAP_BPF`,
//! `CAP_PERFMON`, and tracefs to find it, which is for root to read (`CAP_DAC_READ_SEARCH`) or, where it
//! is not mounted, to mount (`CAP_SYS_ADMIN`).

use aya_ebpf::EbpfContext;
use aya_ebpf::bindings::BPF_RB_NO_WAKEUP;
use aya_ebpf::helpers::generated::bpf_get_current_comm;
use aya_ebpf::helpers::{bpf_get_current_cgroup_id, bpf_get_current_pid_tgid};
use aya_ebpf::macros::tracepoint;
use aya_ebpf::programs::TracePointContext;
use railscope_ebpf::connection::ConnectionEvent;
use railscope_ebpf::loss::Loss;

use super::maps::ACTS;
use super::{clock, log};

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
    local: [u64; 2],
    /// IPv4 as an IPv4-mapped IPv6 address.
    remote: [u64; 2],
}

#[tracepoint]
pub(crate) fn connection_changed(context: TracePointContext) -> u32 {
    // SAFETY: the record is as long as that, in every kernel that has ring buffers.
    let change = unsafe { &*context.as_ptr().cast::<Change>() };
    if change.protocol != TCP {
        return 0;
    }
    let Some(mut entry) = ACTS.reserve::<ConnectionEvent>(0) else {
        log::lost(Loss::Connection);
        return 0;
    };
    let event = entry.as_mut_ptr();
    // SAFETY: the entry is as long as the event, and every field of it is written; addresses are as
    // long as two words, and aligned like them.
    unsafe {
        (&raw mut (*event).time).write(clock::now());
        (&raw mut (*event).cgroup).write(bpf_get_current_cgroup_id());
        (&raw mut (*event).socket).write(change.socket);
        (&raw mut (*event).pid).write((bpf_get_current_pid_tgid() >> 32) as u32);
        (&raw mut (*event).old_state).write(change.old_state);
        (&raw mut (*event).new_state).write(change.new_state);
        (&raw mut (*event).local_port).write(change.local_port);
        (&raw mut (*event).remote_port).write(change.remote_port);
        let (local, remote) = (&raw mut (*event).local, &raw mut (*event).remote);
        // Word by word: the verifier permits no copy from the record.
        local.cast::<u64>().write(change.local[0]);
        local.cast::<u64>().add(1).write(change.local[1]);
        remote.cast::<u64>().write(change.remote[0]);
        remote.cast::<u64>().add(1).write(change.remote[1]);
        // It writes zeros where there is no name.
        _ = bpf_get_current_comm(
            (&raw mut (*event).name).cast(),
            size_of_val(&(*event).name) as u32,
        );
    }
    entry.submit(u64::from(BPF_RB_NO_WAKEUP));
    0
}
