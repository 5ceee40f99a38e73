//! Records that cross from the kernel programs to user space, laid out alike on both sides.
//!
//! Rules for everything here: `#[repr(C)]`, `Copy`, no hidden padding, no pointer, host byte order.
//! A flag is a `u32`, never a `bool`, so that every bit pattern read from a map is a valid value.
#![no_std]

/// What identifies a flow: one direction between two addresses towards one queue pair.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FlowKeyRecord {
    /// Source address, network order; IPv4 as an IPv4-mapped IPv6 address.
    pub source: [u8; 16],
    /// Destination address, network order; IPv4 as an IPv4-mapped IPv6 address.
    pub destination: [u8; 16],
    /// Destination queue pair number, 24 bits.
    pub dest_qpn: u32,
    /// Index of the network interface, as in `if_nametoindex(3)`.
    pub interface_index: u32,
}

const _: () = assert!(size_of::<FlowKeyRecord>() == 16 + 16 + 4 + 4);
