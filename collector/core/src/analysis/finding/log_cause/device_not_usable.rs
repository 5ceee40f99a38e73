//! An RDMA device cannot be opened.

use super::{Depth, LogCause, has};
use crate::analysis::severity::Severity;

/// An RDMA device cannot be opened.
pub(super) const CAUSE: LogCause = LogCause {
    id: "device_not_usable",
    what: "an RDMA device is there but cannot be opened",
    depth: Depth::Root,
    severity: Severity::Critical,
    lines: &[
        "Call to ibv_open_device failed",
        "NET/IB : Unable to open device mlx5_0",
        "libibverbs: Warning: no userspace device-specific driver found for /sys/class/infiniband_verbs/uverbs0",
    ],
    proves: |text| {
        text.contains("ibv_open_device")
            || text.contains("Unable to open device")
            || text.contains("no userspace device-specific driver")
            || has(text, &["/dev/infiniband", "ermission denied"])
            || has(text, &["/dev/infiniband", "not permitted"])
    },
    variables: &[],
    unlike: "No device found: there the process sees no device at all.",
    remedy: "Give the container the device files and the right to lock memory: \
             --device=/dev/infiniband --cap-add=IPC_LOCK, or the RDMA device plugin; in the \
             image, install rdma-core with the provider of this NIC (ibverbs-providers, libmlx5). \
             `ibv_devinfo` inside the container must list the device.",
    source: "rdma-core documentation; NCCL user guide, containers",
};
