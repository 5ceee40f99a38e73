//! A transceiver was pulled, failed or ran hot.

use super::port_down::is_at_boot;
use super::{Depth, LogCause};
use crate::analysis::severity::Severity;

/// A transceiver failed.
pub(super) const CAUSE: LogCause = LogCause {
    id: "module_failed",
    what: "a cable or transceiver of a NIC was pulled, failed or ran hot",
    depth: Depth::Root,
    severity: Severity::Critical,
    lines: &[
        "mlx5_core 0000:0c:00.0: Port module event: module 0, Cable unplugged",
        "mlx5_core 0000:0c:00.0: Port module event[error]: module 0, Cable error, High Temperature",
        "mlx5_core 0000:0c:00.0: mlx5_pcie_event:301:(pid 21): High temperature on sensors with bit set 0 1",
    ],
    proves: |text| {
        let is_module = text.contains("Port module event")
            && (text.contains("[error]")
                || text.contains("unplugged")
                || text.contains("Cable error"));
        let is_hot = text.contains("High temperature on sensors");
        text.contains("mlx5_core") && (is_module || is_hot) && !is_at_boot(text)
    },
    variables: &[],
    unlike: "`Cable plugged`, which reports that one was put in; empty cages report `Cable unplugged` when the driver loads \
             (the kernel's first 120 s).",
    remedy: "Look at the transceiver (`mlxlink -d DEVICE -m`, `ethtool -m`): type, temperature, power. Reseat or replace it; \
             check the airflow if it ran hot. `Link down` of the same device follows from it.",
    source: "Linux drivers/net/ethernet/mellanox/mlx5/core/events.c",
};
