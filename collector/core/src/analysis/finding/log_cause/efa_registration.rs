//! EFA cannot register memory.

use super::{Depth, LogCause};
use crate::analysis::severity::Severity;

/// EFA cannot register memory.
pub(super) const CAUSE: LogCause = LogCause {
    id: "efa_registration",
    what: "aws-ofi-nccl cannot register memory with EFA",
    depth: Depth::Root,
    severity: Severity::Critical,
    lines: &[
        "NET/OFI Unable to register memory (type = 1) for device 0. RC: 12, Error: Cannot allocate memory",
        "NET/OFI Couldn't register memory region with regattr. RC: -12, Error: Cannot allocate memory",
    ],
    proves: |text| {
        text.contains("NET/OFI")
            && ((text.contains("egister") && (text.contains("RC: ") || text.contains("ould not")))
                || text.contains("RC: -12")
                || text.contains("Cannot allocate memory"))
    },
    variables: &[],
    unlike: "An instance out of memory; a failure of one GPU only, which is the GPU Direct path \
             (EFA kernel module without GPU memory support).",
    remedy: "RC 12 (ENOMEM): raise locked memory (`ulimit -l unlimited`, memlock in limits.conf, \
             --ulimit memlock=-1 in containers); EFA registers with huge pages, which may have \
             run out: FI_EFA_USE_HUGE_PAGE=0, or more vm.nr_hugepages. Else update the EFA \
             installer: kernel module, libfabric and plugin together.",
    source: "aws-ofi-nccl and libfabric fi_efa(7)",
};
