//! A NIC passes on only what is addressed to its host, unless somebody asks for everything, as at a mirror port.

use std::io;
use std::os::fd::OwnedFd;

use nix::net::if_::if_nametoindex;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};

use super::sys;

/// An interface receives every frame while this exists; the kernel counts who asks for it.
#[derive(Debug)]
pub struct Promiscuous {
    /// It receives nothing: it has no protocol.
    _socket: OwnedFd,
}

impl Promiscuous {
    /// Asks for every frame at an interface of the calling thread's network namespace.
    ///
    /// # Errors
    ///
    /// There is no such interface, or this process lacks `CAP_NET_RAW`.
    pub fn open(interface: &str) -> io::Result<Self> {
        let index = if_nametoindex(interface)?;
        let socket = socket(AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_CLOEXEC, None)?;
        sys::join_promiscuous(&socket, index)?;
        Ok(Self { _socket: socket })
    }
}
