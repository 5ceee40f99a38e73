//! NVLink failed.

use super::gpu_failed::xid;
use super::{Depth, LogCause};
use crate::analysis::severity::Severity;

/// NVLink failed.
pub(super) const CAUSE: LogCause = LogCause {
    id: "nvlink_failed",
    what: "an NVLink of a GPU failed",
    depth: Depth::Root,
    severity: Severity::Critical,
    lines: &[
        "NVRM: Xid (PCI:0000:1a:00): 74, pid='<unknown>', name=<unknown>, NVLink: fatal error detected on link 3",
        "NVRM: Xid (PCI:0000:1a:00): 145, RLW_REMAP Nonfatal XC1 i0 Link 05",
    ],
    proves: |text| {
        xid(text).is_some_and(|number| number == 74 || (144..=150).contains(&number))
            // NVSwitch; others are reported as "Non-fatal".
            || (text.contains("SXid (PCI:") && text.contains(", Fatal,"))
    },
    variables: &[],
    unlike: "Xid 79: the whole GPU is gone from the PCIe bus.",
    remedy: "Look at all GPUs of the host and at its fabric manager (`nvidia-smi nvlink -s`, `-e`; journalctl -u \
             nvidia-fabricmanager). Reset the GPUs or reboot; if it comes back, drain the host: GPU, baseboard, \
             NVSwitch, or on NVL72 the cable cartridge.",
    source: "NVIDIA Xid errors documentation: 74, and 144 to 150 of NVLink 5",
};
