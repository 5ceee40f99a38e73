//! What the packet sockets observe.

use std::path::PathBuf;

/// What to open.
#[derive(Clone, Debug)]
pub struct AfPacketConfig {
    /// Names of interfaces.
    pub interfaces: Vec<String>,
    /// Their network namespace (`/proc/PID/ns/net`); `None`: the caller's.
    pub namespace: Option<PathBuf>,
    /// Whether they receive every frame, as at a mirror port, and not only frames for this host.
    pub promiscuous: bool,
    /// Bytes kept of each RoCEv2 packet.
    pub roce_bytes: u32,
    /// Bytes kept of any other frame; [`WHOLE`](super::WHOLE) for all.
    pub other_bytes: u32,
    /// Size of the ring of each interface, MiB.
    pub ring_mebibytes: usize,
}
