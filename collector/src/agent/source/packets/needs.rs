//! What packets need: one of two ways to see them is enough.

use crate::ingest::capability::{Capability, Host, Verdict};
use crate::ingest::ebpf;

/// Kernel programs, and packet sockets.
pub(super) fn needs(host: &Host) -> [Verdict; 2] {
    let mut sockets = Verdict::new("packets via packet sockets");
    sockets.needs(host, Capability::NetRaw, "to see others' packets");
    [ebpf::needs(host), sockets]
}
