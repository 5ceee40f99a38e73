//! A peer closed the connection.

use super::{Depth, LogCause};
use crate::analysis::severity::Severity;

/// A peer closed the connection.
pub(super) const CAUSE: LogCause = LogCause {
    id: "peer_closed",
    what: "a peer closed its connection: its process ended or failed first",
    depth: Depth::Echo,
    severity: Severity::Warning,
    lines: &[
        "socketProgress: Connection closed by remote peer node2<42830>",
        "Call to recv from 10.0.0.2<42830> failed : Connection reset by peer",
        "Call to sendmsg failed : Broken pipe",
    ],
    proves: |text| {
        text.contains("Connection closed by remote peer")
            || text.contains("Connection closed by peer")
            || text.contains("Connection reset by peer")
            || (text.contains("Call to") && text.contains("Broken pipe"))
            || text.contains("ncclRemoteError")
    },
    variables: &[],
    unlike: "A fault of the network between them: then the connection times out and nobody closes \
             it.",
    remedy: "Read the log of that peer (and dmesg of its host) first: what failed there came \
             before. Without its log, look at its exit code, at OOM kills and at differences of \
             driver or NCCL release.",
    source: "NCCL src/misc/socket.cc",
};
