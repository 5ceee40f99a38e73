//! Numbers for resampling: the same seed gives the same ones on every machine.

/// SplitMix64 (Steele, Lea and Flood, 2014): one addition and three mixes a number, and no bad seeds.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// A generator that `seed` decides.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next number, of 64 bits.
    pub const fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A place in a list of `length`; 0 for an empty one. The bias is below `length` / 2^64.
    pub fn place(&mut self, length: usize) -> usize {
        let wide = u128::from(self.bits()) * length as u128;
        usize::try_from(wide >> 64).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_even_and_repeat_with_the_seed() {
        let mut random = Random::new(7);
        let mut counts = [0_u32; 10];
        for _ in 0..10_000 {
            counts[random.place(10)] += 1;
        }
        assert!(counts.iter().all(|count| (850..1150).contains(count)), "{counts:?}");
        assert_eq!(Random::new(7).bits(), Random::new(7).bits());
        assert_ne!(Random::new(7).bits(), Random::new(8).bits());
        assert_eq!(random.place(0), 0);
    }
}
