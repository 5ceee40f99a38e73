//! TCP connections of processes, as the kernel of their host tells them.

use std::net::SocketAddr;

use super::time::Timestamp;

/// A connection goes from one state to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionChange {
    /// When.
    pub time: Timestamp,
    /// The same number in all changes of a connection; another may get it later.
    pub socket: u64,
    /// This end. It gets its port between being asked for and being established: 0 before.
    pub local: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
    /// State before.
    pub before: TcpState,
    /// State after.
    pub after: TcpState,
    /// Whose the socket is: who connected or listens. `None` of what was accepted, and of sockets that
    /// are older than the watch.
    pub owner: Option<ConnectionOwner>,
}

/// Whose a connection is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionOwner {
    /// The process, as its host numbers it.
    pub pid: u32,
    /// Its control group of version 2, by the kernel's number.
    pub cgroup: u64,
    /// Its name, 15 bytes of it (`comm`).
    pub name: String,
}

/// State of a TCP connection (RFC 9293, section 3.3.2; numbers of linux/tcp_states.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TcpState {
    /// Both ends agree.
    Established,
    /// It was asked for.
    SynSent,
    /// It was asked for by the other end, and granted.
    SynReceived,
    /// This end has ended.
    FinWait1,
    /// This end has ended, and the other knows.
    FinWait2,
    /// Both have ended, and packets that are late are waited for.
    TimeWait,
    /// There is none.
    Close,
    /// The other end has ended.
    CloseWait,
    /// Both have ended, the other first.
    LastAck,
    /// Others may connect.
    Listen,
    /// Both have ended at once.
    Closing,
}

impl TcpState {
    /// All, in Linux' order from 1.
    const ALL: [Self; 11] = [
        Self::Established,
        Self::SynSent,
        Self::SynReceived,
        Self::FinWait1,
        Self::FinWait2,
        Self::TimeWait,
        Self::Close,
        Self::CloseWait,
        Self::LastAck,
        Self::Listen,
        Self::Closing,
    ];

    /// The state with Linux' number for it. `TCP_NEW_SYN_RECV` (12) is no state of a whole socket.
    #[must_use]
    pub fn of(number: u32) -> Option<Self> {
        Self::ALL.get(usize::try_from(number).ok()?.checked_sub(1)?).copied()
    }
}
