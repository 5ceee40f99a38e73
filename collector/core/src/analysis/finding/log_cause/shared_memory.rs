//! Shared memory is full.

use super::{Depth, LogCause, has};
use crate::analysis::severity::Severity;

/// Shared memory is full.
pub(super) const CAUSE: LogCause = LogCause {
    id: "shared_memory",
    what: "shared memory between ranks of a host cannot be created",
    depth: Depth::Root,
    severity: Severity::Critical,
    lines: &[
        "Error while creating shared memory segment /dev/shm/nccl-x (size 9637888)",
        "Error: failed to extend /dev/shm/nccl-x to 33030532 bytes, error: No space left on device (28)",
    ],
    proves: |text| {
        text.contains("shared memory segment")
            || has(text, &["/dev/shm", "ailed"])
            || has(text, &["/dev/shm", "rror"])
            || (text.contains("No space left on device") && text.contains("extend"))
    },
    variables: &[],
    unlike: "Locked memory, a limit of the process.",
    remedy: "Give the container room in /dev/shm: --shm-size=8g or --ipc=host; in Kubernetes an \
             emptyDir with medium Memory at /dev/shm. Remove /dev/shm/nccl-* of jobs that died. \
             NCCL_SHM_DISABLE=1 avoids it, slower.",
    source: "NCCL user guide, troubleshooting, shared memory",
};
