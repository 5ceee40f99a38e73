//! The rendezvous failed.

use super::{Depth, LogCause};
use crate::analysis::severity::Severity;

/// The rendezvous failed.
pub(super) const CAUSE: LogCause = LogCause {
    id: "rendezvous_failed",
    what: "ranks did not find each other before NCCL began",
    depth: Depth::Effect,
    severity: Severity::Critical,
    lines: &[
        "torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 7/8 clients joined.",
        "torch.distributed.elastic.rendezvous.api.RendezvousConnectionError",
        "failed to pass monitoredBarrier in 1800000 ms",
    ],
    proves: |text| {
        [
            "DistStoreError",
            "DistNetworkError",
            "Rendezvous",
            "client socket has",
            "monitoredBarrier",
        ]
        .iter()
        .any(|word| text.contains(word))
    },
    variables: &[],
    unlike: "NCCL's own bootstrap, which has NCCL's prefix.",
    remedy: "Check that all hosts were started with the same MASTER_ADDR, MASTER_PORT, --nnodes \
             and --rdzv-id, that the master's name resolves to the same address everywhere, and \
             that its port is open. The host that is missing is the one without a line in the \
             log.",
    source: "PyTorch TCPStore and elastic rendezvous",
};
