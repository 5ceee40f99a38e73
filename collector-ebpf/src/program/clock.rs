//! The kernel's clocks.

use aya_ebpf::helpers::{bpf_jiffies64, bpf_ktime_get_ns};

/// Nanoseconds of `CLOCK_MONOTONIC`.
#[inline(always)]
pub(super) fn now() -> u64 {
    // SAFETY: a helper without arguments.
    unsafe { bpf_ktime_get_ns() }
}

/// A number that changes every 1 to 10 ms, by the kernel's configuration: much cheaper than the time.
#[inline(always)]
pub(super) fn tick() -> u32 {
    // SAFETY: a helper without arguments.
    unsafe { bpf_jiffies64() as u32 }
}
