//! The address is not local.

use super::{Depth, LogCause};
use crate::analysis::severity::Severity;

/// The address is not local.
pub(super) const CAUSE: LogCause = LogCause {
    id: "address_not_local",
    what: "the address to listen on is not one of this host",
    depth: Depth::Root,
    severity: Severity::Critical,
    lines: &[
        "Call to bind failed : Cannot assign requested address",
        "[W] The server socket on [10.0.0.1]:29500 ... Cannot assign requested address",
    ],
    proves: |text| {
        text.contains("Cannot assign requested address") || text.contains("EADDRNOTAVAIL")
    },
    variables: &[],
    unlike: "Address already in use: the address is right, and the port is taken.",
    remedy: "MASTER_ADDR or NCCL_COMM_ID names another host or an address of an earlier start: \
             set it to the address of the host that runs rank 0 (`ip -br addr` there), on all \
             ranks.",
    source: "bind(2), EADDRNOTAVAIL",
};
