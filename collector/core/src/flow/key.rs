//! What distinguishes flows.

use crate::model::address::HostAddress;
use crate::model::qpn::Qpn;
use crate::model::tap::TapId;

/// One direction between two hosts to one queue pair, as one tap sees it. Every host uses the same
/// QP numbers, so a number alone identifies nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowKey {
    /// The observation point.
    pub tap: TapId,
    /// The sending host.
    pub source: HostAddress,
    /// The receiving host.
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
