//! A name is unknown.

use super::{Depth, LogCause};
use crate::analysis::severity::Severity;

/// A name is unknown.
pub(super) const CAUSE: LogCause = LogCause {
    id: "name_unknown",
    what: "the name of a host cannot be resolved",
    depth: Depth::Root,
    severity: Severity::Critical,
    lines: &[
        "Net : error encountered when getting address info : Name or service not known",
        "ssh: Could not resolve hostname n2",
        "Temporary failure in name resolution",
    ],
    proves: |text| {
        text.contains("getting address info")
            || text.contains("Name or service not known")
            || text.contains("emporary failure in name resolution")
            || text.contains("Could not resolve hostname")
    },
    variables: &[],
    unlike: "An address that is known and unreachable.",
    remedy: "Check MASTER_ADDR and the host list: `getent hosts NAME` on every host, inside the \
             container (headless service and its selector in Kubernetes, /etc/hosts, DNS search \
             domains).",
    source: "getaddrinfo(3)",
};
