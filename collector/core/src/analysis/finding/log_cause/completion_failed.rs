//! A completion failed.

use super::{Depth, LogCause, completion_status};
use crate::analysis::severity::Severity;

/// A completion failed.
pub(super) const CAUSE: LogCause = LogCause {
    id: "completion_failed",
    what: "a NIC failed a work request",
    depth: Depth::Root,
    severity: Severity::Critical,
    lines: &[
        "NET/IB : Got completion from peer 10.0.0.2<43210> with status=1 opcode=0 len=0 vendor err 105 (Recv)",
    ],
    proves: |text| completion_status(text).is_some_and(|status| status > 0),
    variables: &[],
    unlike: "Statuses 4, 5, 9 to 13, which have entries of their own.",
    remedy: "The request itself is wrong for this NIC: 1 length, 2 queue pair operation, 6 memory \
             window, 7 bad response, 8 local access, 21 fatal, 22 general. Look at dmesg of the \
             NIC driver, update firmware, OFED and NCCL together, and run one NCCL release on all \
             ranks.",
    source: "ibv_poll_cq(3), enum ibv_wc_status",
};
