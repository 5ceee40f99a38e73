//! What the C library keeps of freed memory.
//!
//! Every report takes tens of megabytes for a moment. By default, glibc has a heap for each thread, keeps
//! what is freed at their ends, and learns from large blocks to keep such blocks, too.

/// The largest block that is kept when it is freed, in bytes.
#[cfg(target_env = "gnu")]
const KEPT: i32 = 128 * 1024;

/// Makes the C library keep little; threads that start from now on share one heap.
pub(super) fn keep_little() {
    #[cfg(target_env = "gnu")]
    #[expect(unsafe_code, reason = "mallopt(3) is a function of C")]
    // SAFETY: it takes numbers, and changes how memory is reserved from now on.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
        libc::mallopt(libc::M_MMAP_THRESHOLD, KEPT);
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT);
    }
}

/// Gives free memory back to the kernel.
pub(super) fn give_back() {
    #[cfg(target_env = "gnu")]
    #[expect(unsafe_code, reason = "malloc_trim(3) is a function of C")]
    // SAFETY: it frees no memory that is in use.
    unsafe {
        libc::malloc_trim(0);
    }
}
