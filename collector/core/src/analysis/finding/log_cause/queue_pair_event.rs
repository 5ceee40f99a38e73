//! A queue pair event.

use super::{Depth, LogCause};
use crate::analysis::severity::Severity;

/// A queue pair event.
pub(super) const CAUSE: LogCause = LogCause {
    id: "queue_pair_event",
    what: "a NIC refused work on one queue pair",
    depth: Depth::Root,
    severity: Severity::Critical,
    lines: &[
        "NET/IB : mlx5_1:1 async fatal event on QP (0x7f): invalid request local work queue error",
        "NET/IB : mlx5_0:1 Got async event : local access violation work queue error",
    ],
    proves: |text| {
        text.contains("async")
            && (text.contains("work queue")
                || text.contains("CQ error")
                || text.contains("on CQ ("))
    },
    variables: &[],
    unlike: "A lost link: that is another event, and peers then fail with status 12. Here the \
             network delivered what the NIC then refused.",
    remedy: "The NIC rejected a request or a memory key of this connection: look at the driver \
             and firmware of that NIC (dmesg), at memory registration (nvidia-peermem against \
             DMA-BUF: NCCL_DMABUF_ENABLE=0), at limits of a VF, and update NCCL, OFED and \
             firmware together.",
    source: "ibv_get_async_event(3), IBV_EVENT_QP_REQ_ERR, QP_ACCESS_ERR, QP_FATAL",
};
