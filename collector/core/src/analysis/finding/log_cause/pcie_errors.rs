//! PCIe lost a transaction.

use super::pcie_failed::of_device;
use super::{Depth, LogCause};
use crate::analysis::severity::Severity;

/// An error of PCIe that is not fatal.
pub(super) const CAUSE: LogCause = LogCause {
    id: "pcie_errors",
    what: "PCIe lost a transaction of a NIC, a GPU or a port above one",
    depth: Depth::Effect,
    severity: Severity::Warning,
    lines: &[
        "mlx5_core 0000:0c:00.0: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction Layer, (Requester ID)",
        "nvidia 0000:1a:00.0: PCIe Bus Error: severity=Uncorrectable (Non-Fatal), type=Transaction Layer, (Completer ID)",
    ],
    proves: |text| {
        of_device(text) && text.contains("severity=Uncorrect") && text.contains("(Non-Fatal)")
    },
    variables: &[],
    unlike: "Fatal errors, after which the device is gone until it is reset; corrected ones, which cost only time.",
    remedy: "The next lines name the error: CmpltTO (a device does not answer), UnsupReq and ACSViol (peer-to-peer that a \
             bridge refuses: ACS), PoisonedTLP (memory). Look at the device at this address: `lspci -vv` (UESta, LnkSta).",
    source: "Linux Documentation/PCI/pcieaer-howto.rst",
};
