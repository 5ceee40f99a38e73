//! The proxy failed.

use super::{Depth, LogCause};
use crate::analysis::severity::Severity;

/// The proxy failed.
pub(super) const CAUSE: LogCause = LogCause {
    id: "proxy_failed",
    what: "NCCL's proxy could not carry out an operation",
    depth: Depth::Echo,
    severity: Severity::Warning,
    lines: &[
        "[Proxy Service 5] Failed to execute operation Connect from rank 5, retcode 2",
        "Socket recv failed while polling for opId=0x7f",
        "communicator encountered a fatal error (detected in ncclIbTest)",
    ],
    proves: |text| {
        text.contains("[Proxy Service")
            || text.contains("[Proxy Progress")
            || (text.contains("[Service thread")
                && !text.contains("Connection closed by localRank"))
            || text.contains("while polling for opId")
            || text.contains("communicator encountered a fatal error")
            || text.contains("ncclProxyConnect")
            || text.contains("asyncJobLaunch")
            || text.contains("commReclaim")
            || text.contains("commDestroySync")
            || text.contains("ncclProxyStop")
    },
    variables: &[],
    unlike: "It never is a cause: look for the warning before it on the same host.",
    remedy: "Find the first warning on this host; the proxy reports what failed below it.",
    source: "NCCL src/proxy.cc",
};
