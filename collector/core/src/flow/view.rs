//! The figures of one tap's view of a flow, each defined once: queue pairs and metrics join them
//! over taps.

use super::disorder::SequenceCounts;
use super::key::FlowIdentity;
use super::sighting::Sighting;
use super::state::{EcnCounts, Flow, OuterEcn};
use crate::model::opcode::Transport;

/// Packets that were missing when later ones passed a tap, less those that only the capture lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Missing {
    /// Certain: they came later, or an acknowledgement shows that they never came. Never falls.
    pub settled: u64,
    /// Not acknowledged yet: the capture may have lost them.
    pub open: u64,
}

impl Missing {
    /// All of them as it stands.
    #[must_use]
    pub const fn so_far(self) -> u64 {
        self.settled + self.open
    }
}

impl Flow {
    /// The flow whichever tap sees it.
    #[must_use]
    pub const fn identity(&self) -> FlowIdentity {
        self.key.identity(self.epoch)
    }

    /// Sums of its requests' PSNs; `None` if they show neither loss nor order.
    #[must_use]
    pub fn sequence_counts(&self) -> Option<SequenceCounts> {
        self.has_sequence().then(|| self.requester().requests.counts())
    }

    /// Its missing requests; `None` as for [`sequence_counts`](Self::sequence_counts).
    #[must_use]
    pub fn missing_requests(&self) -> Option<Missing> {
        let counts = self.sequence_counts()?;
        let all = counts.gap_packets.saturating_sub(counts.uncaptured_packets);
        // Nothing acknowledges UC.
        let open = if self.transport == Transport::Uc { 0 } else { counts.open_packets.min(all) };
        Some(Missing { settled: all - open, open })
    }

    /// Request packets that were not captured: those that were acknowledged all the same, and those of unknown
    /// fate. `None` likewise.
    #[must_use]
    pub fn unseen_requests(&self) -> Option<[u64; 2]> {
        let counts = self.sequence_counts()?;
        // Every missing packet of UC was lost.
        let is_known = self.transport == Transport::Uc;
        Some([counts.uncaptured_packets, if is_known { 0 } else { counts.unresolved_packets }])
    }

    /// Its missing READ responses; `None` likewise.
    #[must_use]
    pub fn missing_responses(&self) -> Option<Missing> {
        let settled = self.responses.gap_packets();
        self.has_sequence().then_some(Missing { settled, open: 0 })
    }

    /// Its packets by ECN codepoint as switches left it: CE if any IP header carries it. In a
    /// tunnel, switches mark the outer header.
    #[must_use]
    pub fn marks(&self) -> EcnCounts {
        let outside = self.outer_ecn().map(|outer| outer.only_outer_ce);
        self.ecn.with_ce(outside.unwrap_or_default())
    }

    /// ECN of the outer IP headers; `None` if no packet came in a tunnel.
    #[must_use]
    pub fn outer_ecn(&self) -> Option<&OuterEcn> {
        self.ecn_details.as_ref()?.outer.as_ref()
    }

    /// Its first CE-marked packet, marked in the inner or outer IP header.
    #[must_use]
    pub fn first_mark(&self) -> Option<Sighting> {
        self.ecn_details.as_ref()?.first
    }
}
