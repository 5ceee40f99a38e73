//! The port is in use.

use super::{Depth, LogCause};
use crate::analysis::severity::Severity;

/// The port is in use.
pub(super) const CAUSE: LogCause = LogCause {
    id: "port_in_use",
    what: "the port of the rendezvous is already in use",
    depth: Depth::Root,
    severity: Severity::Critical,
    lines: &[
        "The server socket has failed to listen on any local network address. port: 29500, useIpv6: false, code: -98, name: EADDRINUSE",
        "Call to bind failed : Address already in use",
    ],
    proves: |text| {
        text.contains("EADDRINUSE")
            || text.contains("Address already in use")
            || text.contains("server socket has failed to listen")
    },
    variables: &[],
    unlike: "A stranger on the port of another host: connections then have a wrong magic.",
    remedy: "Another job, or a process of the last start, holds the port: end it (`ss -ltnp`), or \
             choose another MASTER_PORT (--rdzv-endpoint host:0 finds a free one on one host).",
    source: "bind(2), EADDRINUSE",
};
