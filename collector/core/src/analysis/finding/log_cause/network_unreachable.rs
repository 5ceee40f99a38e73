//! The network is unreachable.

use super::{Depth, LogCause};
use crate::analysis::severity::Severity;

/// The network is unreachable.
pub(super) const CAUSE: LogCause = LogCause {
    id: "network_unreachable",
    what: "no route to the address of another rank",
    depth: Depth::Effect,
    severity: Severity::Critical,
    lines: &["Connect to 10.1.2.3<36003> failed : Network is unreachable"],
    proves: |text| {
        text.contains("onnect") && !text.contains("ibv_") && text.contains("unreachable")
    },
    variables: &["NCCL_SOCKET_IFNAME"],
    unlike: "No route to host in one subnet: a firewall.",
    remedy: "This host has no route to that network: `ip route get ADDRESS`. Select an interface \
             that all hosts share (NCCL_SOCKET_IFNAME), or add the route.",
    source: "connect(2), ENETUNREACH",
};
