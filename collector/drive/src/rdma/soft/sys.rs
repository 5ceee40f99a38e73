//! System calls for UDP sockets that the standard library does not have: options, batches,
//! control messages.

#![expect(unsafe_code, reason = "thin wrappers over libc, each with its reason")]

use std::io;
use std::mem::{size_of, zeroed};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::ptr::{from_mut, from_ref};
use std::time::Duration;

use libc::{c_int, c_void, cmsghdr, iovec, mmsghdr, msghdr, sockaddr_storage, timespec};

/// Most packets of one call.
pub const MOST: usize = 64;

/// Fits a timestamp, a traffic class and a counter.
const CONTROL_BYTES: usize = 96;

/// Control messages are read and written as structures.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Control([u8; CONTROL_BYTES]);

/// A datagram to send.
#[derive(Clone, Copy, Debug)]
pub struct Send<'a> {
    /// Payload.
    pub bytes: &'a [u8],
    /// DSCP and ECN.
    pub traffic_class: u8,
}

/// A received datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Bytes in its slot; the datagram may have been longer.
    pub bytes: usize,
    /// Sender.
    pub from: SocketAddr,
    /// DSCP and ECN.
    pub traffic_class: u8,
    /// Kernel timestamp in ns of `CLOCK_REALTIME`, if there is one.
    pub wall_ns: Option<u64>,
    /// Datagrams dropped for lack of buffer since the socket was created, if the kernel says.
    pub overflowed: Option<u32>,
}

/// Sets an option that is an `int`.
///
/// # Errors
/// The kernel refuses.
pub fn set_option(socket: &UdpSocket, level: c_int, name: c_int, value: c_int) -> io::Result<()> {
    let length = size_of::<c_int>() as libc::socklen_t;
    let value = from_ref(&value).cast::<c_void>();
    // SAFETY: `value` points to a c_int that lives until the call returns, `length` is its size.
    let refused = unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, value, length) };
    if refused == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Size of the socket's receive buffer, including overhead.
///
/// # Errors
/// The kernel refuses.
pub fn receive_buffer(socket: &UdpSocket) -> io::Result<usize> {
    let mut value: c_int = 0;
    let mut length = size_of::<c_int>() as libc::socklen_t;
    let (fd, at) = (socket.as_raw_fd(), from_mut(&mut value).cast::<c_void>());
    // SAFETY: `at` points to a c_int of this function, `length` to its size.
    let refused =
        unsafe { libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_RCVBUF, at, &mut length) };
    if refused == 0 { Ok(value.max(0) as usize) } else { Err(io::Error::last_os_error()) }
}

/// Sends datagrams to one address; returns how many the kernel took, from one to [`MOST`].
///
/// # Errors
/// The first was refused.
pub fn send(socket: &UdpSocket, to: SocketAddr, packets: &[Send<'_>]) -> io::Result<usize> {
    let packets = &packets[..packets.len().min(MOST)];
    let (mut address, address_bytes) = raw_address(to);
    let mut vectors = [iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; MOST];
    let mut controls = [Control([0; CONTROL_BYTES]); MOST];
    // SAFETY: all zeros is a valid mmsghdr: null pointers with length 0.
    let mut messages: [mmsghdr; MOST] = unsafe { zeroed() };
    for (place, packet) in packets.iter().enumerate() {
        vectors[place].iov_base = packet.bytes.as_ptr().cast_mut().cast();
        vectors[place].iov_len = packet.bytes.len();
        let header = &mut messages[place].msg_hdr;
        header.msg_name = from_mut(&mut address).cast();
        header.msg_namelen = address_bytes;
        header.msg_iov = from_mut(&mut vectors[place]);
        header.msg_iovlen = 1;
        header.msg_control = from_mut(&mut controls[place]).cast();
        let kind = match to {
            SocketAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_TOS),
            SocketAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_TCLASS),
        };
        put_control(header, kind, c_int::from(packet.traffic_class));
    }
    let (fd, count) = (socket.as_raw_fd(), packets.len() as libc::c_uint);
    // SAFETY: every header points to arrays of this function and to the callers' bytes, which
    // outlive the call; the kernel only reads through them, and writes `msg_len`.
    let sent = unsafe { libc::sendmmsg(fd, messages.as_mut_ptr(), count, libc::MSG_DONTWAIT) };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

