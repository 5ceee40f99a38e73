//! A GID cannot be used.

use super::{Depth, LogCause, has};
use crate::analysis::severity::Severity;

/// A GID cannot be used.
pub(super) const CAUSE: LogCause = LogCause {
    id: "gid_not_usable",
    what: "a queue pair cannot use its GID",
    depth: Depth::Root,
    severity: Severity::Critical,
    lines: &[
        "Call to ibv_modify_qp failed with error Invalid argument",
        "Call to ibv_modify_qp failed with error No such device",
        "Call to ibv_query_gid failed",
    ],
    proves: |text| {
        (text.contains("ibv_modify_qp")
            && ["Invalid argument", "No such device", "No such file", " 22 ", " 19 "]
                .iter()
                .any(|error| text.contains(error)))
            || text.contains("ibv_query_gid")
            || text.contains("ibv_query_gid_type")
            || has(text, &["NET/IB", "GID", "not found"])
    },
    variables: &["NCCL_IB_GID_INDEX", "NCCL_IB_ADDR_RANGE"],
    unlike: "Unreachable or timed out from ibv_modify_qp: the GIDs are valid, and no route joins \
             them.",
    remedy: "The index names a GID that is empty, of another type (RoCE v1 against v2) or whose \
             netdev is not in the network namespace of the process. `show_gids` lists them; unset \
             NCCL_IB_GID_INDEX (2.21 and later find it) or set it to the RoCE v2 GID with the \
             IPv4 address; NCCL_IB_ADDR_FAMILY and NCCL_IB_ADDR_RANGE select by address; give the \
             pod the interface of the device (host network, SR-IOV CNI, `rdma system set netns \
             exclusive`).",
    source: "NCCL_IB_GID_INDEX, NCCL_IB_ADDR_RANGE; Linux rdma-system(8)",
};
