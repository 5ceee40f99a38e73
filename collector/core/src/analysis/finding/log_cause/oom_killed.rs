//! Out of memory.

use super::{Depth, LogCause};
use crate::analysis::severity::Severity;

/// Out of memory.
pub(super) const CAUSE: LogCause = LogCause {
    id: "oom_killed",
    what: "a process was killed because memory ran out",
    depth: Depth::Root,
    severity: Severity::Critical,
    lines: &[
        "Out of memory: Killed process 4100 (python)",
        "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=1.0",
        "OOMKilled",
    ],
    proves: |text| {
        text.contains("ut of memory: Kill")
            || text.contains("oom-kill")
            || text.contains("oom_kill")
            || text.contains("OOMKilled")
    },
    variables: &[],
    unlike: "CUDA out of memory, which is the GPU's.",
    remedy: "Raise the memory of the job or container, or use less: data loader workers, pinned \
             memory, checkpoints kept on the CPU. Other ranks only report that this one is gone.",
    source: "Linux OOM killer; Slurm cgroup.conf; Kubernetes memory limits",
};
