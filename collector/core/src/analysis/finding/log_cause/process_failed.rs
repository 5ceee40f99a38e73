//! A process failed.

use super::{Depth, LogCause, has};
use crate::analysis::severity::Severity;

/// A process failed.
pub(super) const CAUSE: LogCause = LogCause {
    id: "process_failed",
    what: "a process of the job failed first",
    depth: Depth::Effect,
    severity: Severity::Critical,
    lines: &[
        "failed (exitcode: -9) local_rank: 3 (pid: 4103) of binary: /usr/bin/python",
        "mpirun noticed that process rank 3 with PID 0 on node n2 exited on signal 9 (Killed).",
        "srun: error: n2: task 12: Exited with exit code 1",
        "traceback : Signal 11 (SIGSEGV) received by PID 4103",
    ],
    proves: |text| {
        text.contains("failed (exitcode:")
            || text.contains("exited on signal")
            || has(text, &["Signal ", "received by PID"])
            || (text.contains("srun: error:") && text.contains("task"))
    },
    variables: &[],
    unlike: "Ranks that are ended because another one failed: launchers send them SIGTERM (15).",
    remedy: "Look at the first of these lines in time, and at the last lines of that rank above \
             it: its exception is the cause. -9 is a kill (OOM killer, scheduler), -11 a crash, \
             -6 an abort such as the watchdog's; 1 an exception of Python.",
    source: "torchrun (torch.distributed.elastic), mpirun, srun",
};
