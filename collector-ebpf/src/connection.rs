//! Events of the program at TCP state changes.

use bytemuck::{Pod, Zeroable};

/// A TCP connection goes from one state to another.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct ConnectionEvent {
    /// When.
    pub time: u64,
    /// Control group, version 2, of the running process.
    pub cgroup: u64,
    /// The socket, as the kernel names it: the same in all events of a connection.
    pub socket: u64,
    /// The running process. It owns the socket if it causes the change itself: when it connects, listens
    /// and closes. Packets from the network are processed in whichever process is running at that
    /// moment.
    pub pid: u32,
    /// State before (`TCP_ESTABLISHED` is 1; linux/tcp_states.h).
    pub old_state: u32,
    /// State after.
    pub new_state: u32,
    /// Port of this end.
    pub local_port: u16,
    /// Port of the other end.
    pub remote_port: u16,
    /// Address of this end, network order; IPv4 as an IPv4-mapped IPv6 address.
    pub local: [u8; 16],
    /// Address of the other end, likewise.
    pub remote: [u8; 16],
    /// Name of the running process (`comm`).
    pub name: [u8; 16],
}
