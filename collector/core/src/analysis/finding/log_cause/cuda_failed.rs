//! CUDA failed.

use super::{Depth, LogCause};
use crate::analysis::severity::Severity;

/// CUDA failed.
pub(super) const CAUSE: LogCause = LogCause {
    id: "cuda_failed",
    what: "a CUDA or HIP call failed",
    depth: Depth::Effect,
    severity: Severity::Critical,
    lines: &[
        "Cuda failure 'out of memory'",
        "Cuda failure 700 'an illegal memory access was encountered'",
        "CUDA out of memory. Tried to allocate 2.00 GiB",
    ],
    proves: |text| {
        (text.contains("uda failure") && !text.contains("Cuda failure 'peer access"))
            || text.contains("CUDA error:")
            || text.contains("HIP error:")
            || text.contains("CUDA out of memory")
            || text.contains("Failed to CUDA ")
            || text.contains("ncclUnhandledCudaError")
    },
    variables: &[],
    unlike: "An illegal address is reported by whichever call comes next, often NCCL's: the \
             kernel before it is to blame.",
    remedy: "Out of memory: smaller batches, or leave room for NCCL (about 1 GB per communicator \
             with many channels: NCCL_BUFFSIZE, NCCL_MAX_CTAS). Illegal address: \
             CUDA_LAUNCH_BLOCKING=1 or compute-sanitizer finds the kernel. Else dmesg for Xid.",
    source: "NCCL src/include/checks.h; CUDA runtime documentation",
};
