//! Options and addresses of packet sockets.
#![expect(unsafe_code, reason = "socket options and addresses without wrappers")]

use std::ffi::c_int;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::net::if_::if_nametoindex;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};

/// A socket for frames as they are on the wire. It receives nothing before it is bound to an interface.
pub(crate) fn open(flags: SockFlag) -> io::Result<OwnedFd> {
    let flags = flags | SockFlag::SOCK_CLOEXEC;
    Ok(socket(AddressFamily::Packet, SockType::Raw, flags, None)?)
}

/// Binds it to an interface of the calling thread's namespace, for frames of all protocols.
pub(crate) fn bind(socket: &OwnedFd, interface: &str) -> io::Result<()> {
    // SAFETY: `sockaddr_ll` is plain data, for which zeroes are valid.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = if_nametoindex(interface)?.cast_signed();
    let bytes = size_of_val(&address) as libc::socklen_t;
    // SAFETY: the address is a `sockaddr_ll` of `bytes` bytes.
    check(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), bytes) })
}

/// Keeps of each frame as many bytes as the program returns: 0 drops it.
pub(crate) fn keep_only<const N: usize>(
    socket: &OwnedFd,
    mut filter: [libc::sock_filter; N],
) -> io::Result<()> {
    let program = libc::sock_fprog { len: N as u16, filter: filter.as_mut_ptr() };
    set_option(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
}

pub(crate) fn set_option<T>(
    socket: &OwnedFd,
    level: c_int,
    name: c_int,
    value: &T,
) -> io::Result<()> {
    let bytes = size_of_val(value) as libc::socklen_t;
    // SAFETY: the kernel reads `bytes` bytes of `value`, which lives until the call returns.
    let result = unsafe {
        libc::setsockopt(socket.as_raw_fd(), level, name, std::ptr::from_ref(value).cast(), bytes)
    };
    check(result)
}

/// What a system call's result means.
pub(crate) fn check(result: c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
