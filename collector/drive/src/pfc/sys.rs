//! A packet socket for MAC control frames (packet(7)).
#![expect(unsafe_code, reason = "socket options and addresses without wrappers")]

use std::ffi::c_int;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::net::if_::if_nametoindex;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};

use super::frame::MAC_CONTROL;

/// A socket at `interface` of the calling thread's namespace that sends frames as they are, and receives MAC
/// control frames that come from the other end of the link.
pub(super) fn open(interface: &str) -> io::Result<OwnedFd> {
    let index = if_nametoindex(interface)?;
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    // Protocol 0 receives nothing before the socket is bound to the interface.
    let socket = socket(AddressFamily::Packet, SockType::Raw, flags, None)?;
    let yes: c_int = 1;
    set_option(&socket, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &yes)?;
    keep_only_mac_control(&socket)?;
    // SAFETY: `sockaddr_ll` is plain data, for which zeroes are valid.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    // A port of a bridge shows its frames only to sockets of all protocols.
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = index.cast_signed();
    let bytes = size_of_val(&address) as libc::socklen_t;
    // SAFETY: the address is a `sockaddr_ll` of `bytes` bytes.
    check(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), bytes) })?;
    Ok(socket)
}

/// Drops all frames but those with the type of MAC control.
fn keep_only_mac_control(socket: &OwnedFd) -> io::Result<()> {
    let operation = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let mut filter = [
        // BPF_LD | BPF_H | BPF_ABS; BPF_JMP | BPF_JEQ | BPF_K; BPF_RET | BPF_K
        operation(0x28, 0, 0, 12),
        operation(0x15, 0, 1, MAC_CONTROL.into()),
        operation(0x06, 0, 0, u32::MAX),
        operation(0x06, 0, 0, 0),
    ];
    let program = libc::sock_fprog { len: 4, filter: filter.as_mut_ptr() };
    set_option(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
}

fn set_option<T>(socket: &OwnedFd, level: c_int, name: c_int, value: &T) -> io::Result<()> {
    let bytes = size_of_val(value) as libc::socklen_t;
    // SAFETY: the kernel reads `bytes` bytes of `value`, which lives until the call returns.
    let result = unsafe {
        libc::setsockopt(socket.as_raw_fd(), level, name, std::ptr::from_ref(value).cast(), bytes)
    };
    check(result)
}

fn check(result: c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
