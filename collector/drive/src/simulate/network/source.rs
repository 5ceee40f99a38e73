//! A source of background traffic, and when it sends next.

use fastrand::Rng;

use super::picoseconds::Picoseconds;
use super::plan::BackgroundFlow;

/// A background flow.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) flow: BackgroundFlow,
    chance: Rng,
}

impl Source {
    pub(super) fn new(flow: BackgroundFlow, seed: u64) -> Self {
        Self { flow, chance: Rng::with_seed(seed) }
    }

    /// Exponentially distributed, which makes arrivals a Poisson process.
    pub(super) fn distance(&mut self, frame_bytes: u16) -> Picoseconds {
        let mean = Picoseconds::of_bytes(u32::from(frame_bytes) + 24, self.flow.rate_bps);
        let distance = -(1.0 - self.chance.f64()).ln() * mean.0 as f64;
        Picoseconds(distance as u64)
    }
}
