//! Settings of an AMD host.

use super::{Depth, LogCause, has};
use crate::analysis::severity::Severity;

/// Settings of an AMD host.
pub(super) const CAUSE: LogCause = LogCause {
    id: "rccl_host_settings",
    what: "settings of this host make RCCL slower",
    depth: Depth::Effect,
    severity: Severity::Info,
    lines: &[
        "NUMA auto balancing enabled which can lead to variability in the RCCL performance!",
        "Missing \"iommu=pt\" from kernel command line",
        "Missing \"HSA_FORCE_FINE_GRAIN_PCIE=1\" from environment",
    ],
    proves: |text| {
        text.contains("NUMA auto balancing enabled")
            || has(text, &["Missing \"", "kernel command line"])
            || text.contains("HSA_FORCE_FINE_GRAIN_PCIE")
    },
    variables: &[],
    unlike: "Failures: the job runs.",
    remedy: "sysctl kernel.numa_balancing=0, iommu=pt on the kernel command line, \
             HSA_FORCE_FINE_GRAIN_PCIE=1 in the environment, as the lines say.",
    source: "RCCL src/init.cc",
};
