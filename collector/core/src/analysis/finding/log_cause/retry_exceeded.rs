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
    variables: &[
        "NCCL_IB_GID_INDEX",
        "NCCL_IB_TC",
        "NCCL_IB_TIMEOUT",
        "NCCL_IB_RETRY_CNT",
        "NCCL_IB_HCA",
    ],
    unlike: "Flushes (status 5) and closed connections, which follow. A peer that exited first \
             looks the same from here: compare the times in its log.",
    remedy: "The path between the two NICs drops packets, or the peer is gone. All lines of all hosts \
             show which: one peer in all of them is that host (its log, dmesg, its ports); one NIC in \
             all of them is its link, optic or switch port; from the start and always the same pairs \
             is a way that is missing or the wrong GID (RoCE v1 or link-local: `show_gids`, then \
             NCCL_IB_GID_INDEX; `ib_write_bw` between these two GIDs); pairs by chance and under load \
             are drops: counters of switches and NICs, PFC on the priority of NCCL_IB_TC at each hop. \
             Of a bond, test each member: one of the two ways may be dead. Higher NCCL_IB_TIMEOUT or \
             NCCL_IB_RETRY_CNT only hides it.",
    source: "ibv_poll_cq(3), IBV_WC_RETRY_EXC_ERR; NCCL_IB_TIMEOUT",
};
