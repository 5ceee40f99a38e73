//! GIN is unavailable.

use super::{Depth, LogCause};
use crate::analysis::severity::Severity;

/// GIN is unavailable.
pub(super) const CAUSE: LogCause = LogCause {
    id: "gin_unavailable",
    what: "GPU-initiated networking cannot be used",
    depth: Depth::Effect,
    severity: Severity::Warning,
    lines: &[
        "Unable to use GIN: Peermem is not supported, nor DMA-BUF.",
        "User requested GIN but not all ranks in the communicator support GIN",
        "GIN Error detected",
    ],
    proves: |text| {
        text.contains("Unable to use GIN")
            || text.contains("requested GIN")
            || text.contains("GIN Error")
            || text.contains("GIN not supported")
            || text.contains("GIN is disabled")
            || text.contains("DOCA failure")
            || text.contains("DOCA Error")
    },
    variables: &[],
    unlike: "A job that does not ask for GIN: the line is then information.",
    remedy: "GIN (GDAKI) needs mlx5 with DMA-BUF or nvidia-peermem, DOCA GPUNetIO, and the right \
             to map the NIC's doorbell: PeerMappingOverride=1 for the nvidia module, or \
             CAP_SYS_ADMIN; NCCL_GIN_TYPE=2 uses the proxy instead, NCCL_GIN_ENABLE=0 none.",
    source: "NCCL src/gin; NCCL_GIN_TYPE",
};
