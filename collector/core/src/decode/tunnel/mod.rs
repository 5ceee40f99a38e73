//! Encapsulations that are removed: the fabric's own (VXLAN, Geneve, GRE, MPLS, IP in IP) and those of
//! mirror sessions (ERSPAN, gretap, SONiC's), which switches put around copies of frames.

pub(super) mod erspan;
pub(super) mod geneve;
pub(super) mod gre;
mod mirror;
pub(super) mod mpls;
pub(super) mod vxlan;

use super::packet::Tunnel;

/// The result of removing a tunnel header.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unwrapped {
    /// The removed header.
    pub(super) tunnel: Tunnel,
    /// The next header.
    pub(super) inner: Inner,
    /// Whether it is a mirror session's copy of a frame rather than a tunnel of the fabric.
    pub(super) is_mirror: bool,
}

/// The header that comes next inside a tunnel.
#[derive(Clone, Copy, Debug)]
pub(super) enum Inner {
    /// An Ethernet header.
    Ethernet,
    /// The header of an `EtherType`.
    EtherType(u16),
}
