//! Collectives differ.

use super::{Depth, LogCause};
use crate::analysis::severity::Severity;

/// Collectives differ.
pub(super) const CAUSE: LogCause = LogCause {
    id: "collectives_differ",
    what: "ranks called different collectives",
    depth: Depth::Root,
    severity: Severity::Critical,
    lines: &[
        "Detected mismatch between collectives on ranks. Rank 0 is running collective: ..., but Rank 2 is running collective: ...",
    ],
    proves: |text| text.contains("Detected mismatch between collectives"),
    variables: &[],
    unlike: "A rank that is only late: it calls the same collective later.",
    remedy: "The program took different ways on these ranks: a branch on rank or data, uneven \
             batches (join, drop_last), modules unused on some ranks. Compare the two calls in \
             the line; TORCH_DISTRIBUTED_DEBUG=DETAIL and the flight recorder show the stack of \
             each.",
    source: "PyTorch TORCH_DISTRIBUTED_DEBUG",
};
