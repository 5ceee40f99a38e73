//! No EFA provider.

use super::{Depth, LogCause, has};
use crate::analysis::severity::Severity;

/// No EFA provider.
pub(super) const CAUSE: LogCause = LogCause {
    id: "efa_no_provider",
    what: "libfabric offers no EFA provider to NCCL",
    depth: Depth::Root,
    severity: Severity::Critical,
    lines: &[
        "NET/OFI No eligible providers were found",
        "NET/OFI Could not find any optimal provider",
        "NET/OFI Couldn't find any provider",
    ],
    proves: |text| {
        has(text, &["NET/OFI", "provider"])
            && ["No eligible", "Could not find", "Couldn't find", "not found", "Failed to find"]
                .iter()
                .any(|word| text.contains(word))
    },
    variables: &[],
    unlike: "A provider that is selected and fails later.",
    remedy: "`fi_info -p efa -t FI_EP_RDM` must list a provider inside the container: an instance \
             type with EFA and an EFA interface attached, the EFA installer (driver and \
             libfabric), /dev/infiniband/uverbs*, vpc.amazonaws.com/efa requested by the pod; \
             FI_PROVIDER=efa.",
    source: "aws-ofi-nccl README; AWS EFA user guide",
};
