//! A NIC failed.

use super::{Depth, LogCause};
use crate::analysis::severity::Severity;

/// A NIC failed.
pub(super) const CAUSE: LogCause = LogCause {
    id: "nic_failed",
    what: "an RDMA NIC reported a fatal error",
    depth: Depth::Root,
    severity: Severity::Critical,
    lines: &[
        "NET/IB : mlx5_0:1 async fatal event: local catastrophic error",
        "mlx5_core 0000:0c:00.0: device's health compromised - reached miss count",
        "mlx5_core 0000:0c:00.0: wait_func:1045:(pid 812): CREATE_MKEY(0x200) timeout. Will cause a leak of a command resource",
        "NETDEV WATCHDOG: eth2 (mlx5_core): transmit queue 3 timed out",
    ],
    proves: |text| {
        (text.contains("async") && text.contains("local catastrophic error"))
            || (text.contains("mlx5_core")
                && ["health", "fatal", "syndrome", "assert_var", "Fatal"]
                    .iter()
                    .any(|word| text.contains(word)))
            || text.contains("timeout. Will cause a leak of a command resource")
            || (text.contains("NETDEV WATCHDOG")
                && text.contains("timed out")
                && ["(mlx5_core)", "(bnxt_en)", "(ice)"].iter().any(|name| text.contains(name)))
            || ((text.contains("bnxt_") || text.contains("irdma")) && text.contains("atal"))
    },
    variables: &[],
    unlike: "Queue pair events, which concern one connection.",
    remedy: "Look at the kernel log of this host (`dmesg -T | grep mlx5`): firmware asserts, PCIe \
             errors, temperature. Reset the device (`mlxfwreset`, `devlink dev reload`) or \
             reboot, update its firmware, and take the host out if it comes back.",
    source: "ibv_get_async_event(3), IBV_EVENT_DEVICE_FATAL; Linux mlx5 health",
};
