//! Releases differ.

use super::{Depth, LogCause, has};
use crate::analysis::severity::Severity;

/// Releases differ.
pub(super) const CAUSE: LogCause = LogCause {
    id: "release_mismatch",
    what: "ranks run different releases of NCCL",
    depth: Depth::Root,
    severity: Severity::Critical,
    lines: &[
        "Mismatched NCCL version detected : rank 0 version 22703 rank 8 version 22605",
        "Message truncated : received 256 bytes instead of 128",
        "Bootstrap Root : mismatch in rank count from procs 8 : 16",
    ],
    proves: |text| {
        text.contains("Mismatched NCCL version")
            || text.contains("NCCL version mismatch")
            || text.contains("Message truncated")
            || has(text, &["Bootstrap Root", "mismatch"])
            || text.contains("NCCL library is too old")
            || text.contains("not backwards compatible")
    },
    variables: &[],
    unlike: "Ranks that disagree on the number of ranks (world size): the same line without a \
             release.",
    remedy: "Print the release on every rank (NCCL_DEBUG=VERSION, `python -c \"import torch; \
             print(torch.cuda.nccl.version())\"`): use one image on all hosts, and check \
             LD_LIBRARY_PATH and LD_PRELOAD for a second libnccl. Check WORLD_SIZE, too.",
    source: "NCCL src/init.cc, src/bootstrap.cc",
};
