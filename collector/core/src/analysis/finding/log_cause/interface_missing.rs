//! The interface does not exist.

use super::{Depth, LogCause};
use crate::analysis::severity::Severity;

/// The interface does not exist.
pub(super) const CAUSE: LogCause = LogCause {
    id: "interface_missing",
    what: "no usable interface for the control plane: NCCL_SOCKET_IFNAME or the address is \
           wrong",
    depth: Depth::Root,
    severity: Severity::Critical,
    lines: &[
        "Bootstrap : no socket interface found",
        "NET/Socket : No usable listening interface found",
        "ncclSocketInit: connecting to address  with family 59936 is neither AF_INET(2) nor AF_INET6(10)",
    ],
    proves: |text| {
        text.contains("no socket interface found")
            || text.contains("No interface found")
            || text.contains("No usable listening interface")
            || text.contains("is neither AF_INET")
            || text.contains("no device found matching")
            || text.contains("no device found after excluding")
            || text.contains("Invalid NCCL_COMM_ID")
    },
    variables: &["NCCL_SOCKET_IFNAME", "NCCL_SOCKET_FAMILY", "NCCL_OOB_NET_IFNAME", "NCCL_COMM_ID"],
    unlike: "Connection refused or timed out: there the interface exists.",
    remedy: "NCCL_SOCKET_IFNAME names an interface that does not exist on this host (or excludes \
             all of them). Compare it with `ip -br addr` on every host, inside the container; a \
             prefix without = matches several (eth), ^ excludes.",
    source: "NCCL_SOCKET_IFNAME",
};
