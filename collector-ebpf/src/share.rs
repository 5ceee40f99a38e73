//! How many calls of one user the kernel programs report: the ring is shared.

use bytemuck::{Pod, Zeroable};

/// Calls of one payer reported in one window of time: with their returns they fill two thirds of the smallest
/// ring.
pub const MOST_CALLS: u64 = 4096;

/// log2 of the nanoseconds of a window: a quarter of a second.
const WINDOW_BITS: u32 = 28;

/// Calls of one payer.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct Share {
    window: u64,
    calls: u64,
}

impl Share {
    /// No calls yet.
    pub const NONE: Self = Self { window: 0, calls: 0 };

    /// Counts a call at this time; returns whether it is reported. Two CPUs may count one call for two.
    #[inline(always)]
    pub const fn takes(&mut self, now: u64) -> bool {
        let window = now >> WINDOW_BITS;
        if self.window != window {
            (self.window, self.calls) = (window, 0);
        }
        self.calls += 1;
        self.calls <= MOST_CALLS
    }
}

/// What calls of a user count against: its number, or the control group where the user is root, as in most
/// containers. Numbers of control groups have their uppermost bit set rarely.
#[inline(always)]
#[must_use]
pub const fn payer(user: u32, cgroup: u64) -> u64 {
    if user == 0 { cgroup & !(1 << 63) } else { 1 << 63 | user as u64 }
}
