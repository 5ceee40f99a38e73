//! A link-local address was chosen.

use super::{Depth, LogCause};
use crate::analysis::severity::Severity;

/// A link-local address was chosen.
pub(super) const CAUSE: LogCause = LogCause {
    id: "link_local_interface",
    what: "ranks connect to a link-local or container-internal address: the wrong interface was \
           chosen",
    depth: Depth::Root,
    severity: Severity::Critical,
    lines: &[
        "Connect to fe80::1ff:fe23:4567:890a%4<36003> failed : Connection timed out",
        "socketStartConnect: Connect to 172.17.0.1<41245> failed : Connection refused",
    ],
    proves: |text| {
        let is_connect = text.contains("onnect") && !text.contains("ibv_");
        let local = ["fe80::", " 169.254.", " 172.17.0.", " 192.168.122.", " 127.0.0.1<", " ::1<"];
        is_connect
            && local.iter().any(|address| text.contains(address))
            && ["failed", "returned", "timed out", "refused", "unreachable"]
                .iter()
                .any(|error| text.contains(error))
    },
    variables: &["NCCL_SOCKET_IFNAME"],
    unlike: "The same errors with an address of the cluster network: firewall or route.",
    remedy: "Select the interface of the cluster network on all hosts: NCCL_SOCKET_IFNAME=eth0 \
             (or ^veth,docker0,lo,virbr0 to exclude); NCCL_SOCKET_FAMILY=AF_INET where only IPv4 \
             is routed. veth, docker, tunnel and link-local addresses exist on every host and \
             lead nowhere.",
    source: "NCCL_SOCKET_IFNAME, NCCL_SOCKET_FAMILY",
};
