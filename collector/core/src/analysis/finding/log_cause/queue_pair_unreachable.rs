//! No path between two GIDs.

use super::{Depth, LogCause};
use crate::analysis::severity::Severity;

/// No path between two GIDs.
pub(super) const CAUSE: LogCause = LogCause {
    id: "queue_pair_unreachable",
    what: "queue pairs cannot be connected: no way from the local GID to the remote one",
    depth: Depth::Root,
    severity: Severity::Critical,
    lines: &[
        "Call to ibv_modify_qp failed with error Network is unreachable",
        "Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_0:1, curr state INIT, next state RTR, ...",
    ],
    proves: |text| {
        text.contains("ibv_modify_qp")
            && ["unreachable", "timed out", "No route"].iter().any(|error| text.contains(error))
    },
    variables: &["NCCL_IB_GID_INDEX", "NCCL_CROSS_NIC"],
    unlike: "Status 12 (retry exceeded): there the connection is made and packets are lost. \
             Invalid argument from the same call: the GID itself.",
    remedy: "The two GIDs are in networks without a route between them: another rail, another \
             subnet, or a link-local GID. Rail-only fabrics have no way between rails: \
             NCCL_CROSS_NIC=0. Nodes cabled to each other without a switch: cable port 0 to port 1 \
             around the ring, NCCL_IB_SUBNET_AWARE_ROUTING=1 and NCCL_IB_MERGE_NICS=0. Else select NICs of one fabric on all hosts (NCCL_IB_HCA), the \
             index of the routable GID (`show_gids`, NCCL_IB_GID_INDEX), or add routes; `ping -I` \
             and `ib_write_bw` between these two addresses must work.",
    source: "NCCL src/transport/net_ib (hints of 2.28), NCCL_CROSS_NIC",
};
