//! What the eBPF source observes.

use std::path::PathBuf;

use glob::Pattern;

/// What to observe.
#[derive(Clone, Debug)]
pub struct EbpfConfig {
    /// Names of interfaces.
    pub interfaces: Vec<String>,
    /// Their network namespace (`/proc/PID/ns/net`); `None`: the caller's.
    pub namespace: Option<PathBuf>,
    /// Whether they receive every frame, as at a mirror port, and not only frames for this host.
    pub promiscuous: bool,
    /// Names or patterns of mirror ports: interfaces that only receive copies from a switch, which are read in the
    /// driver and dropped there. In another network namespace, changes of their addresses are not seen.
    pub mirrors: Vec<Pattern>,
    /// Size of the ring for the events of all interfaces, MiB.
    pub ring_mebibytes: u32,
    /// Bytes of payload delivered of each direction of a TCP connection.
    pub stream_limit: u32,
    /// Whether the programs log what they lose, as warnings.
    pub logs: bool,
}

impl EbpfConfig {
    /// Whether an interface only receives copies.
    pub(super) fn is_mirror(&self, interface: &str) -> bool {
        self.mirrors.iter().any(|pattern| pattern.matches(interface))
    }

    /// Size of the ring, a power of two as the kernel requires.
    pub(super) fn ring_bytes(&self) -> u32 {
        (self.ring_mebibytes.clamp(1, 1024) << 20).next_power_of_two()
    }
}
