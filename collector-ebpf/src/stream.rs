//! What is kept of one direction of a TCP connection.

use bytemuck::{Pod, Zeroable};

/// What identifies it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Pod, Zeroable)]
pub struct StreamKey {
    /// Source address, network order; IPv4 as an IPv4-mapped IPv6 address.
    pub source: [u8; 16],
    /// Destination address, network order; IPv4 as an IPv4-mapped IPv6 address.
    pub destination: [u8; 16],
    /// Source port, and below it the destination port.
    pub ports: u32,
    /// Index of the network interface, as in `if_nametoindex(3)`.
    pub interface_index: u32,
}

/// Its state.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct StreamState {
    /// Packets with payload.
    pub segments: u64,
    /// Bytes of payload, those sent again included.
    pub bytes: u64,
    /// Bytes of payload that were handed out.
    pub handed_out: u64,
}
