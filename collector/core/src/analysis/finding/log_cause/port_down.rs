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
            || ((has(text, &["mlx5_core", "ink down"]) || text.contains("NIC Link is Down"))
                && !is_at_boot(text))
    },
    variables: &[],
    unlike: "Events of queue pairs on the same line form: they are of the driver or of memory \
             keys, and the link is up. Drivers that load at boot (the kernel's first 120 s) also \
             report a link as down.",
    remedy: "Look at this host: cable, optics and switch port; `ethtool -S` link_down_events_phy \
             or the counter link_downed, `mlxlink`, the switch log, dmesg. Failed sends of its \
             peers follow from it. Reseat or replace what flapped; NCCL does not recover a lost \
             port before 2.28.",
    source: "ibv_get_async_event(3), IBV_EVENT_PORT_ERR; NCCL src/transport/net_ib",
};

/// Links come up for the first time within this uptime.
const BOOT_S: u64 = 120;

/// Whether a line of the kernel has the time stamp of its boot: `[   12.345678]`. Drivers report a link
/// as down when they load.
pub(super) fn is_at_boot(text: &str) -> bool {
    let is_uptime = |stamp: &str| {
        let Some((seconds, micros)) = stamp.trim().split_once('.') else { return false };
        let is_uptime = micros.len() == 6 && micros.bytes().all(|byte| byte.is_ascii_digit());
        is_uptime && seconds.parse().is_ok_and(|uptime: u64| uptime < BOOT_S)
    };
    // Launchers have brackets of their own before it.
    text.split('[')
        .skip(1)
        .filter_map(|rest| rest.split_once(']'))
        .any(|(stamp, _)| is_uptime(stamp))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_that_is_down_at_boot_is_no_cause() {
        let proves = |text: &str| (CAUSE.proves)(text);
        assert!(!proves("[    9.318204] mlx5_core 0000:0c:00.0 eth2: Link down"));
        assert!(!proves("[rank0] [    9.318204] mlx5_core 0000:0c:00.0 eth2: Link down"));
        assert!(proves("[90318.204123] mlx5_core 0000:0c:00.0 eth2: Link down"));
        assert!(proves("mlx5_core 0000:0c:00.0 eth2: Link down"));
        assert!(proves("[Mon Jan  5 04:11:52 2026] mlx5_core 0000:0c:00.0 eth2: Link down"));
    }
}
