//! Whether interfaces have come, gone or changed: rtnetlink (rtnetlink(7)) announces each change.
//!
//! The announcements are not read. Whoever wants to know what there is asks the kernel, which also
//! covers announcements that were lost because too many came at once.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, socket,
};

/// `RTMGRP_LINK` (linux/rtnetlink.h).
const LINKS: u32 = 1;

/// Most announcements read at once: others cannot keep the reader busy.
const MOST: usize = 1024;

/// Longest time between two looks: an announcement may be lost.
pub const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// Shortest time between two looks, however many changes are announced.
const REST: Duration = Duration::from_millis(200);

/// When to look at the interfaces of this process's network namespace again.
#[derive(Debug)]
pub struct LinkWatch {
    /// `None` if the kernel announces no changes to this process.
    events: Option<LinkEvents>,
    has_changed: bool,
    looked: Instant,
}

impl LinkWatch {
    /// For one who has just looked.
    #[must_use]
    pub fn new() -> Self {
        Self { events: LinkEvents::open().ok(), has_changed: false, looked: now() }
    }

    /// Whether to look now. Whoever is told so does: the next look is due later.
    pub fn take_due(&mut self) -> bool {
        self.has_changed |= self.events.as_mut().is_some_and(LinkEvents::take);
        let since = self.looked.elapsed();
        let is_due = since >= LOOK_AGAIN || self.has_changed && since >= REST;
        if is_due {
            self.has_changed = false;
            self.looked = now();
        }
        is_due
    }

    /// Makes a look due after the shortest rest, as a change does.
    pub fn hurry(&mut self) {
        self.has_changed = true;
    }
}

impl Default for LinkWatch {
    fn default() -> Self {
        Self::new()
    }
}

/// A subscription to the changes in this process's network namespace.
#[derive(Debug)]
struct LinkEvents {
    socket: OwnedFd,
}

impl LinkEvents {
    /// Subscribes. Fails if the system has no netlink sockets for this process.
    fn open() -> io::Result<Self> {
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        let socket =
            socket(AddressFamily::Netlink, SockType::Raw, flags, SockProtocol::NetlinkRoute)?;
        bind(socket.as_raw_fd(), &NetlinkAddr::new(0, LINKS))?;
        Ok(Self { socket })
    }

    /// Whether anything has changed since the last call. Never waits.
    fn take(&mut self) -> bool {
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

#[expect(clippy::disallowed_methods, reason = "interfaces are looked at now and then")]
fn now() -> Instant {
    Instant::now()
}
