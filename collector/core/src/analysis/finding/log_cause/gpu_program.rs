//! A GPU stopped a program.

use super::gpu_failed::xid;
use super::{Depth, LogCause};
use crate::analysis::severity::Severity;

/// A GPU stopped a program.
pub(super) const CAUSE: LogCause = LogCause {
    id: "gpu_program",
    what: "a GPU stopped a program: a fault of its kernel, or the program was ended",
    depth: Depth::Effect,
    severity: Severity::Warning,
    lines: &[
        "NVRM: Xid (PCI:0000:1a:00): 31, pid=4711, name=python, Ch 00000010, intr 00000000. MMU Fault",
        "NVRM: Xid (PCI:0000:1a:00): 43, pid=4711, name=python, Ch 00000010",
    ],
    proves: |text| xid(text).is_some_and(|number| PROGRAM.contains(&number)),
    variables: &[],
    unlike: "A GPU that failed: Xid 48, 64, 74, 79, 94, 95, 119, 120 and others are of the hardware.",
    remedy: "Xid 13 and 31 are an illegal access of a kernel: look at the program's own error (CUDA_LAUNCH_BLOCKING=1, \
             compute-sanitizer). Xid 43 and 45 follow when a process is ended. If they stay on one GPU \
             whatever runs, check it: `dcgmi diag -r 3`.",
    source: "NVIDIA Xid errors documentation",
};

/// Xids that a program causes: illegal instruction or access, a channel that was stopped or cleaned up.
const PROGRAM: &[u32] = &[6, 7, 8, 13, 31, 32, 43, 45, 68, 69];
