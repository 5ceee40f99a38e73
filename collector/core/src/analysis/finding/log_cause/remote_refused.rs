//! The remote side refused.

use super::{Depth, LogCause, completion_status};
use crate::analysis::severity::Severity;

/// The remote side refused.
pub(super) const CAUSE: LogCause = LogCause {
    id: "remote_refused",
    what: "the peer's NIC refused the request (status 9 remote invalid request, 10 remote \
           access, 11 remote operation)",
    depth: Depth::Effect,
    severity: Severity::Critical,
    lines: &[
        "NET/IB : Got completion from peer 10.0.0.2<43210> with status=9 opcode=0 len=0 vendor err 138 (Send)",
    ],
    proves: |text| matches!(completion_status(text), Some(9..=11)),
    variables: &[],
    unlike: "Status 12: no answer. Here the network delivered the request and the answer.",
    remedy: "The receiver's work queue or memory keys do not fit the request: look at the peer's \
             log for an event on its queue pair, run the same NCCL on both, and suspect \
             registration there: nvidia-peermem against DMA-BUF (NCCL_DMABUF_ENABLE=0), driver \
             and firmware (OFED).",
    source: "ibv_poll_cq(3), IBV_WC_REM_INV_REQ_ERR, REM_ACCESS_ERR, REM_OP_ERR",
};
