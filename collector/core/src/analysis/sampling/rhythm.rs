//! How sampled traffic repeats: training steps, by when RoCE packets were drawn.
//!
//! Samples carry no times. A packet passed between the datagram before and the one that brought it, so it
//! counts for all of that time in equal parts: a rhythm that is faster than the datagrams fades by itself.
//!
//! A rhythm is a line in the spectrum that stands out from its neighbours. Its period comes from how the phase
//! of the line moves from part to part of the time, and the interval from how far the parts scatter about a
//! steady pace: by chance of drawing, and because steps are not of equal length.

use std::f64::consts::{PI, TAU};

use super::pace::{Drift, drift};
use super::spectrum::{Complex, powers, wave};
use crate::flow::sampled::agent::Arrival;
use crate::model::time::Timestamp;

/// Drawn packets that a rhythm needs.
const LEAST_FRAMES: u64 = 64;

/// Bins of the spectrum.
const BINS: usize = 1 << 13;

/// Periods that must have passed.
const LEAST_CYCLES: usize = 8;

/// Bins that a period must have.
const LEAST_BINS: usize = 4;

/// By what a line exceeds the middle one of its neighbours. Powers of noise are exponential: among 4,096 of
/// them one is larger than this in one case of 8,000.
const STANDS_OUT: f64 = 25.0;

/// Parts of the time whose phases are compared, at most.
const MOST_PARTS: usize = 24;

/// A part whose wave is weaker than this part of the usual one is no sign of a phase.
const WEAK: f64 = 0.4;

/// A rhythm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rhythm {
    /// Length of a period, in nanoseconds.
    pub period_ns: f64,
    /// Lower end of its interval.
    pub low_ns: f64,
    /// Upper end.
    pub high_ns: f64,
    /// Periods that passed.
    pub cycles: u64,
    /// Drawn packets that it is made from.
    pub samples: u64,
    /// The shortest period that could have been seen.
    pub shortest_ns: f64,
}

/// Why there is no rhythm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoRhythm {
    /// Too few RoCE packets were drawn.
    TooFewSamples,
    /// Nothing stands out: the traffic does not repeat, or faster than can be seen, or more slowly than a
    /// few times in the whole.
    NothingRepeats,
}

/// Looks for a rhythm; arrivals come in order of time.
pub fn find(arrivals: impl Iterator<Item = Arrival> + Clone) -> Result<Rhythm, NoRhythm> {
    let last = arrivals.clone().last().map(|arrival| arrival.until);
    let first = arrivals.clone().next().map(|arrival| arrival.after);
    let (Some(first), Some(last)) = (first, last) else { return Err(NoRhythm::TooFewSamples) };
    let mut length_ns = last.nanos_since(first);
    let mut outcome = Err(NoRhythm::TooFewSamples);
    // A slow rhythm shows in all of the time, a fast one only where bins are short.
    while length_ns > 0 {
        let start = Timestamp::from_nanos(last.as_nanos().saturating_sub(length_ns));
        let window = Window::new(arrivals.clone(), start, length_ns);
        if window.frames < LEAST_FRAMES {
            break;
        }
        if let Some(rhythm) = window.rhythm() {
            return Ok(rhythm);
        }
        outcome = Err(NoRhythm::NothingRepeats);
        length_ns /= 4;
    }
    outcome
}

/// Drawn packets by time.
struct Window {
    bins: Vec<f64>,
    bin_ns: f64,
    frames: u64,
}

impl Window {
    fn new(arrivals: impl Iterator<Item = Arrival>, start: Timestamp, length_ns: u64) -> Self {
        let bin_ns = length_ns as f64 / BINS as f64;
        let mut window = Self { bins: vec![0.0; BINS], bin_ns, frames: 0 };
        for arrival in arrivals.filter(|arrival| arrival.until > start) {
            window.frames += u64::from(arrival.frames);
            let from = arrival.after.nanos_since(start) as f64 / bin_ns;
            let until = arrival.until.nanos_since(start) as f64 / bin_ns;
            window.spread(from, until, f64::from(arrival.frames));
        }
        window
    }

    /// Adds packets in equal parts from one time to another, in bins.
    fn spread(&mut self, from: f64, until: f64, frames: f64) {
        let length = (until - from).max(1e-9);
        let (first, last) = (from as usize, (until as usize).min(BINS - 1));
        for (at, bin) in self.bins.iter_mut().enumerate().take(last + 1).skip(first) {
            let overlap = until.min(at as f64 + 1.0) - from.max(at as f64);
            let share = if first == last { 1.0 } else { (overlap / length).clamp(0.0, 1.0) };
            *bin += frames * share;
        }
    }

    fn rhythm(&self) -> Option<Rhythm> {
        let powers = powers(&self.bins);
        let strongest = strongest(&powers)?;
        let line = fundamental(&powers, strongest);
        let cycles = line as f64 + offset(&powers, line);
        let pace = self.pace(cycles / BINS as f64)?;
        let period = |frequency: f64| self.bin_ns / frequency;
        Some(Rhythm {
            period_ns: period(pace.frequency),
            low_ns: period(pace.frequency + pace.half),
            high_ns: if pace.half < pace.frequency {
                period(pace.frequency - pace.half)
            } else {
                return None;
            },
            cycles: (pace.frequency * BINS as f64) as u64,
            samples: self.frames,
            shortest_ns: LEAST_BINS as f64 * self.bin_ns,
        })
    }

