//! TCP connections of processes, as reported by their host's kernel.

use std::net::SocketAddr;

use super::time::Timestamp;

/// A connection's change of state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionChange {
    /// When.
    pub time: Timestamp,
    /// The same number in all changes of a connection; it may be reused later.
    pub socket: u64,
    /// This end. Its port is 0 before it is assigned, between the connection attempt and its
    /// completion.
    pub local: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
    /// State that it leaves.
    pub before: TcpState,
    /// State that it enters.
    pub after: TcpState,
    /// Owner of the socket: the process that connected or listens. `None` for accepted sockets, and
    /// for sockets older than the watch.
    pub owner: Option<ConnectionOwner>,
}

/// The process that connected or listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionOwner {
    /// The process, as its host numbers it.
    pub pid: u32,
    /// Its cgroup v2, by the kernel's number.
    pub cgroup: u64,
    /// Its name, at most 15 bytes (`comm`).
    pub name: String,
}

/// State of a TCP connection (RFC 9293, section 3.3.2; numbers of linux/tcp_states.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TcpState {
    /// Both ends may send.
    Established,
    /// This end sent a SYN.
    SynSent,
    /// The other end sent a SYN, and this end answered.
    SynReceived,
    /// This end sent a FIN.
    FinWait1,
    /// The FIN was acknowledged.
    FinWait2,
    /// Closed, waiting for late packets.
    TimeWait,
    /// No connection.
    Close,
    /// The other end sent a FIN.
    CloseWait,
    /// Both sent a FIN, the other end first.
    LastAck,
    /// Accepts connections.
    Listen,
    /// Both sent a FIN at the same time.
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

    /// The state with Linux's number. `TCP_NEW_SYN_RECV` (12) is not a state of a full socket.
    #[must_use]
    pub fn from_number(number: u32) -> Option<Self> {
        Self::ALL.get(usize::try_from(number).ok()?.checked_sub(1)?).copied()
    }
}
