//! A desync report.

use super::{Depth, LogCause};
use crate::analysis::severity::Severity;

/// A desync report.
pub(super) const CAUSE: LogCause = LogCause {
    id: "desync_report",
    what: "PyTorch names the ranks that did not join a collective",
    depth: Depth::Root,
    severity: Severity::Critical,
    lines: &[
        "- To our best knowledge, ranks [3] are the lagging ranks that caused this timeout. They never joined any collectives",
        "- [3] finished collective #41, but didn't join collective #42 (count from 1)",
    ],
    proves: |text| {
        text.contains("lagging ranks that caused this timeout")
            || text.contains("didn't join collective")
            || text.contains("joined but didn't finish collective")
    },
    variables: &[],
    unlike: "Ranks that are in the collective and wait.",
    remedy: "Look at the ranks that lag: their log, `py-spy dump`, data loader and checkpoint; \
             compare with the collective that the others are in (TORCH_DISTRIBUTED_DEBUG=DETAIL, \
             flight recorder).",
    source: "PyTorch TORCH_NCCL_DESYNC_DEBUG",
};