    /// Frequency per bin, and half the length of its interval. The parts have whole numbers of periods.
    fn pace(&self, guess: f64) -> Option<Pace> {
        let mut frequency = guess;
        let mut half = f64::INFINITY;
        for _ in 0..3 {
            let cycles = (frequency * BINS as f64) as usize;
            if cycles < LEAST_CYCLES {
                return None;
            }
            let part = cycles.div_ceil(MOST_PARTS) as f64 / frequency;
            let (slope, error) = self.drift(part, frequency)?;
            frequency += slope;
            half = error;
        }
        (frequency > 0.0).then_some(Pace { frequency, half })
    }

    /// By how much the frequency differs from `frequency`, and half the length of the interval of that.
    fn drift(&self, part: f64, frequency: f64) -> Option<(f64, f64)> {
        let count = (BINS as f64 / part) as usize;
        let mut waves: Vec<Complex> = Vec::new();
        for at in 0..count {
            let (start, end) = ((at as f64 * part) as usize, ((at + 1) as f64 * part) as usize);
            waves.push(wave(self.bins.get(start..end)?, start, frequency));
        }
        let mut phases: Vec<f64> = Vec::new();
        for [re, im] in with_traffic(&waves) {
            let phase = im.atan2(*re);
            let before = phases.last().copied().unwrap_or(phase);
            phases.push(before + (phase - before + PI).rem_euclid(TAU) - PI);
        }
        let Drift { slope, half } = drift(&phases)?;
        let per_bin = |by_part: f64| by_part / part / TAU;
        Some((per_bin(slope), per_bin(half)))
    }
}

/// The parts without those at both ends in which there is little traffic.
fn with_traffic(waves: &[Complex]) -> &[Complex] {
    let size = |[re, im]: &Complex| re.hypot(*im);
    let mut sizes: Vec<f64> = waves.iter().map(size).collect();
    sizes.sort_by(f64::total_cmp);
    let usual = sizes.get(sizes.len() / 2).copied().unwrap_or(0.0);
    let is_strong = |wave: &Complex| size(wave) >= WEAK * usual;
    let first = waves.iter().position(is_strong).unwrap_or(0);
    let end = waves.iter().rposition(is_strong).map_or(0, |last| last + 1);
    waves.get(first..end).unwrap_or(&[])
}

/// A frequency per bin.
struct Pace {
    frequency: f64,
    half: f64,
}

/// Lines that may be a rhythm: from `LEAST_CYCLES` cycles to `LEAST_BINS` bins each.
const LINES: std::ops::RangeInclusive<usize> = LEAST_CYCLES..=BINS / LEAST_BINS;

/// The strongest line, if it stands out.
fn strongest(powers: &[f64]) -> Option<usize> {
    let lines = LINES.filter_map(|at| Some((at, *powers.get(at)?)));
    let (at, _) = lines.max_by(|(_, one), (_, other)| one.total_cmp(other))?;
    stands_out(powers, at).then_some(at)
}

/// Whether a line, or the one beside it, is far above the middle one of those from half its frequency to
/// twice.
fn stands_out(powers: &[f64], at: usize) -> bool {
    let near = powers.get(at.saturating_sub(1)..=at + 1).unwrap_or(&[]);
    let power = near.iter().copied().fold(0.0, f64::max);
    let mut around: Vec<f64> =
        powers.get((at / 2).max(1)..(2 * at).min(powers.len())).unwrap_or(&[]).to_vec();
    around.sort_by(f64::total_cmp);
    let middle = around.get(around.len() / 2).copied().unwrap_or(f64::INFINITY);
    // Where all lines are weak, chance of drawing is 2 on average.
    power > STANDS_OUT * middle.max(2.0 * std::f64::consts::LN_2)
}

/// The slowest line of which the strongest is a multiple: bursts within a step repeat faster than it.
fn fundamental(powers: &[f64], strongest: usize) -> usize {
    let parts = (2..=16).rev().map(|part| (strongest + part / 2) / part);
    let mut slower = parts.filter(|at| LINES.contains(at) && stands_out(powers, *at));
    slower.next().map_or(strongest, |near| {
        let around = near.saturating_sub(1)..=near + 1;
        let power = |at: &usize| powers.get(*at).copied().unwrap_or(0.0);
        around.max_by(|one, other| power(one).total_cmp(&power(other))).unwrap_or(near)
    })
}

/// Where between its neighbours a line has its top.
fn offset(powers: &[f64], at: usize) -> f64 {
    let root = |at: usize| powers.get(at).copied().unwrap_or(0.0).sqrt();
    let (before, top, after) = (root(at.saturating_sub(1)), root(at), root(at + 1));
    let (side, sign) = if after > before { (after, 1.0) } else { (before, -1.0) };
    sign * side / (side + top).max(1e-9)
}

#[cfg(test)]
mod tests;
