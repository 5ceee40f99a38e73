//! The scheduler ended the job.

use super::{Depth, LogCause};
use crate::analysis::severity::Severity;

/// The scheduler ended the job.
pub(super) const CAUSE: LogCause = LogCause {
    id: "time_limit",
    what: "the scheduler ended the job",
    depth: Depth::Echo,
    severity: Severity::Info,
    lines: &[
        "slurmstepd: error: *** JOB 1 ON n1 CANCELLED AT 2026-01-27T14:51:17 DUE TO TIME LIMIT ***",
        "slurmstepd: error: *** STEP 1.0 ON n1 CANCELLED AT 2026-01-27T14:51:17 ***",
    ],
    proves: |text| text.contains("CANCELLED AT"),
    variables: &[],
    unlike: "A failure of the step: then srun names the task and its exit code.",
    remedy: "If the job made progress until then, ask for more time. If not, something hung \
             before: look for the last line of each rank.",
    source: "Slurm",
};
