//! NICs differ.

use super::{Depth, LogCause};
use crate::analysis::severity::Severity;

/// NICs differ.
pub(super) const CAUSE: LogCause = LogCause {
    id: "devices_differ",
    what: "NICs of different kinds would be connected to each other",
    depth: Depth::Root,
    severity: Severity::Critical,
    lines: &[
        "NET/IB : Attempted to connect incompatible devices: [0]mlx5_0:1/IB and [1]mlx5_3:1/RoCE. Try selecting NICs of only one link type using NCCL_IB_HCA",
        "Detected mixed local Net device counts across ranks (min 4, max 8).",
    ],
    proves: |text| {
        text.contains("connect incompatible devices")
            || text.contains("device is incompatible with the local")
            || text.contains("different link_layer")
            || text.contains("mixed local Net device counts")
            || text.contains("has a different number of devices")
    },
    variables: &[],
    unlike: "A path that is broken between equal NICs.",
    remedy: "Select NICs of one link layer and fabric on all hosts, in the same order: \
             NCCL_IB_HCA=mlx5_0,mlx5_1 (=exact, ^exclude). Hosts with fewer NICs: exclude them, \
             or NCCL_IGNORE_NET_MISMATCH=1.",
    source: "NCCL_IB_HCA; NCCL src/transport/net_ib",
};
