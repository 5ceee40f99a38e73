//! IPv4 identifications: where they rise with every packet that is sent, they tell which of two
//! packets was sent first, and a copy from a resend.

/// Moves forward with a newer identification before it is taken as proof: 8 chance hits in half of
/// the circle are 1 in 256, and one fall ends the trust for good.
const PROOF: u16 = 8;

/// What is known of the identifications of one flow.
#[derive(Clone, Copy, Debug)]
pub struct Identifications {
    /// That of the packet that moved the flow forward last.
    reference: u16,
    /// Forward moves in which it was newer; `None` once it was not.
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

    /// Whether they are proven to rise with the sending order.
    #[must_use]
    pub fn is_proven(&self) -> bool {
        self.rises.is_some_and(|rises| rises >= PROOF)
    }

    /// Whether nothing speaks against it so far.
    #[must_use]
    pub const fn may_rise(&self) -> bool {
        self.rises.is_some()
    }

    /// Whether a packet was sent after the one that moved the flow forward last.
    #[must_use]
    pub const fn is_newer(&self, id: u16) -> bool {
        is_newer(id, self.reference)
    }

    /// That of the packet that moved the flow forward last.
    #[must_use]
    pub const fn reference(&self) -> u16 {
        self.reference
    }
}

/// Whether identification `id` was given out after `reference`, on the 16-bit circle.
#[must_use]
pub const fn is_newer(id: u16, reference: u16) -> bool {
    let ahead = id.wrapping_sub(reference);
    ahead != 0 && ahead < 0x8000
}
