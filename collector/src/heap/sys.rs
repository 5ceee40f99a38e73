//! mallopt(3) and `malloc_trim(3)`, which only glibc has.

#![cfg_attr(
    all(target_os = "linux", target_env = "gnu"),
    expect(unsafe_code, reason = "functions of C")
)]

/// One heap for all threads.
#[cfg(all(target_os = "linux", feature = "agent"))]
pub(super) fn share_one_heap() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it takes numbers, and changes how memory is reserved from now on.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}

/// Larger blocks, and larger ends of the heap, go back to the kernel when they are freed.
#[cfg(all(target_os = "linux", feature = "agent"))]
#[cfg_attr(not(target_env = "gnu"), expect(unused_variables, reason = "no such setting"))]
pub(super) fn keep_at_most(bytes: i32) {
    #[cfg(target_env = "gnu")]
    // SAFETY: as above.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, bytes);
        libc::mallopt(libc::M_TRIM_THRESHOLD, bytes);
    }
}

/// Free pages go back to the kernel.
pub(super) fn trim() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it frees no memory that is in use.
    unsafe {
        libc::malloc_trim(0);
    }
}
