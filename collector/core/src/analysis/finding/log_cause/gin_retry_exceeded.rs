//! A GPU-driven queue pair got no answer.

use super::{Depth, LogCause};
use crate::analysis::severity::Severity;

/// A GPU-driven queue pair got no answer.
pub(super) const CAUSE: LogCause = LogCause {
    id: "gin_retry_exceeded",
    what: "a GPU-driven queue pair (GIN) got no answer and gave up after all retries",
    depth: Depth::Effect,
    severity: Severity::Critical,
    lines: &["GIN/GDAKI: peer 2: CQE error, syndrome 0x15 (TRANSPORT_RETRY_EXC_ERR), vendor 0x83"],
    proves: |text| {
        let is_retry = text.contains("RETRY_EXC_ERR") || text.contains("syndrome 0x15");
        is_retry && ["GIN", "GDAKI", "gdaki"].iter().any(|word| text.contains(word))
    },
    variables: &["NCCL_GIN_TYPE", "NCCL_GIN_IB_TC", "NCCL_IB_TC", "NCCL_IB_TIMEOUT"],
    unlike: "Status 12 of NET/IB: its queue pairs belong to the host. If these fail too, it is the path.",
    remedy: "If only GPU-driven queue pairs fail, compare traffic classes: \
             /sys/class/infiniband/*/tc/1/traffic_class does not apply to them, so without \
             NCCL_GIN_IB_TC or NCCL_IB_TC they use class 0, which PFC rarely protects. Set \
             NCCL_GIN_IB_TC to the value of that file, or to the class that `mlnx_qos` shows as \
             lossless (DSCP times 4). NCCL_GIN_TYPE=2 (queue pairs of the host) shows whether it is \
             that. Else it is the path: as for status 12.",
    source: "NVIDIA/nccl issue 2383; NCCL_GIN_IB_TC",
};
