//! A socket option that no safe wrapper has.
#![expect(unsafe_code, reason = "setsockopt with SO_MAX_PACING_RATE")]

use std::io;
use std::mem::size_of_val;
use std::net::TcpStream;
use std::os::fd::AsRawFd;

/// Lets TCP send at most this many bytes a second; `u64::MAX`: without limit (socket(7)).
pub(super) fn set_max_pacing_rate(stream: &TcpStream, bytes_per_second: u64) -> io::Result<()> {
    let length = size_of_val(&bytes_per_second) as libc::socklen_t;
    // SAFETY: the kernel reads `length` bytes of a number that outlives the call.
    let result = unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MAX_PACING_RATE,
            (&raw const bytes_per_second).cast(),
            length,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
