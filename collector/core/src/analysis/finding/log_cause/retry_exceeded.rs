//! Retry exceeded.

use super::{Depth, LogCause, completion_status};
use crate::analysis::severity::Severity;

/// Retry exceeded.
pub(super) const CAUSE: LogCause = LogCause {
    id: "retry_exceeded",
    what: "a NIC got no answer and gave up after all retries (status 12, retry exceeded)",
    depth: Depth::Effect,
    severity: Severity::Critical,
    lines: &[
        "NET/IB : Got completion from peer 10.0.0.2<43210> with status=12 opcode=1 len=0 vendor err 129 (Send)",
        "NET/IB : Got completion with error 12, opcode 1, len 0, vendor err 129",
    ],
    proves: |text| completion_status(text) == Some(12) || text.contains("RETRY_EXC_ERR"),
    variables: &["NCCL_IB_GID_INDEX", "NCCL_IB_TIMEOUT", "NCCL_IB_HCA"],
    unlike: "Flushes (status 5) and closed connections, which follow. A peer that exited first \
             looks the same from here: compare the times in its log.",
    remedy: "The path between the two NICs drops packets, or the peer is gone: look at the link \
             and switch port of both ends, at routes and PFC or drops on the way; `ib_write_bw` \
             between these GIDs. If it fails from the start on RoCE, the GID is often the wrong \
             one (RoCE v1 or link-local): `show_gids`, then NCCL_IB_GID_INDEX. Higher \
             NCCL_IB_TIMEOUT or NCCL_IB_RETRY_CNT only hides it.",
    source: "ibv_poll_cq(3), IBV_WC_RETRY_EXC_ERR; NCCL_IB_TIMEOUT",
};
