//! Frames that an interface lost before any program or socket saw them, because this host was too slow: the
//! NIC's ring was full, or the backlog of a core was.
//!
//! The kernel counts them with the interface (`RTM_GETSTATS`, rtnetlink(7); `struct rtnl_link_stats64` of
//! linux/if_link.h).

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket,
};

/// Time between two looks: some NICs ask their firmware.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

const GET_STATS: u16 = 94;
const NEW_STATS: u16 = 92;
/// `NLM_F_REQUEST`
const REQUEST: u16 = 1;
/// `IFLA_STATS_LINK_64`, and the bit that asks for it.
const LINK_64: u16 = 1;
const ONLY_LINK_64: u32 = 1;

/// Bytes of `struct nlmsghdr`, and of `struct if_stats_msg` after it.
const MESSAGE: usize = 16;
const ABOUT: usize = 12;
/// Bytes before the content of an attribute.
const ATTRIBUTE: usize = 4;

/// Indices of counters.
const RX_DROPPED: usize = 6;
const RX_FIFO_ERRORS: usize = 14;
const RX_MISSED_ERRORS: usize = 15;

/// The counters of an interface.
#[derive(Debug)]
pub(super) struct InterfaceLosses {
    socket: OwnedFd,
    index: u32,
    begin: Counts,
    /// Losses that were told.
    told: u64,
    looked: Instant,
}

/// Counts since boot.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    /// The ring of the NIC was full.
    missed: u64,
    /// Other reasons: a full backlog, or a protocol that nobody here speaks.
    dropped: u64,
    /// Frames dropped for a full backlog, at all interfaces.
    backlog: u64,
}

impl InterfaceLosses {
    /// Counts from now on, at the interface with this index in the calling thread's network namespace.
    pub(super) fn open(index: u32) -> io::Result<Self> {
        let (family, kind) = (AddressFamily::Netlink, SockType::Raw);
        let socket = socket(family, kind, SockFlag::SOCK_CLOEXEC, SockProtocol::NetlinkRoute)?;
        let begin = ask(&socket, index)?;
        Ok(Self { socket, index, begin, told: 0, looked: now() })
    }

    /// Frames lost since the last call; looks once a second, or `at_once`.
    pub(super) fn take(&mut self, at_once: bool) -> u64 {
        if !at_once && self.looked.elapsed() < LOOK_AGAIN {
            return 0;
        }
        self.looked = now();
        // The interface may be gone.
        let Ok(counts) = ask(&self.socket, self.index) else { return 0 };
        let lost = counts.lost_since(&self.begin);
        let news = lost.saturating_sub(self.told);
        self.told += news;
        news
    }
}

impl Counts {
    fn lost_since(&self, begin: &Self) -> u64 {
        let dropped = self.dropped.saturating_sub(begin.dropped);
        let backlog = self.backlog.saturating_sub(begin.backlog);
        self.missed.saturating_sub(begin.missed) + dropped.min(backlog)
    }
}

fn ask(socket: &OwnedFd, index: u32) -> io::Result<Counts> {
    let mut request = Vec::with_capacity(MESSAGE + ABOUT);
    request.extend(((MESSAGE + ABOUT) as u32).to_ne_bytes());
    request.extend(GET_STATS.to_ne_bytes());
    request.extend(REQUEST.to_ne_bytes());
    request.extend([0; 12]);
    request.extend(index.to_ne_bytes());
    request.extend(ONLY_LINK_64.to_ne_bytes());
    send(socket.as_raw_fd(), &request, MsgFlags::empty())?;
    let mut bytes = [0; 1024];
    // The kernel has answered when `send` returns.
    let length = recv(socket.as_raw_fd(), &mut bytes, MsgFlags::MSG_DONTWAIT)?;
    let counts = answer(bytes.get(..length).unwrap_or_default());
    let counts = counts.ok_or_else(|| io::Error::other("the kernel has no counters of it"))?;
    Ok(Counts { backlog: backlog().unwrap_or(0), ..counts })
}

/// The counters in the kernel's answer.
fn answer(bytes: &[u8]) -> Option<Counts> {
    let half = |at: usize| -> Option<u16> {
        Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
    };
    if half(4)? != NEW_STATS {
        return None;
    }
    let mut at = MESSAGE + ABOUT;
    // Before it may be one that pads.
    while half(at + 2)? != LINK_64 {
        at += usize::from(half(at)?).next_multiple_of(4).max(ATTRIBUTE);
    }
    let counter = |index: usize| -> Option<u64> {
        let at = at + ATTRIBUTE + 8 * index;
        Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
    };
    let missed = counter(RX_MISSED_ERRORS)?.saturating_add(counter(RX_FIFO_ERRORS)?);
    Some(Counts { missed, dropped: counter(RX_DROPPED)?, backlog: 0 })
}

/// Frames that all cores dropped for a full backlog: the second number of each line.
fn backlog() -> Option<u64> {
    let text = fs::read_to_string("/proc/net/softnet_stat").ok()?;
    let dropped = |line: &str| u64::from_str_radix(line.split(' ').nth(1)?, 16).ok();
    Some(text.lines().filter_map(dropped).sum())
}

#[expect(clippy::disallowed_methods, reason = "counters are read once a second")]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_count_when_a_core_was_too_slow() {
        let begin = Counts { missed: 10, dropped: 100, backlog: 1000 };
        // 30 frames of unknown protocols, and 7 at another interface.
        let unknown = Counts { dropped: 130, backlog: 1007, ..begin };
        assert_eq!(Counts { dropped: 130, ..begin }.lost_since(&begin), 0);
        assert_eq!(unknown.lost_since(&begin), 7);
        assert_eq!(Counts { missed: 15, ..unknown }.lost_since(&begin), 12);
        assert_eq!(begin.lost_since(&unknown), 0);
    }

    #[test]
    fn the_kernel_answers_for_an_interface() {
        let losses = InterfaceLosses::open(1);
        assert!(losses.is_ok_and(|mut losses| losses.take(true) == 0));
        assert!(InterfaceLosses::open(0x7fff_ffff).is_err());
        assert!(answer(&[]).is_none() && answer(&[0; 64]).is_none());
    }
}
