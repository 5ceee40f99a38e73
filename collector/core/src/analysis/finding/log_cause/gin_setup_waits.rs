//! GIN cannot reach the neighbour ranks.

use super::{Depth, LogCause, is_frame};
use crate::analysis::severity::Severity;

/// GIN cannot reach the neighbour ranks.
pub(super) const CAUSE: LogCause = LogCause {
    id: "gin_setup_waits",
    what: "GIN (GPU-initiated networking) waits for its neighbour ranks during setup",
    depth: Depth::Effect,
    severity: Severity::Critical,
    lines: &[
        "#1  0x00007f20 in ncclGinIbAllGather (cComm=0x5581) at transport/net_ib/gin.cc:210",
        "#4  0x00007f20 ncclGinIbAllGather(void*, void*, void*, unsigned long)",
    ],
    proves: |text| is_frame(text, "ncclGinIbAllGather"),
    variables: &["NCCL_IB_HCA", "NCCL_CROSS_NIC", "NCCL_GIN_TYPE"],
    unlike: "A rank that has not called ncclDevCommCreate yet: compare the stacks of all ranks.",
    remedy: "If all ranks are in it, the NICs of neighbour ranks cannot reach each other, for example \
             because they are on rails without routes in between; this exchange has no time limit. \
             `ib_write_bw` between the NICs of rank r and r+1 must work: add routes between the \
             rails, or order ranks and NICs (NCCL_IB_HCA) so that neighbours share a rail. \
             NCCL_GIN_ENABLE=0 does without.",
    source: "NCCL src/transport/net_ib/gin.cc; NVIDIA/nccl pull request 2318",
};
