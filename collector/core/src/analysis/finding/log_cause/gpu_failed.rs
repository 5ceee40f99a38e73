//! A GPU failed.

use super::{Depth, LogCause};
use crate::analysis::severity::Severity;

/// A GPU failed.
pub(super) const CAUSE: LogCause = LogCause {
    id: "gpu_failed",
    what: "a GPU failed or fell off the bus",
    depth: Depth::Root,
    severity: Severity::Critical,
    lines: &[
        "NVRM: Xid (PCI:0000:1a:00): 79, GPU has fallen off the bus.",
        "CUDA error: uncorrectable ECC error encountered",
        "amdgpu 0000:43:00.0: amdgpu: GPU reset begin!",
    ],
    proves: |text| {
        text.contains("NVRM: Xid")
            || text.contains("fallen off the bus")
            || text.contains("uncorrectable ECC")
            || text.contains("uncorrectable NVLink")
            || text.contains("GPU reset begin")
            || text.contains("hardware failure")
    },
    variables: &[],
    unlike: "Xid 13, 31, 43 and 45 are errors of the program or of a process that was ended.",
    remedy: "Look the Xid up (79 and 48, 63, 64, 74, 94, 95 are hardware: drain the host, reset \
             the GPU, RMA if it returns); `nvidia-smi -q`, dcgmi diag -r 3. Other ranks wait for \
             this one.",
    source: "NVIDIA Xid errors documentation",
};
