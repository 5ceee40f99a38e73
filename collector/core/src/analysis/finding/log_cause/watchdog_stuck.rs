//! The watchdog is stuck.

use super::{Depth, LogCause};
use crate::analysis::severity::Severity;

/// The watchdog is stuck.
pub(super) const CAUSE: LogCause = LogCause {
    id: "watchdog_stuck",
    what: "PyTorch's watchdog itself hangs in a call of NCCL or CUDA",
    depth: Depth::Effect,
    severity: Severity::Critical,
    lines: &[
        "[PG ID 0 PG GUID 0 Rank 3] ProcessGroupNCCL's watchdog got stuck for 480 seconds without making progress in monitoring enqueued collectives.",
        "Heartbeat monitor timed out!",
    ],
    proves: |text| {
        text.contains("watchdog got stuck") || text.contains("eartbeat monitor timed out")
    },
    variables: &[],
    unlike: "A collective that timed out: then the watchdog reports it.",
    remedy: "Take a stack of that rank (`py-spy dump --native`, gdb): a thread holds the GIL or \
             the CUDA driver hangs (dmesg for Xid, nvidia-smi). TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC \
             moves the limit, not the cause.",
    source: "PyTorch ProcessGroupNCCL",
};
