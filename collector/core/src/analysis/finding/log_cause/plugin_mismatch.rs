//! A plugin does not match.

use super::{Depth, LogCause, has};
use crate::analysis::severity::Severity;

/// A plugin does not match.
pub(super) const CAUSE: LogCause = LogCause {
    id: "plugin_mismatch",
    what: "a network plugin does not fit this NCCL, so it is not used",
    depth: Depth::Effect,
    severity: Severity::Warning,
    lines: &[
        "NET/Plugin: Failed to find ncclNetPlugin symbol (>= v5). ncclNetPlugin symbols v4 and lower are not supported.",
        "External network plugin /opt/lib/libnccl-net.so is unsupported",
        "libnccl-net.so: undefined symbol: ibv_query_ece, version IBVERBS_1.10",
    ],
    proves: |text| {
        text.contains("Failed to find ncclNetPlugin symbol")
            || has(text, &["xternal network plugin", "unsupported"])
            || has(text, &["libnccl-net", "undefined symbol"])
            || has(text, &["Plugin", "GLIBC"])
            || has(text, &["libnccl-net", "version `"])
            || has(text, &["Plugin load", "undefined symbol"])
    },
    variables: &[],
    unlike: "A single version that is not found before another one is loaded: NCCL tries them \
             from the newest on. A plugin that does not exist at all is normal.",
    remedy: "The plugin is too old (or built against other libraries) for this NCCL: install the \
             version that matches it: aws-ofi-nccl from the EFA installer, HPC-X for SHARP, \
             GPUDirect-TCPX or TCPXO on Google Cloud (where there is no RDMA to make visible); \
             LD_LIBRARY_PATH must name it before older ones; `ldd libnccl-net.so` shows what is \
             missing.",
    source: "NCCL src/plugin/net.cc; ext-net documentation",
};
