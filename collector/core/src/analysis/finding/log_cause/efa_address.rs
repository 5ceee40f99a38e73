//! An EFA peer is unreachable.

use super::{Depth, LogCause};
use crate::analysis::severity::Severity;

/// An EFA peer is unreachable.
pub(super) const CAUSE: LogCause = LogCause {
    id: "efa_address",
    what: "EFA cannot reach the address of a peer",
    depth: Depth::Root,
    severity: Severity::Critical,
    lines: &[
        "NET/OFI Unable to insert remote address into address vector for device 0. RC: -22",
        "NET/OFI Request completed with error. RC: 113. Error: unresponsive receiver",
    ],
    proves: |text| {
        text.contains("NET/OFI")
            && ["address vector", "fi_av_insert", "nresponsive receiver", "nreachable", "RC: 4122"]
                .iter()
                .any(|word| text.contains(word))
    },
    variables: &[],
    unlike: "No provider at all.",
    remedy: "The security group must allow all traffic from and to itself, in both directions; \
             instances must be in one subnet (and usually one placement group); all ranks need \
             the same libfabric and EFA device type. `fi_pingpong -p efa` between the two hosts.",
    source: "AWS EFA user guide, security groups; fi_efa(7)",
};
