//! Connections time out.

use super::{Depth, LogCause};
use crate::analysis::severity::Severity;

/// Connections time out.
pub(super) const CAUSE: LogCause = LogCause {
    id: "connect_timeout",
    what: "connections between hosts time out",
    depth: Depth::Effect,
    severity: Severity::Critical,
    lines: &[
        "Call to connect returned Connection timed out, retrying",
        "socketStartConnect: connect returned Connection timed out, retrying (1/34) after sleep for 100 msec",
        "The client socket has failed to connect to [node1]:29500 (errno: 110 - Connection timed out).",
    ],
    proves: |text| {
        (text.contains("onnect") || text.contains("accept"))
            && !text.contains("ibv_")
            && (text.contains("timed out") || text.contains("errno: 110"))
    },
    variables: &["NCCL_SOCKET_IFNAME"],
    unlike: "Connection refused: the host answers, and no process listens there. Status 12 is a \
             time-out of RDMA, not of TCP.",
    remedy: "Packets are dropped on the way: firewall or security group between the hosts (all \
             ports must be open among them), a tunnel or overlay without a route, or an interface \
             that the other host cannot reach: set NCCL_SOCKET_IFNAME to the network that joins \
             them, and try `nc -zv ADDRESS PORT`.",
    source: "connect(2), ETIMEDOUT; NCCL src/misc/socket.cc",
};
