//! For `cargo bench --bench ebpf` only, never attached: the kernel repeats a test run with the same
//! packet; these programs increment its PSN, so that each follows the one before.

use aya_ebpf::bindings::TC_ACT_UNSPEC;
use aya_ebpf::macros::classifier;
use aya_ebpf::programs::TcContext;

use super::tc;

/// Where the PSN stands in RoCEv2 over IPv4 without options: the last three bytes of the BTH.
const PSN_PLACE: usize = 14 + 20 + 8 + 9;

/// The minimal program: the baseline for the cost of the others.
#[classifier]
pub(crate) fn repeated_pass(_: TcContext) -> i32 {
    TC_ACT_UNSPEC
}

/// Increments the PSN.
#[classifier]
pub(crate) fn repeated_advance(mut context: TcContext) -> i32 {
    advance(&mut context);
    TC_ACT_UNSPEC
}

/// Increments the PSN, and handles the packet.
#[classifier]
#[inline(always)]
pub(crate) fn repeated_advance_in(mut context: TcContext) -> i32 {
    advance(&mut context);
    tc::observe(&context, false)
}

#[inline(always)]
fn advance(context: &mut TcContext) {
    let Ok([high, middle, low]) = context.load::<[u8; 3]>(PSN_PLACE) else { return };
    let next = u32::from_be_bytes([0, high, middle, low]).wrapping_add(1);
    let [_, high, middle, low] = next.to_be_bytes();
    // If it cannot be written, the figures show it.
    _ = context.store(PSN_PLACE, &[high, middle, low], 0);
}
