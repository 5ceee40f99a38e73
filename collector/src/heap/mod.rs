//! What the C library keeps of freed memory.
//!
//! A report takes tens of megabytes for a moment, and captures that were read leave gaps. By default, glibc has a
//! heap for each thread, keeps what is freed, and learns from large blocks to keep such blocks, too.

mod sys;

/// The largest block that is kept when it is freed, in bytes.
#[cfg(all(target_os = "linux", feature = "agent"))]
const KEPT: i32 = 128 * 1024;

/// Makes the C library keep little; threads that start from now on share one heap.
#[cfg(all(target_os = "linux", feature = "agent"))]
pub(crate) fn keep_little() {
    sys::share_one_heap();
    sys::keep_at_most(KEPT);
}

/// Gives free memory back to the kernel.
pub(crate) fn give_back() {
    sys::trim();
}
