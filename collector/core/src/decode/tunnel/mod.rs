//! Encapsulations that are unwrapped: the fabric's own (VXLAN, GRE) and those of mirror sessions
//! (ERSPAN, gretap), which switches put around copies of frames.

pub(super) mod erspan;
pub(super) mod gre;
pub(super) mod vxlan;

use super::packet::Tunnel;

/// What a tunnel header is followed by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unwrapped {
    /// The header that was taken.
    pub(super) tunnel: Tunnel,
    /// What follows it.
    pub(super) inner: Inner,
    /// A mirror session's copy of a frame, not a tunnel that the fabric carries frames through.
    pub(super) is_mirror: bool,
}

/// The header that comes next inside a tunnel.
#[derive(Clone, Copy, Debug)]
pub(super) enum Inner {
    /// An Ethernet header.
    Ethernet,
    /// The header that an `EtherType` stands for.
    EtherType(u16),
}