/// Receives datagrams, one per slot; returns their number, at most [`MOST`].
///
/// # Errors
/// There is none (`WouldBlock`), or the kernel refuses.
pub fn receive(
    socket: &UdpSocket,
    slots: &mut [Vec<u8>],
    received: &mut Vec<Received>,
) -> io::Result<()> {
    received.clear();
    let count = slots.len().min(MOST);
    let mut vectors = [iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; MOST];
    let mut controls = [Control([0; CONTROL_BYTES]); MOST];
    // SAFETY: all zeros is a valid sockaddr_storage and a valid mmsghdr.
    let (mut addresses, mut messages): ([sockaddr_storage; MOST], [mmsghdr; MOST]) =
        unsafe { (zeroed(), zeroed()) };
    for (place, slot) in slots[..count].iter_mut().enumerate() {
        vectors[place].iov_base = slot.as_mut_ptr().cast();
        vectors[place].iov_len = slot.len();
        let header = &mut messages[place].msg_hdr;
        header.msg_name = from_mut(&mut addresses[place]).cast();
        header.msg_namelen = size_of::<sockaddr_storage>() as libc::socklen_t;
        header.msg_iov = from_mut(&mut vectors[place]);
        header.msg_iovlen = 1;
        header.msg_control = from_mut(&mut controls[place]).cast();
        header.msg_controllen = CONTROL_BYTES;
    }
    let (fd, flags, count) = (socket.as_raw_fd(), libc::MSG_DONTWAIT, count as libc::c_uint);
    let no_time = std::ptr::null_mut();
    // SAFETY: every header points to arrays of this function and to the callers' slots with their
    // lengths; all outlive the call.
    let came = unsafe { libc::recvmmsg(fd, messages.as_mut_ptr(), count, flags, no_time) };
    let came = usize::try_from(came).map_err(|_| io::Error::last_os_error())?;
    for (message, address) in messages[..came].iter().zip(&addresses) {
        let from = address_of(address).unwrap_or((Ipv4Addr::UNSPECIFIED, 0).into());
        let bytes = message.msg_len as usize;
        let mut one = Received { bytes, from, traffic_class: 0, wall_ns: None, overflowed: None };
        read_controls(&message.msg_hdr, &mut one);
        received.push(one);
    }
    Ok(())
}

