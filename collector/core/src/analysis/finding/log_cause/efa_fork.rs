//! Fork with registered memory.

use super::{Depth, LogCause};
use crate::analysis::severity::Severity;

/// Fork with registered memory.
pub(super) const CAUSE: LogCause = LogCause {
    id: "efa_fork",
    what: "fork is not safe with registered memory",
    depth: Depth::Root,
    severity: Severity::Warning,
    lines: &[
        "libfabric:4100:efa:core:efa_fork_support... A process has executed an operation involving a call to the fork() system call",
        "ibv_fork_init failed",
    ],
    proves: |text| {
        text.contains("fork()") || text.contains("ibv_fork_init") || text.contains("FORK_SAFE")
    },
    variables: &[],
    unlike: "A worker that was killed: that is a signal.",
    remedy: "Set FI_EFA_FORK_SAFE=1 (or RDMAV_FORK_SAFE=1) and start data loaders before the \
             first collective, or with spawn instead of fork; kernel 5.13 and rdma-core 35 and \
             later need neither.",
    source: "fi_efa(7); ibv_fork_init(3)",
};
