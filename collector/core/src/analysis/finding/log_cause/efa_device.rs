//! The EFA device does not do what its driver asks.

use super::{Depth, LogCause};
use crate::analysis::severity::Severity;

/// Commands to an EFA device failed.
pub(super) const CAUSE: LogCause = LogCause {
    id: "efa_device",
    what: "commands of the driver to an EFA device failed",
    depth: Depth::Root,
    severity: Severity::Warning,
    lines: &[
        "efa 0000:10:1b.0: Failed to process command CREATE_QP (opcode 1) comp_status 5 err -12",
        "efa 0000:10:1b.0: Wait for completion (polling) timeout",
        "efa 0000:10:1b.0: The device didn't send any completion for admin cmd QUERY_DEV(8) status 0",
    ],
    proves: |text| {
        is_of_efa(text)
            && [
                "Failed to process command",
                "Wait for completion (polling) timeout",
                "for admin cmd",
                "Reg read timeout",
                "Device isn't ready",
                "Failed to submit command",
            ]
            .iter()
            .any(|words| text.contains(words))
    },
    variables: &[],
    unlike: "Errors of libfabric and of the OFI plugin, which have lines of their own.",
    remedy: "Look at the whole kernel log of this instance (`dmesg -T | grep efa`). One failed command may be a limit (queue \
             pairs, memory regions); timeouts are of the device: reboot or replace the instance.",
    source: "Linux drivers/infiniband/hw/efa/efa_com.c",
};

/// `efa 0000:10:1b.0: ...`, with the name of the RDMA device between.
fn is_of_efa(text: &str) -> bool {
    text.split_once("efa 0000:")
        .is_some_and(|(before, _)| before.is_empty() || before.ends_with([' ', ']', ':', '\t']))
        || (text.contains("infiniband rdmap") || text.contains("infiniband efa_"))
}
