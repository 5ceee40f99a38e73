//! `SIOCETHTOOL`, into memory that the kernel cannot write past.
#![expect(unsafe_code, reason = "no safe wrapper offers these calls")]

use std::ffi::c_void;
use std::num::NonZeroUsize;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;

use nix::sys::mman::{MapFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use nix::unistd::{SysconfVar, sysconf};

/// Commands of linux/ethtool.h that only read. Each starts with its number as a `u32`.
#[derive(Clone, Copy, Debug)]
#[repr(u32)]
pub(super) enum Query {
    /// `ETHTOOL_GPAUSEPARAM`: `struct ethtool_pauseparam`.
    Pause = 0x12,
    /// `ETHTOOL_GSTRINGS`: `struct ethtool_gstrings`.
    Strings = 0x1b,
    /// `ETHTOOL_GSTATS`: `struct ethtool_stats`.
    Statistics = 0x1d,
    /// `ETHTOOL_GSSET_INFO`: `struct ethtool_sset_info`.
    SetInfo = 0x37,
}

/// Memory for an answer, followed by an inaccessible page: the driver decides how much the kernel writes,
/// and that may have grown since the size was read. Then the call fails with `EFAULT`.
#[derive(Debug)]
pub(super) struct Answer {
    start: NonNull<c_void>,
    /// Bytes that may be used, whole pages.
    len: usize,
    /// Bytes that are mapped: one page more.
    mapped: NonZeroUsize,
}

impl Answer {
    /// Room for `len` bytes, rounded up to pages; all are 0.
    pub(super) fn new(len: usize) -> nix::Result<Self> {
        let page = sysconf(SysconfVar::PAGE_SIZE)?.and_then(|size| usize::try_from(size).ok());
        let page = page.unwrap_or(4096);
        let len = len.max(1).next_multiple_of(page);
        let mapped = NonZeroUsize::MIN.saturating_add(len + page - 1);
        let protection = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: a new mapping of no file, at an address that the kernel chooses.
        let start = unsafe { mmap_anonymous(None, mapped, protection, MapFlags::MAP_PRIVATE)? };
        let answer = Self { start, len, mapped };
        // SAFETY: the last page of the mapping, of which no reference is ever made.
        unsafe { mprotect(start.byte_add(len), page, ProtFlags::PROT_NONE)? };
        Ok(answer)
    }

    pub(super) fn bytes(&self) -> &[u8] {
        // SAFETY: `len` bytes are mapped, hold initialised memory and belong to `self`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().cast(), self.len) }
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`, and `self` is borrowed alone.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().cast(), self.len) }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        // SAFETY: the mapping that `new` made; nothing refers to it any more. It fails only if there is no
        // such mapping.
        let _ = unsafe { munmap(self.start, self.mapped.get()) };
    }
}

/// A socket for the requests.
pub(super) fn open() -> nix::Result<OwnedFd> {
    socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)
}

/// Sends a request about an interface. It is in `answer`, after the number of the command, which is
/// written here.
pub(super) fn ask(
    socket: &OwnedFd,
    interface: &str,
    query: Query,
    answer: &mut Answer,
) -> nix::Result<()> {
    let number = (query as u32).to_ne_bytes();
    answer.bytes_mut().iter_mut().zip(number).for_each(|(to, from)| *to = from);
    // SAFETY: `ifreq` is plain data, for which zeroes are valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    let name = request.ifr_name.iter_mut().zip(interface.bytes());
    // The last byte stays 0.
    name.take(libc::IFNAMSIZ - 1).for_each(|(to, from)| *to = from.cast_signed());
    request.ifr_ifru.ifru_data = answer.start.as_ptr().cast();
    // SAFETY: these commands read the head of their structure and write upwards from its start, into
    // `answer`, which lives until the call returns and ends in a page that stops the kernel.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL, &raw mut request) };
    nix::errno::Errno::result(result).map(drop)
}
