//! For `cargo bench --bench ebpf` only, never attached: the kernel repeats a test run with the same
//! packet, whose number these move on, so that each is the successor of the one before.

use aya_ebpf::bindings::TC_ACT_UNSPEC;
use aya_ebpf::macros::classifier;
use aya_ebpf::programs::TcContext;

use super::tc;

/// Where the PSN stands in RoCEv2 over IPv4 without options: the last three bytes of the BTH.
const PSN_PLACE: usize = 14 + 20 + 8 + 9;

/// The least that a program can do: what the cost of the others is compared with.
#[classifier]
pub(crate) fn repeated_pass(_: TcContext) -> i32 {
    TC_ACT_UNSPEC
}

/// Moves the number on.
#[classifier]
pub(crate) fn repeated_advance(mut context: TcContext) -> i32 {
    advance(&mut context);
    TC_ACT_UNSPEC
}

/// Moves the number on, and takes the packet.
#[classifier]
pub(crate) fn repeated_advance_in(mut context: TcContext) -> i32 {
    advance(&mut context);
    tc::observe(&context, false)
}

#[inline(always)]
fn advance(context: &mut TcContext) {
    let Ok([high, middle, low]) = context.load::<[u8; 3]>(PSN_PLACE) else { return };
    let next = u32::from_be_bytes([0, high, middle, low]).wrapping_add(1);
    let [_, high, middle, low] = next.to_be_bytes();
    // Where it cannot be written, the figures show it.
    _ = context.store(PSN_PLACE, &[high, middle, low], 0);
}
