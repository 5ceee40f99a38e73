//! A port changed.

use super::{Depth, LogCause};
use crate::analysis::severity::Severity;

/// A port changed.
pub(super) const CAUSE: LogCause = LogCause {
    id: "port_changed",
    what: "a port changed its addresses or its subnet manager",
    depth: Depth::Effect,
    severity: Severity::Info,
    lines: &[
        "NET/IB : mlx5_0:1 Got non-fatal async event: client reregistration event(17)",
        "NET/IB : mlx5_0:1 Got async event : LID change",
        "NET/IB : mlx5_0:1 GID table changed",
    ],
    proves: |text| {
        (text.contains("async")
            && [
                "LID change",
                "P_Key change",
                "SM change",
                "client reregistration",
                "GID table change",
            ]
            .iter()
            .any(|event| text.contains(event)))
            || text.contains("GID table changed")
    },
    variables: &[],
    unlike: "A lost link: that is a port error.",
    remedy: "Harmless by itself. If transfers failed afterwards, the subnet manager or the \
             network configuration changed under the job: look at its log at this time (opensm, \
             DHCP, network manager).",
    source: "ibv_get_async_event(3)",
};
