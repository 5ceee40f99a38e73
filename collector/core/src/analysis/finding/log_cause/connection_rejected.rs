//! A firewall rejects connections.

use super::{Depth, LogCause};
use crate::analysis::severity::Severity;

/// A firewall rejects connections.
pub(super) const CAUSE: LogCause = LogCause {
    id: "connection_rejected",
    what: "a firewall rejects the connection to another rank",
    depth: Depth::Root,
    severity: Severity::Critical,
    lines: &[
        "socketPollConnect: Connect to 10.0.0.4<56849> returned 113(No route to host) errno 115(Operation now in progress)",
    ],
    proves: |text| {
        text.contains("onnect")
            && !text.contains("ibv_")
            && (text.contains("No route to host") || text.contains("EHOSTUNREACH"))
    },
    variables: &[],
    unlike: "Connection refused: the packet arrives, and nobody listens on the port. Time-out: \
             packets are dropped without an answer.",
    remedy: "In one subnet, `No route to host` is the ICMP answer of the firewall on that host: \
             stop firewalld, iptables or nftables there or open all ports between the hosts; \
             across subnets, check the route and the security group. `nc -zv ADDRESS PORT` from \
             this host shows the same error.",
    source: "connect(2), EHOSTUNREACH; NCCL src/misc/socket.cc",
};
