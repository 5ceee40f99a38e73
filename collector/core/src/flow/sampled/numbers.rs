//! A sequence that a sender counts: what is missing, late, or comes twice.

/// A jump this large is a restart rather than a loss.
const RESTART: u32 = 1 << 20;

/// Numbers behind the highest one that are remembered.
const MEMORY: u32 = 64;

/// What a sequence number shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// It is the first one of a new count.
    Restart,
    /// It is so many after the highest one.
    Ahead(u32),
    /// It is late, and was counted as lost.
    Late,
    /// It was there before.
    Twice,
}

/// The state of a sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Numbers {
    highest: Option<u32>,
    /// Bit `n`: the number `n` below the highest one was there.
    seen: u64,
    received: u64,
    lost: u64,
    restarts: u64,
}

impl Numbers {
    /// A sequence without a number yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { highest: None, seen: 0, received: 0, lost: 0, restarts: 0 }
    }

    /// Takes the next number.
    pub fn observe(&mut self, number: u32) -> Place {
        let Some(highest) = self.highest else { return self.restart(number) };
        let ahead = number.wrapping_sub(highest);
        let behind = highest.wrapping_sub(number);
        if ahead > 0 && ahead < RESTART {
            self.lost += u64::from(ahead - 1);
            self.received += 1;
            self.seen = self.seen.checked_shl(ahead).unwrap_or(0) | 1;
            self.highest = Some(number);
            return Place::Ahead(ahead);
        }
        if behind >= MEMORY {
            self.restarts += 1;
            return self.restart(number);
        }
        let bit = 1 << behind;
        if self.seen & bit != 0 {
            return Place::Twice;
        }
        self.seen |= bit;
        self.received += 1;
        // What came before the first number was not counted as lost.
        self.lost = self.lost.saturating_sub(1);
        Place::Late
    }

    /// Its sender began anew: the next number is a first one.
    pub const fn begin_anew(&mut self) {
        self.highest = None;
        self.restarts += 1;
    }

    fn restart(&mut self, number: u32) -> Place {
        self.highest = Some(number);
        self.seen = 1;
        self.received += 1;
        Place::Restart
    }

    /// Numbers that arrived.
    #[must_use]
    pub const fn received(&self) -> u64 {
        self.received
    }

    /// Numbers that never arrived.
    #[must_use]
    pub const fn lost(&self) -> u64 {
        self.lost
    }

    /// How often the count began anew.
    #[must_use]
    pub const fn restarts(&self) -> u64 {
        self.restarts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(numbers: &[u32]) -> (u64, u64, u64) {
        let mut state = Numbers::default();
        numbers.iter().for_each(|number| _ = state.observe(*number));
        (state.received(), state.lost(), state.restarts())
    }

    #[test]
    fn gaps_are_losses_and_late_numbers_fill_them() {
        assert_eq!(after(&[5, 6, 9, 10]), (4, 2, 0));
        assert_eq!(after(&[5, 8, 7, 6]), (4, 0, 0));
        assert_eq!(after(&[u32::MAX, 1]), (2, 1, 0));
        assert_eq!(after(&[1, 2, 2, 1, 3]), (3, 0, 0), "numbers that come twice");
        assert_eq!(after(&[1000, 1, 2]), (3, 0, 1), "a restart");
        assert_eq!(after(&[1, 201, 202]), (3, 199, 0));
    }
}
