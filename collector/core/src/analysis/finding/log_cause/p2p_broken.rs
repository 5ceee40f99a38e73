//! P2P is broken.

use super::{Depth, LogCause};
use crate::analysis::severity::Severity;

/// P2P is broken.
pub(super) const CAUSE: LogCause = LogCause {
    id: "p2p_broken",
    what: "GPUs of a host cannot reach each other's memory",
    depth: Depth::Effect,
    severity: Severity::Warning,
    lines: &[
        "P2P is disabled between NVLINK connected GPUs 0 and 1. This should not be the case given their connectivity",
        "failed to peer with device 1(=1b000): 217 peer access is not supported",
    ],
    proves: |text| {
        text.contains("P2P is disabled between NVLINK")
            || text.contains("failed to peer with device")
            || text.contains("Could not enable P2P")
    },
    variables: &[],
    unlike: "P2P that the topology does not allow, which is information.",
    remedy: "Start nvidia-fabricmanager, disable ACS and the IOMMU on bare metal, run all \
             containers of a host with --ipc=host; `nvidia-smi topo -p2p r`. NCCL_P2P_DISABLE=1 \
             goes around it, slower.",
    source: "NCCL user guide, GPU-to-GPU communication",
};
