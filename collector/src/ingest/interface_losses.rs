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
    last: Counts,
    /// What grew since the look before and has no counterpart yet: the counters are not read at one moment.
    open: Grown,
    looked: Instant,
    /// Frames pass the backlog of a core before they are read.
    passes_backlog: bool,
}

/// Growth of two counters of a full backlog: drops at the interface, and at all of them.
#[derive(Clone, Copy, Debug, Default)]
struct Grown {
    dropped: u64,
    backlog: u64,
}

/// Counts since boot.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    /// The ring of the NIC was full.
    missed: u64,
    /// Other reasons: a full backlog, or a protocol that this host does not handle.
    dropped: u64,
    /// Frames dropped for a full backlog, at all interfaces.
    backlog: u64,
}

impl InterfaceLosses {
    /// Counts from now on, at the interface with this index in the calling thread's network namespace.
    /// `passes_backlog`: frames are read behind the backlog of a core, and not in the driver.
    pub(super) fn open(index: u32, passes_backlog: bool) -> io::Result<Self> {
        let (family, kind) = (AddressFamily::Netlink, SockType::Raw);
        let socket = socket(family, kind, SockFlag::SOCK_CLOEXEC, SockProtocol::NetlinkRoute)?;
        let last = ask(&socket, index)?;
        Ok(Self { socket, index, last, open: Grown::default(), looked: now(), passes_backlog })
    }

    /// Frames lost since the last call; looks once a second, or `at_once`.
    pub(super) fn take(&mut self, at_once: bool) -> u64 {
        if !at_once && self.looked.elapsed() < LOOK_AGAIN {
            return 0;
        }
        self.looked = now();
        // The interface may be gone.
        let Ok(counts) = ask(&self.socket, self.index) else { return 0 };
        let lost = if self.passes_backlog {
            counts.lost_since(&self.last, &mut self.open)
        } else {
            counts.missed.saturating_sub(self.last.missed)
        };
        self.last = counts;
        lost
    }
}

impl Counts {
    /// Frames lost since the last look. Drops count as far as a backlog was full at the same time: interfaces drop
    /// unknown protocols, too. What grew in only one of two looks is left `open` for the next.
    fn lost_since(&self, last: &Self, open: &mut Grown) -> u64 {
        let dropped = self.dropped.saturating_sub(last.dropped);
        let backlog = self.backlog.saturating_sub(last.backlog);
        let all = Grown { dropped: open.dropped + dropped, backlog: open.backlog + backlog };
        let both = all.dropped.min(all.backlog);
        *open = Grown {
            dropped: (all.dropped - both).min(dropped),
            backlog: (all.backlog - both).min(backlog),
        };
        self.missed.saturating_sub(last.missed) + both
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
    // Some drivers (mlx4) have the same number in both.
    let missed = counter(RX_MISSED_ERRORS)?.max(counter(RX_FIFO_ERRORS)?);
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
        let after = |missed, dropped, backlog| Counts {
            missed: begin.missed + missed,
            dropped: begin.dropped + dropped,
            backlog: begin.backlog + backlog,
        };
        let mut open = Grown::default();
        // 30 frames of unknown protocols; then a backlog is full elsewhere, much later.
        assert_eq!(after(0, 30, 0).lost_since(&begin, &mut open), 0);
        assert_eq!(after(0, 30, 0).lost_since(&after(0, 30, 0), &mut open), 0);
        assert_eq!(after(0, 30, 7).lost_since(&after(0, 30, 0), &mut open), 0);
        // Here, read between the two counters; and five at the NIC.
        assert_eq!(after(5, 33, 7).lost_since(&after(0, 30, 7), &mut open), 5 + 3);
        // A driver began anew.
        assert_eq!(begin.lost_since(&after(5, 33, 7), &mut open), 0);
        assert_eq!(after(1, 0, 0).lost_since(&begin, &mut open), 1);
    }

    #[test]
    fn the_kernel_answers_for_an_interface() {
        let losses = InterfaceLosses::open(1, true);
        assert!(losses.is_ok_and(|mut losses| losses.take(true) == 0));
        assert!(InterfaceLosses::open(0x7fff_ffff, true).is_err());
        assert!(answer(&[]).is_none() && answer(&[0; 64]).is_none());
    }
}
