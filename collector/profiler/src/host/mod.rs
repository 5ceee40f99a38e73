//! What the plugin asks of the C library and of NCCL's memory, behind safe signatures.

mod sys;

pub(crate) use sys::{
    Mapping, MaskWord, Worker, hold, is_held, monotonic, realtime, reserve, thread_hint,
};

use std::ffi::CStr;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// This process, as it was when the first communicator began.
static PID: AtomicU32 = AtomicU32::new(0);

/// Reads the process's number: a fork may have changed it.
pub(crate) fn read_pid() {
    PID.store(std::process::id(), Relaxed);
}

pub(crate) fn pid() -> u32 {
    PID.load(Relaxed)
}

/// Bytes of a host's name in the header of ring and file.
pub(crate) const HOST: usize = 64;

/// The name of this host, cut and padded with zeros.
pub(crate) fn name() -> [u8; HOST] {
    let mut name = [0; HOST];
    let text = std::fs::read("/proc/sys/kernel/hostname").unwrap_or_default();
    let text = text.trim_ascii_end();
    for (to, from) in name.iter_mut().take(HOST - 1).zip(text) {
        *to = *from;
    }
    name
}

/// A name in a fixed number of bytes, cut and padded with zeros.
pub(crate) fn padded<const N: usize>(text: Option<&CStr>) -> [u8; N] {
    let mut name = [0; N];
    for (to, from) in name.iter_mut().take(N - 1).zip(text.map_or(&[][..], CStr::to_bytes)) {
        *to = *from;
    }
    name
}
