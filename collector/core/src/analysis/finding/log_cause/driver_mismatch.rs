//! Driver mismatch.

use super::{Depth, LogCause, has};
use crate::analysis::severity::Severity;

/// Driver mismatch.
pub(super) const CAUSE: LogCause = LogCause {
    id: "driver_mismatch",
    what: "the GPU driver does not fit this CUDA",
    depth: Depth::Root,
    severity: Severity::Critical,
    lines: &[
        "CUDA Driver version found is 11040. Minimum requirement is 12000",
        "CUDA error: CUDA driver version is insufficient for CUDA runtime version",
        "system not yet initialized (error 802)",
    ],
    proves: |text| {
        text.contains("driver version is insufficient")
            || has(text, &["Driver version found is", "Minimum requirement"])
            || text.contains("forward compatibility was attempted")
            || text.contains("system not yet initialized")
            || text.contains("Failed to find CUDA library")
            || text.contains("Failed to find ROCm runtime")
            || text.contains("no kernel image is available")
    },
    variables: &[],
    unlike: "A GPU that is missing or failed: dmesg shows an Xid.",
    remedy: "Compare `nvidia-smi` (driver and its CUDA) with the CUDA of the image on every host: \
             update the driver, or use an older image. `system not yet initialized` on NVSwitch \
             machines: start nvidia-fabricmanager of the same release.",
    source: "CUDA compatibility guide; NVIDIA Fabric Manager user guide",
};
