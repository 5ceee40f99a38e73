//! NVLS failed.

use super::{Depth, LogCause, has};
use crate::analysis::severity::Severity;

/// NVLS failed.
pub(super) const CAUSE: LogCause = LogCause {
    id: "nvls_failed",
    what: "NVLink SHARP (multicast) cannot be set up",
    depth: Depth::Root,
    severity: Severity::Critical,
    lines: &[
        "Failed to bind NVLink SHARP (NVLS) Multicast memory of size 16777216 : CUDA error 401",
        "NCCL_NVLS_ENABLE has been set to \"1\" but NVLS multicast is not supported",
    ],
    proves: |text| {
        text.contains("NVLink SHARP")
            || text.contains("cuMulticast")
            || has(text, &["NVLS", "failed"])
            || text.contains("NCCL_NVLS_ENABLE has been set")
    },
    variables: &[],
    unlike: "MNNVL and IMEX, which join NVLink between hosts.",
    remedy: "Usually the fabric manager or the GPU system state: restart nvidia-fabricmanager \
             (release of the driver), look at `nvidia-smi -q | grep -A3 Fabric`, stop other jobs \
             on the GPUs. NCCL_NVLS_ENABLE=0 runs without it, slower.",
    source: "NCCL src/transport/nvls.cc; NCCL_NVLS_ENABLE",
};
