//! Data center bridging of an interface, over route netlink (`RTM_GETDCB`), as `dcb` and `mlnx_qos` show it.
//!
//! Reading needs no rights. Interfaces without hardware have none: the kernel refuses.

pub mod message;

use std::io;
use std::os::fd::AsRawFd;

use nix::sys::socket::sockopt::ReceiveTimeout;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, setsockopt, socket,
};
use nix::sys::time::{TimeVal, TimeValLike};

use self::message::{answer, request};
use crate::doctor::tree::{Known, Missing, Tree};

/// Milliseconds that the kernel may take.
const PATIENCE_MS: i64 = 500;
/// Bytes of an answer: the tables of one interface.
const ANSWER_BYTES: usize = 32 * 1024;

/// Priorities and flow control of an interface (IEEE 802.1Qaz, 802.1Qbb).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dcb {
    /// Whether priority flow control is on, by priority.
    pub pfc: Option<[bool; 8]>,
    /// Priorities that the hardware can pause at one time.
    pub pfc_capability: Option<u8>,
    /// Traffic class by priority.
    pub classes: Option<[u8; 8]>,
    /// Share of bandwidth by traffic class, percent.
    pub shares: Option<[u8; 8]>,
    /// Priorities of DSCPs: mlx5 trusts DSCPs where there is any, else PCPs.
    pub dscp: Vec<(u8, u8)>,
}

/// Asks the kernel.
///
/// # Errors
///
/// When it has none for this interface, and below another root.
pub fn read(tree: &Tree, interface: &str) -> Known<Dcb> {
    let what = format!("priorities of {interface} (DCB netlink)");
    tree.of_running_system(&what)?;
    ask(interface).map_err(|error| Missing::of_error(what, &error))
}

fn ask(interface: &str) -> io::Result<Dcb> {
    let (family, kind) = (AddressFamily::Netlink, SockType::Raw);
    let socket = socket(family, kind, SockFlag::SOCK_CLOEXEC, SockProtocol::NetlinkRoute)?;
    setsockopt(&socket, ReceiveTimeout, &TimeVal::milliseconds(PATIENCE_MS))?;
    send(socket.as_raw_fd(), &request(interface), MsgFlags::empty())?;
    let mut bytes = vec![0; ANSWER_BYTES];
    let length = recv(socket.as_raw_fd(), &mut bytes, MsgFlags::empty())?;
    answer(bytes.get(..length).unwrap_or_default())
}
