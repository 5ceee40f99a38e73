//! A rank waits for its own proxy.

use super::{Depth, LogCause, is_frame};
use crate::analysis::severity::Severity;

/// A rank waits for its own proxy.
pub(super) const CAUSE: LogCause = LogCause {
    id: "proxy_pool_waits",
    what: "a rank waits for its own proxy: the pool of operations is used up",
    depth: Depth::Effect,
    severity: Severity::Critical,
    lines: &[
        "#1  0x0000ffff ncclLocalOpAppend(ncclComm*, ncclProxyConnector*, ncclProxyOp*)",
        "#1  ncclLocalOpAppend (comm=0x5581) at proxy.cc:498",
    ],
    proves: |text| is_frame(text, "ncclLocalOpAppend"),
    variables: &["NCCL_PROXY_CPUSET"],
    unlike: "A crash in this function, which has it as frame 0.",
    remedy: "Look for the proxy's thread in the same dump. Asleep in ncclProxyGetPostedOps \
             (pthread_cond_wait): the two wait for each other, a fault of NCCL before 2.29.3 that \
             processors with weak memory order have (aarch64: Grace, GB10) and that logs nothing: \
             update NCCL to 2.29.3 or later. Awake in ncclProxyProgress: it waits for the network or \
             for a peer; take stacks of the other ranks too.",
    source: "NCCL src/proxy.cc; NVIDIA/nccl issue 2353",
};
