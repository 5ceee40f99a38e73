//! Estimates from packets that were drawn at random, with intervals of 95 %.
//!
//! * A total is the sum over the drawn packets, each times the packets that it stands for. The number of
//!   drawn packets is a Poisson variable as long as few are drawn, so the interval is Jeffreys': quantiles of
//!   a gamma distribution. Where packets differ in size or weight, the distribution has the sum's mean and
//!   variance (after Fay and Feuer, 1997).
//! * A share is that of the drawn packets, with Wilson's interval (1927). If weights differ, it counts fewer
//!   packets (Kish's effective number).
//!
//! `cargo xtask sampled` measures how often they hold the truth.

use crate::flow::sampled::queue::Moments;
use crate::flow::sampled::source::Sums;

/// The quantile of the normal distribution that leaves 2.5 % above.
const Z: f64 = 1.959_963_985;

/// A total, and between which values it lies in 95 cases of 100.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// The best guess.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Drawn packets that it is made from.
    pub samples: u64,
}

/// A mean over packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    /// That of the drawn packets.
    pub value: f64,
    /// The ends of its interval; `None` of few packets.
    pub ends: Option<[f64; 2]>,
}

/// Drawn packets that an interval of a mean needs: whatever their distribution, means of so many are about
/// normal.
const MEAN_SAMPLES: u64 = 100;

impl Mean {
    /// The mean of drawn packets; `None` without any.
    #[must_use]
    pub fn new(moments: &Moments) -> Option<Self> {
        let count = Some(moments.samples).filter(|samples| *samples > 0)? as f64;
        let value = moments.sum as f64 / count;
        let variance = (moments.squares as f64 / count - value * value).max(0.0);
        let half = Z * (variance / count).sqrt();
        let ends = [(value - half).max(0.0), value + half];
        Some(Self { value, ends: (moments.samples >= MEAN_SAMPLES).then_some(ends) })
    }
}

/// A share of packets, 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// That of the drawn packets.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Drawn packets.
    pub samples: u64,
    /// Drawn packets that have what is counted.
    pub hits: u64,
}

/// A sum over drawn packets, each with what it stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Weighted {
    samples: u64,
    sum: f64,
    variance: f64,
    heaviest: f64,
}

impl Weighted {
    /// Adds packets that stand for `weight` packets each.
    pub fn add_frames(&mut self, weight: f64, frames: u64) {
        self.add(weight, frames, frames as f64, frames as f64, 1.0);
    }

    /// Adds the bytes of packets that stand for `weight` packets each.
    pub fn add_bytes(&mut self, weight: f64, sums: &Sums) {
        self.add(weight, sums.frames, sums.bytes as f64, sums.squares as f64, LARGEST);
    }

    fn add(&mut self, weight: f64, samples: u64, sum: f64, squares: f64, largest: f64) {
        self.samples += samples;
        self.sum += weight * sum;
        self.variance += weight * weight * squares;
        self.heaviest = self.heaviest.max(weight * largest);
    }

    /// The total.
    #[must_use]
    pub fn total(&self) -> Estimate {
        let Self { samples, sum, variance, heaviest } = *self;
        if samples == 0 || sum <= 0.0 {
            let high = heaviest * gamma_quantile(0.5, Z);
            return Estimate { value: 0.0, low: 0.0, high, samples };
        }
        let (shape, scale) = (sum * sum / variance + 0.5, variance / sum);
        let end = |z| scale * gamma_quantile(shape, z);
        Estimate { value: sum, low: end(-Z).min(sum), high: end(Z).max(sum), samples }
    }

