//! A port went down.

use super::{Depth, LogCause, has};
use crate::analysis::severity::Severity;

/// A port went down.
pub(super) const CAUSE: LogCause = LogCause {
    id: "port_down",
    what: "a port of an RDMA NIC lost its link",
    depth: Depth::Root,
    severity: Severity::Critical,
    lines: &[
        "NET/IB : Got async event : port error",
        "NET/IB : mlx5_0:1 Got async event : port error",
        "mlx5_core 0000:0c:00.0 eth2: Link down",
    ],
    proves: |text| {
        (text.contains("async") && (text.contains("port error") || text.contains("port active")))
            || has(text, &["mlx5_core", "ink down"])
            || text.contains("NIC Link is Down")
    },
    variables: &[],
    unlike: "Events of queue pairs on the same line form: they are of the driver or of memory \
             keys, and the link is up.",
    remedy: "Look at this host: cable, optics and switch port; `ethtool -S` link_down_events_phy \
             or the counter link_downed, `mlxlink`, the switch log, dmesg. Failed sends of its \
             peers follow from it. Reseat or replace what flapped; NCCL does not recover a lost \
             port before 2.28.",
    source: "ibv_get_async_event(3), IBV_EVENT_PORT_ERR; NCCL src/transport/net_ib",
};
