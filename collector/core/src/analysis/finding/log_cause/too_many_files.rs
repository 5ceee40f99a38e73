//! Too many open files.

use super::{Depth, LogCause};
use crate::analysis::severity::Severity;

/// Too many open files.
pub(super) const CAUSE: LogCause = LogCause {
    id: "too_many_files",
    what: "the limit of open files is too low",
    depth: Depth::Root,
    severity: Severity::Critical,
    lines: &["Too many open files"],
    proves: |text| text.contains("Too many open files"),
    variables: &[],
    unlike: "Locked memory: another limit of the process.",
    remedy: "Raise it: `ulimit -n 1048576`, LimitNOFILE for slurmd or dockerd. NCCL opens several \
             sockets per peer and channel.",
    source: "getrlimit(2), RLIMIT_NOFILE",
};
