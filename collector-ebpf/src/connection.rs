//! What the program at TCP's changes of state hands out.

use bytemuck::{Pod, Zeroable};

/// A TCP connection goes from one state to another.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct ConnectionEvent {
    /// When.
    pub time: u64,
    /// Control group of version 2 of whoever runs.
    pub cgroup: u64,
    /// The socket, as the kernel names it: the same in all events of a connection.
    pub socket: u64,
    /// The process that runs. It is the socket's where the process itself asks for the change: when it
    /// connects, listens and closes. What comes from the network is worked on in whatever process runs
    /// just then.
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
    /// Name of the process that runs (`comm`).
    pub name: [u8; 16],
}