    /// The share of `part` in it, of which `hits` packets were drawn; `None` if nothing was drawn.
    #[must_use]
    pub fn share(&self, part: &Self) -> Option<Share> {
        if self.samples == 0 || self.sum <= 0.0 {
            return None;
        }
        let value = (part.sum / self.sum).clamp(0.0, 1.0);
        let count = self.sum * self.sum / self.variance;
        let squared = Z * Z;
        let middle = (value + squared / (2.0 * count)) / (1.0 + squared / count);
        let spread = value * (1.0 - value) / count + squared / (4.0 * count * count);
        let half = Z * spread.sqrt() / (1.0 + squared / count);
        Some(Share {
            value,
            low: if part.samples == 0 { 0.0 } else { (middle - half).clamp(0.0, value) },
            high: if part.samples == self.samples {
                1.0
            } else {
                (middle + half).clamp(value, 1.0)
            },
            samples: self.samples,
            hits: part.samples,
        })
    }
}

/// Bytes of the largest frame that fabrics carry.
const LARGEST: f64 = 9216.0;

/// A quantile of the gamma distribution with scale 1, after Wilson and Hilferty (1931): within 0.2 % of it
/// from a shape of 5 on, and within 2 % of the upper ones at 0.5.
fn gamma_quantile(shape: f64, z: f64) -> f64 {
    let ninth = 1.0 / (9.0 * shape);
    let root = (1.0 - ninth + z * ninth.sqrt()).max(0.0);
    shape * root * root * root
}

#[cfg(test)]
mod tests {
    use super::*;

    fn total(weight: f64, frames: u64) -> Estimate {
        let mut sum = Weighted::default();
        sum.add_frames(weight, frames);
        sum.total()
    }

    /// Jeffreys' interval of a Poisson mean, from tables of chi squared.
    #[test]
    fn totals_have_the_intervals_of_tables() {
        for (frames, low, high) in
            [(0, 0.0, 2.512), (5, 1.908, 10.960), (10, 5.142, 17.739), (100, 81.80, 121.06)]
        {
            let found = total(1000.0, frames);
            assert!((found.low / 1000.0 - low).abs() < 0.03, "{frames}: {found:?}");
            assert!((found.high / 1000.0 - high).abs() < 0.06, "{frames}: {found:?}");
        }
    }

    #[test]
    fn one_weight_and_one_size_scale_the_interval() {
        let mut bytes = Weighted::default();
        bytes.add_bytes(10.0, &Sums { frames: 7, bytes: 7 * 1000, squares: 7 * 1_000_000 });
        let (bytes, frames) = (bytes.total(), total(10.0, 7));
        assert!((bytes.high / frames.high - 1000.0).abs() < 1e-6);
        assert!((bytes.value - 70_000.0).abs() < 1e-6);
    }

    #[test]
    fn shares_stay_within_0_and_1() {
        for (hits, frames) in [(0, 1), (1, 1), (3, 500), (500, 500)] {
            let (mut all, mut part) = (Weighted::default(), Weighted::default());
            all.add_frames(10.0, frames);
            part.add_frames(10.0, hits);
            let share = all.share(&part).unwrap();
            assert!(0.0 <= share.low && share.low <= share.value, "{share:?}");
            assert!(share.value <= share.high && share.high <= 1.0, "{share:?}");
            assert!(share.high - share.low > 0.005, "{share:?}");
        }
        assert_eq!(Weighted::default().share(&Weighted::default()), None);
    }

    /// How often a mean is held, over all counts that it can give.
    #[test]
    fn intervals_hold_93_to_97_per_cent_on_average() {
        let mut held = Vec::new();
        for mean in (20..400).map(|tenths| f64::from(tenths) / 10.0) {
            let mut probability = (-mean).exp();
            let mut sum = 0.0;
            for frames in 0..200_u32 {
                let found = total(1.0, u64::from(frames));
                sum += if found.low <= mean && mean <= found.high { probability } else { 0.0 };
                probability *= mean / f64::from(frames + 1);
            }
            assert!(sum > 0.90, "{mean}: {sum}");
            held.push(sum);
        }
        let average = held.iter().sum::<f64>() / held.len() as f64;
        assert!((0.945..0.958).contains(&average), "{average}");
    }
}
