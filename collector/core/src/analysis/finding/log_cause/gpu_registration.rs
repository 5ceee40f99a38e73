//! GPU memory is refused by the NIC.

use super::{Depth, LogCause};
use crate::analysis::severity::Severity;

/// GPU memory is refused by the NIC.
pub(super) const CAUSE: LogCause = LogCause {
    id: "gpu_registration",
    what: "GPU memory cannot be registered with the NIC",
    depth: Depth::Root,
    severity: Severity::Critical,
    lines: &[
        "Call to ibv_reg_mr_iova2 failed with error Bad address",
        "Call to ibv_reg_dmabuf_mr failed with error Operation not supported",
    ],
    proves: |text| {
        (text.contains("ibv_reg_mr") || text.contains("ibv_reg_dmabuf_mr"))
            && text.contains("failed")
            && !text.contains("Trying a different")
    },
    variables: &[],
    unlike: "Cannot allocate memory from the same calls: the limit of locked memory.",
    remedy: "GPUDirect RDMA is not working: load nvidia-peermem built for this driver and OFED \
             (`lsmod`, dmesg), or use DMA-BUF (kernel 5.12 or later, open GPU kernel modules); \
             try NCCL_DMABUF_ENABLE=0, then NCCL_NET_GDR_LEVEL=LOC to confirm. Disable ACS or the \
             IOMMU on bare metal.",
    source: "NCCL src/transport/net_ib; NVIDIA GPUDirect RDMA documentation",
};
