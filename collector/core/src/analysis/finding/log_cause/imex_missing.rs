//! IMEX is missing.

use super::{Depth, LogCause};
use crate::analysis::severity::Severity;

/// IMEX is missing.
pub(super) const CAUSE: LogCause = LogCause {
    id: "imex_missing",
    what: "multi-node NVLink (MNNVL) is there and does not work: IMEX",
    depth: Depth::Root,
    severity: Severity::Critical,
    lines: &[
        "MNNVL (cliqueSize 4) is available but not working on this system. Check the IMEX channel configuration (/dev/nvidia-caps-imex-channels).",
    ],
    proves: |text| {
        text.contains("MNNVL") && (text.contains("not working") || text.contains("not supported"))
            || text.contains("IMEX")
    },
    variables: &[],
    unlike: "NVLink SHARP within a host.",
    remedy: "All hosts of the NVLink domain need nvidia-imex running with the same \
             nodes_config.cfg, and each container the channel \
             /dev/nvidia-caps-imex-channels/channel0 (ComputeDomain in Kubernetes). \
             NCCL_MNNVL_ENABLE=0 runs over the network instead.",
    source: "NCCL src/mnnvl.cc; NVIDIA IMEX guide",
};
