//! Whether interfaces have come, gone or changed: rtnetlink (rtnetlink(7)) announces each change.
//!
//! The announcements are not read. Whoever wants to know what there is asks the kernel, which also
//! covers announcements that were lost because too many came at once.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, socket,
};

/// `RTMGRP_LINK` (linux/rtnetlink.h).
const LINKS: u32 = 1;

/// Most announcements read at once: others cannot keep the reader busy.
const MOST: usize = 1024;

/// A subscription to the changes in this process's network namespace.
#[derive(Debug)]
pub struct LinkEvents {
    socket: OwnedFd,
}

impl LinkEvents {
    /// Subscribes.
    ///
    /// # Errors
    ///
    /// The system has no netlink sockets for this process.
    pub fn open() -> io::Result<Self> {
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        let socket =
            socket(AddressFamily::Netlink, SockType::Raw, flags, SockProtocol::NetlinkRoute)?;
        bind(socket.as_raw_fd(), &NetlinkAddr::new(0, LINKS))?;
        Ok(Self { socket })
    }

    /// Whether anything has changed since the last call. Never waits.
    pub fn take(&mut self) -> bool {
        let mut bytes = [0; 4096];
        for read in 0..MOST {
            match recv(self.socket.as_raw_fd(), &mut bytes, MsgFlags::MSG_DONTWAIT) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => return read > 0,
                // Too many came at once (ENOBUFS), or it failed: something may have changed.
                Err(_) => return true,
            }
        }
        true
    }
}
