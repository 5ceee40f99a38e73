//! Local protection error.

use super::{Depth, LogCause, completion_status};
use crate::analysis::severity::Severity;

/// Local protection error.
pub(super) const CAUSE: LogCause = LogCause {
    id: "local_protection",
    what: "a NIC may not access its own memory: local protection error (status 4)",
    depth: Depth::Root,
    severity: Severity::Critical,
    lines: &[
        "NET/IB : Got completion from peer 10.0.0.2<43210> with error 4, opcode 0, len 0, vendor err 81 (Send)",
    ],
    proves: |text| completion_status(text) == Some(4),
    variables: &[],
    unlike: "Status 12: the network. Status 4 never leaves the host.",
    remedy: "Registration of GPU memory for RDMA is broken on this host: nvidia-peermem must fit \
             the GPU driver and OFED (reload it after updates; `nv_peer_mem` is obsolete), or use \
             DMA-BUF; disable ACS and the IOMMU for bare metal. NCCL_NET_GDR_LEVEL=LOC confirms \
             it.",
    source: "ibv_poll_cq(3), IBV_WC_LOC_PROT_ERR; NVIDIA GPUDirect RDMA documentation",
};
