//! What tells one flow from another.

use crate::model::address::HostAddress;
use crate::model::qpn::Qpn;
use crate::model::tap::TapId;

/// One direction between two hosts towards one queue pair, as one tap sees it. A QP number repeats
/// on every host, so it never identifies anything alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowKey {
    /// The observation point.
    pub tap: TapId,
    /// The host that sends.
    pub source: HostAddress,
    /// The host that receives.
    pub destination: HostAddress,
    /// The receiving queue pair.
    pub dest_qpn: Qpn,
}

impl FlowKey {
    /// The key of the other direction, which goes to `dest_qpn` on this flow's source.
    #[must_use]
    pub const fn reversed(self, dest_qpn: Qpn) -> Self {
        Self { tap: self.tap, source: self.destination, destination: self.source, dest_qpn }
    }
}
