//! A rank twice.

use super::{Depth, LogCause};
use crate::analysis::severity::Severity;

/// A rank twice.
pub(super) const CAUSE: LogCause = LogCause {
    id: "duplicate_rank",
    what: "two processes claim the same rank, or a stranger talks to NCCL's port",
    depth: Depth::Root,
    severity: Severity::Warning,
    lines: &[
        "Bootstrap Root : rank 3 of 16 ranks has already checked in",
        "socketFinalizeAccept: wrong magic 1f != 2e",
    ],
    proves: |text| {
        text.contains("has already checked in")
            || text.contains("wrong magic")
            || text.contains("magic mismatch")
            || text.contains("wrong type ")
    },
    variables: &[],
    unlike: "Different releases of NCCL: these have the same magic.",
    remedy: "A rank was started twice, RANK or node_rank repeats, or a process of an earlier \
             start still runs: look for it (`pgrep -af python`) and end it. Port scanners cause \
             the magic: NCCL drops them.",
    source: "NCCL src/bootstrap.cc, src/misc/socket.cc",
};
