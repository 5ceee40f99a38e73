//! IPv4 identifications: if they increase with every packet sent, they show which of two packets
//! was sent first, and distinguish a copy from a retransmission.

use serde::{Deserialize, Serialize};

/// Forward moves with a newer identification required as proof: 8 chance hits in half of the circle
/// are 1 in 256, and one decrease ends the trust for good.
const PROOF: u16 = 8;

/// Identifications of one flow.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Identifications {
    /// Identification of the packet that last moved the flow forward.
    reference: u16,
    /// How often it increased when the flow moved forward; `None` after it once did not.
    rises: Option<u16>,
}

impl Default for Identifications {
    fn default() -> Self {
        Self { reference: 0, rises: Some(0) }
    }
}

impl Identifications {
    /// The first packet of the flow.
    #[inline]
    pub fn start(&mut self, identification: Option<u16>) {
        match identification {
            Some(id) => self.reference = id,
            None => self.rises = None,
        }
    }

    /// A packet with a higher PSN than any before.
    #[inline]
    pub fn advance(&mut self, identification: Option<u16>) {
        let Some(rises) = self.rises else { return };
        match identification.filter(|id| is_newer(*id, self.reference)) {
            Some(id) => {
                self.rises = Some(rises.saturating_add(1));
                self.reference = id;
            }
            None => self.rises = None,
        }
    }

    /// Whether they are proven to increase in sending order.
    #[must_use]
    pub fn is_proven(&self) -> bool {
        self.rises.is_some_and(|rises| rises >= PROOF)
    }

    /// Whether nothing contradicts that so far.
    #[must_use]
    pub const fn may_rise(&self) -> bool {
        self.rises.is_some()
    }

    /// Whether a packet was sent after the one that last moved the flow forward.
    #[must_use]
    pub const fn is_newer(&self, id: u16) -> bool {
        is_newer(id, self.reference)
    }

    /// Identification of the packet that last moved the flow forward.
    #[must_use]
    pub const fn reference(&self) -> u16 {
        self.reference
    }
}

/// Whether identification `id` was assigned after `reference`, on the 16-bit circle.
#[must_use]
pub const fn is_newer(id: u16, reference: u16) -> bool {
    let ahead = id.wrapping_sub(reference);
    ahead != 0 && ahead < 0x8000
}
