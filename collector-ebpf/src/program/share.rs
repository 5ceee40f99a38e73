//! One user's calls do not fill the ring that all share.

use aya_ebpf::bindings::BPF_NOEXIST;
use aya_ebpf::helpers::{bpf_get_current_cgroup_id, bpf_get_current_uid_gid};
use railscope_ebpf::share::{self, Share};

use super::maps::SHARES;

/// Before Linux 6.2, a map may be written only from the stack and from maps.
static NONE: Share = Share::NONE;

/// Whether a call of the current user is reported.
#[inline(always)]
pub(super) fn takes_one(now: u64) -> bool {
    // SAFETY: helpers without arguments.
    let cgroup = unsafe { bpf_get_current_cgroup_id() };
    let payer = share::payer(bpf_get_current_uid_gid() as u32, cgroup);
    let mut share = SHARES.get_ptr_mut(&payer);
    if share.is_none() {
        _ = SHARES.insert(&payer, &NONE, u64::from(BPF_NOEXIST));
        share = SHARES.get_ptr_mut(&payer);
    }
    let Some(share) = share else { return true };
    // SAFETY: the map keeps the value while the program runs; its fields are numbers.
    unsafe { (*share).takes(now) }
}
