//! libibverbs is missing.

use super::{Depth, LogCause};
use crate::analysis::severity::Severity;

/// libibverbs is missing.
pub(super) const CAUSE: LogCause = LogCause {
    id: "verbs_library_missing",
    what: "libibverbs cannot be loaded, so there is no NET/IB",
    depth: Depth::Echo,
    severity: Severity::Info,
    lines: &["Failed to open libibverbs.so[.1]"],
    proves: |text| text.contains("Failed to open libibverbs"),
    variables: &[],
    unlike: "No device found: there the library is loaded and sees no device.",
    remedy: "If the host has RDMA NICs, install rdma-core in the image (libibverbs1, \
             ibverbs-providers). Without RDMA NICs, or with one host, the line is harmless.",
    source: "NCCL src/misc/ibvwrap.cc",
};
