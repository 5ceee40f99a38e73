//! Locked memory is limited.

use super::{Depth, LogCause};
use crate::analysis::severity::Severity;

/// Locked memory is limited.
pub(super) const CAUSE: LogCause = LogCause {
    id: "locked_memory",
    what: "memory cannot be registered: the limit of locked memory is too low",
    depth: Depth::Root,
    severity: Severity::Critical,
    lines: &[
        "Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory",
        "Call to ibv_reg_mr failed",
        "Call to ibv_create_cq failed with error Cannot allocate memory",
        "libibverbs: Warning: RLIMIT_MEMLOCK is 65536 bytes.",
    ],
    proves: |text| {
        let verbs =
            ["ibv_reg_mr", "ibv_create_cq", "ibv_create_qp", "ibv_reg_dmabuf_mr", "ibv_alloc_pd"];
        // Until 2.7, NCCL does not say why a call failed; nearly always it is this.
        let is_bare = text.trim_end().ends_with(" failed");
        (verbs.iter().any(|call| text.contains(call))
            && (text.contains("Cannot allocate memory") || is_bare))
            || text.contains("RLIMIT_MEMLOCK")
    },
    variables: &[],
    unlike: "Bad address or Invalid argument from the same calls: GPU memory that the NIC cannot \
             reach, not the limit. A NIC out of queue pairs or translation entries fails in the \
             same way with an unlimited limit.",
    remedy: "Raise the limit for the process itself: `ulimit -l unlimited` in its shell, \
             /etc/security/limits.conf (memlock), LimitMEMLOCK=infinity for slurmd, dockerd or \
             the kubelet; in containers --ulimit memlock=-1 --cap-add IPC_LOCK. Check with `grep \
             locked /proc/PID/limits`.",
    source: "NCCL documentation, troubleshooting and environment variables; ibv_reg_mr(3), RLIMIT_MEMLOCK",
};