/// Waits for a datagram (`to_send`: for room to send one), at most `wait`.
///
/// # Errors
/// The kernel refuses; an interruption by a signal is not an error.
pub fn wait(socket: &UdpSocket, to_send: bool, wait: Duration) -> io::Result<()> {
    let events = if to_send { libc::POLLOUT } else { libc::POLLIN };
    let mut entry = libc::pollfd { fd: socket.as_raw_fd(), events, revents: 0 };
    let time = timespec {
        tv_sec: libc::time_t::try_from(wait.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: libc::c_long::from(wait.subsec_nanos()),
    };
    // SAFETY: one entry and one time of this function; no signal mask.
    let ready = unsafe { libc::ppoll(&mut entry, 1, &time, std::ptr::null()) };
    let error = io::Error::last_os_error();
    if ready < 0 && error.kind() != io::ErrorKind::Interrupted { Err(error) } else { Ok(()) }
}

/// Puts one `int` into the control buffer of a header and sets its length.
fn put_control(header: &mut msghdr, (level, kind): (c_int, c_int), value: c_int) {
    let bytes = size_of::<c_int>() as libc::c_uint;
    // SAFETY: CMSG_SPACE and CMSG_LEN are arithmetic. The buffer is aligned and its CONTROL_BYTES
    // hold one header and an int, so CMSG_FIRSTHDR and CMSG_DATA point into it.
    unsafe {
        header.msg_controllen = libc::CMSG_SPACE(bytes) as usize;
        let first = libc::CMSG_FIRSTHDR(header);
        (*first).cmsg_level = level;
        (*first).cmsg_type = kind;
        (*first).cmsg_len = libc::CMSG_LEN(bytes) as usize;
        libc::CMSG_DATA(first).cast::<c_int>().write_unaligned(value);
    }
}

/// Reads the control messages of a received datagram.
fn read_controls(header: &msghdr, one: &mut Received) {
    // SAFETY: the kernel filled the control buffer and set its length; the CMSG macros stay in it.
    let mut at: *const cmsghdr = unsafe { libc::CMSG_FIRSTHDR(header) };
    while !at.is_null() {
        // SAFETY: `at` points to a whole header; each kind has the data that its manual page says.
        unsafe {
            let data = libc::CMSG_DATA(at);
            match ((*at).cmsg_level, (*at).cmsg_type) {
                (libc::IPPROTO_IP, libc::IP_TOS) => one.traffic_class = *data,
                (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => {
                    one.traffic_class = data.cast::<c_int>().read_unaligned() as u8;
                }
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                    let time = data.cast::<timespec>().read_unaligned();
                    one.wall_ns = Some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64);
                }
                (libc::SOL_SOCKET, libc::SO_RXQ_OVFL) => {
                    one.overflowed = Some(data.cast::<u32>().read_unaligned());
                }
                _ => {}
            }
            at = libc::CMSG_NXTHDR(header, at);
        }
    }
}

/// Converts an address for the kernel.
fn raw_address(address: SocketAddr) -> (sockaddr_storage, libc::socklen_t) {
    // SAFETY: all zeros is a valid sockaddr_storage.
    let mut storage: sockaddr_storage = unsafe { zeroed() };
    let at = from_mut(&mut storage);
    match address {
        SocketAddr::V4(address) => {
            let raw = libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: address.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(address.ip().octets()) },
                sin_zero: [0; 8],
            };
            // SAFETY: a sockaddr_storage is large and aligned enough for any address.
            unsafe { at.cast::<libc::sockaddr_in>().write(raw) };
            (storage, size_of::<libc::sockaddr_in>() as libc::socklen_t)
        }
        SocketAddr::V6(address) => {
            let raw = libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: address.port().to_be(),
                sin6_flowinfo: 0,
                sin6_addr: libc::in6_addr { s6_addr: address.ip().octets() },
                sin6_scope_id: address.scope_id(),
            };
            // SAFETY: as above.
            unsafe { at.cast::<libc::sockaddr_in6>().write(raw) };
            (storage, size_of::<libc::sockaddr_in6>() as libc::socklen_t)
        }
    }
}

/// Converts an address from the kernel.
fn address_of(storage: &sockaddr_storage) -> Option<SocketAddr> {
    match c_int::from(storage.ss_family) {
        libc::AF_INET => {
            // SAFETY: the family says which structure it is.
            let raw = unsafe { &*from_ref(storage).cast::<libc::sockaddr_in>() };
            let ip = Ipv4Addr::from(raw.sin_addr.s_addr.to_ne_bytes());
            Some(SocketAddr::new(IpAddr::V4(ip), u16::from_be(raw.sin_port)))
        }
        libc::AF_INET6 => {
            // SAFETY: as above.
            let raw = unsafe { &*from_ref(storage).cast::<libc::sockaddr_in6>() };
            let ip = Ipv6Addr::from(raw.sin6_addr.s6_addr);
            Some(SocketAddr::new(IpAddr::V6(ip), u16::from_be(raw.sin6_port)))
        }
        _ => None,
    }
}
