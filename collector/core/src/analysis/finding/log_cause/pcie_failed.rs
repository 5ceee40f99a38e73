//! PCIe lost a device.

use super::{Depth, LogCause};
use crate::analysis::severity::Severity;

/// A fatal error of PCIe.
pub(super) const CAUSE: LogCause = LogCause {
    id: "pcie_failed",
    what: "PCIe reported a fatal error at a NIC, a GPU or a port above one",
    depth: Depth::Root,
    severity: Severity::Critical,
    lines: &[
        "mlx5_core 0000:0c:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, (Receiver ID)",
        "pcieport 0000:0a:01.0: PCIe Bus Error: severity=Uncorrectable (Fatal), type=Data Link Layer, (Receiver ID)",
    ],
    proves: |text| {
        of_device(text) && text.contains("severity=Uncorrect") && text.contains("(Fatal)")
    },
    variables: &[],
    unlike: "Non-fatal and corrected errors: the link goes on. Xid 79 follows where the device was a GPU.",
    remedy: "Find what is at this address (`lspci -tv`). Reseat it, look at its slot, riser and retimer (`lspci -vv`: LnkSta, \
             UESta), its power and temperature; reset the device or reboot, and drain the host if it comes back.",
    source: "Linux Documentation/PCI/pcieaer-howto.rst",
};

/// Drivers of NICs and GPUs, and of the ports above them.
const DRIVERS: &[&str] =
    &["mlx5_core ", "nvidia ", "amdgpu ", "bnxt_en ", "ice ", "ionic ", "efa ", "pcieport "];

/// Whether a line is of an error of such a device; other devices, such as disks, are no matter of a
/// job's network.
pub(super) fn of_device(text: &str) -> bool {
    let before = text.split_once(": PCIe Bus Error: ").map(|(before, _)| before);
    before.is_some_and(|before| DRIVERS.iter().any(|driver| before.contains(driver)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_disks_are_no_cause() {
        let line = "nvme 0000:01:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer";
        assert!(!(CAUSE.proves)(line));
        assert!((CAUSE.proves)(&line.replace("nvme", "[81423.2] nvidia")));
    }
}
