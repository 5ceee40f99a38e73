//! The receiver was not ready.

use super::{Depth, LogCause, completion_status};
use crate::analysis::severity::Severity;

/// The receiver was not ready.
pub(super) const CAUSE: LogCause = LogCause {
    id: "receiver_not_posted",
    what: "the peer had no receive ready until the retries ran out (status 13, RNR retry \
           exceeded)",
    depth: Depth::Effect,
    severity: Severity::Critical,
    lines: &[
        "NET/IB : Got completion from peer 10.0.0.2<43210> with status=13 opcode=0 len=0 vendor err 135 (Send)",
    ],
    proves: |text| completion_status(text) == Some(13),
    variables: &[],
    unlike: "Status 12: no answer at all. Here the peer answers that it is not ready.",
    remedy: "The receiving process does not run or has stopped posting: look at its log, its GPU \
             and its CPU load; NCCL posts a receive before it asks for data, so this is not \
             congestion.",
    source: "ibv_poll_cq(3), IBV_WC_RNR_RETRY_EXC_ERR",
};
