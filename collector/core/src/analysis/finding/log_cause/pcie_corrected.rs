//! PCIe corrected errors.

use super::pcie_failed::of_device;
use super::{Depth, LogCause};
use crate::analysis::severity::Severity;

/// Errors of PCIe that were corrected.
pub(super) const CAUSE: LogCause = LogCause {
    id: "pcie_corrected",
    what: "PCIe corrected errors at a NIC, a GPU or a port above one",
    depth: Depth::Echo,
    severity: Severity::Info,
    lines: &[
        "mlx5_core 0000:0c:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)",
        "pcieport 0000:0a:01.0: PCIe Bus Error: severity=Correctable, type=Data Link Layer, (Transmitter ID)",
    ],
    proves: |text| of_device(text) && text.contains("severity=Correct"),
    variables: &[],
    unlike: "Errors that were not corrected. A few corrected ones an hour cost nothing; each makes the link repeat a packet.",
    remedy: "If they are many: signal integrity of this link (slot, riser, retimer, cable). Compare width and speed with what \
             the device can do (`lspci -vv`: LnkSta, LnkCap, CESta), and with other hosts.",
    source: "Linux Documentation/PCI/pcieaer-howto.rst",
};
