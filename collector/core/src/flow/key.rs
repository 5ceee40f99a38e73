//! What distinguishes flows.

use serde::{Deserialize, Serialize};

use crate::model::address::HostAddress;
use crate::model::qpn::Qpn;
use crate::model::tap::TapId;

/// One direction between two hosts to one queue pair, as one tap sees it. Every host uses the same
/// QP numbers, so a number alone identifies nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
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

    /// The flow that this is in use `epoch` of its QPN, whichever tap sees it.
    #[must_use]
    pub const fn identity(self, epoch: u32) -> FlowIdentity {
        let Self { source, destination, dest_qpn, .. } = self;
        FlowIdentity { source, destination, dest_qpn, epoch }
    }
}

/// A flow whichever tap sees it: what all taps' views of it have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowIdentity {
    /// The sending host.
    pub source: HostAddress,
    /// The receiving host.
    pub destination: HostAddress,
    /// The receiving queue pair.
    pub dest_qpn: Qpn,
    /// 0 for the first use of the QPN, incremented with each reuse.
    pub epoch: u32,
}
