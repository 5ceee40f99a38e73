//! Flushed work.

use super::{Depth, LogCause, completion_status};
use crate::analysis::severity::Severity;

/// Flushed work.
pub(super) const CAUSE: LogCause = LogCause {
    id: "flushed",
    what: "work was flushed after its queue pair had failed (status 5)",
    depth: Depth::Echo,
    severity: Severity::Warning,
    lines: &[
        "NET/IB : Got completion from peer 10.0.0.2<43210> with status=5 opcode=0 len=0 vendor err 249 (Recv)",
    ],
    proves: |text| completion_status(text) == Some(5),
    variables: &[],
    unlike: "It never is a cause: look for the first other status or event.",
    remedy: "Find the first error of this connection, on this host or in the log of its peer; \
             flushes follow from it. If no log has one and the channels say GDRDMA, run with \
             NCCL_NET_GDR_LEVEL=LOC: if that works, GPUDirect RDMA is broken, mostly by PCIe ACS or \
             the IOMMU. Clear ACS on the bridges above GPUs and NICs (`lspci -vvv | grep ACSCtl`), \
             boot with iommu=pt.",
    source: "ibv_poll_cq(3), IBV_WC_WR_FLUSH_ERR",
};
