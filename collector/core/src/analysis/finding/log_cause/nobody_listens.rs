//! Connection refused.

use super::{Depth, LogCause};
use crate::analysis::severity::Severity;

/// Connection refused.
pub(super) const CAUSE: LogCause = LogCause {
    id: "nobody_listens",
    what: "nobody listens at the address that ranks connect to",
    depth: Depth::Effect,
    severity: Severity::Critical,
    lines: &[
        "Call to connect returned Connection refused, retrying",
        "socketStartConnect: Connect to 10.0.0.1<29500> failed : Connection refused",
        "The client socket has failed to connect to [node1]:29500 (errno: 111 - Connection refused).",
    ],
    proves: |text| {
        text.contains("onnect")
            && !text.contains("ibv_")
            && (text.contains("Connection refused") || text.contains("errno: 111"))
    },
    variables: &[],
    unlike: "Time-out or no route: a firewall or the network. There nothing answers, here the \
             host does.",
    remedy: "The process that should listen has exited, is on another host, or its address is \
             stale: read its log first; check that MASTER_ADDR and MASTER_PORT (or NCCL_COMM_ID) \
             are those of rank 0 of this start, and that /etc/hosts does not map its name to \
             127.0.1.1.",
    source: "connect(2), ECONNREFUSED; PyTorch TCPStore",
};
