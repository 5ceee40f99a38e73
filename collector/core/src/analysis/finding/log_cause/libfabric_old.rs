//! The wrong libfabric.

use super::{Depth, LogCause, has};
use crate::analysis::severity::Severity;

/// The wrong libfabric.
pub(super) const CAUSE: LogCause = LogCause {
    id: "libfabric_old",
    what: "the libfabric that was loaded is too old or the wrong one",
    depth: Depth::Root,
    severity: Severity::Critical,
    lines: &[
        "EFA provider requires at least libfabric version 1.22.0.",
        "libfabric.so.1: version `FABRIC_1.6' not found",
    ],
    proves: |text| {
        text.contains("libfabric version") && text.contains("require")
            || text.contains("FABRIC_1.")
            || has(text, &["libfabric.so", "cannot open"])
    },
    variables: &[],
    unlike: "No provider: the library fits and finds no device.",
    remedy: "Put the libfabric of the EFA installer first: LD_LIBRARY_PATH=/opt/amazon/efa/lib64, \
             and check with `ldd libnccl-net.so` inside the image.",
    source: "aws-ofi-nccl README",
};
