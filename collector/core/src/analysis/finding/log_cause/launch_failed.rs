//! The launch failed.

use super::{Depth, LogCause};
use crate::analysis::severity::Severity;

/// The launch failed.
pub(super) const CAUSE: LogCause = LogCause {
    id: "launch_failed",
    what: "the launcher could not start ranks on other hosts",
    depth: Depth::Root,
    severity: Severity::Critical,
    lines: &[
        "ORTE was unable to reliably start one or more daemons.",
        "Host key verification failed.",
        "There are not enough slots available in the system",
        "0/3 nodes are available: 3 Insufficient rdma/hca",
    ],
    proves: |text| {
        text.contains("was unable to reliably start")
            || text.contains("unable to start")
            || text.contains("daemon has unexpectedly failed")
            || text.contains("Host key verification failed")
            || text.contains("Permission denied (publickey")
            || text.contains("not enough slots")
            || text.contains("Insufficient rdma/")
            || text.contains("Insufficient vpc.amazonaws.com/efa")
            || text.contains("Insufficient nvidia.com/")
    },
    variables: &[],
    unlike: "Ranks that start and do not find each other.",
    remedy: "mpirun needs ssh without a password to every host and itself installed there at the \
             same path; pods need their resources (device plugin, quota) and a launcher that \
             waits for the workers.",
    source: "Open MPI FAQ; Kubeflow MPI Operator",
};
