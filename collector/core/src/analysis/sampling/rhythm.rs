//! How sampled traffic repeats: training steps, by when RoCE packets were drawn.
//!
//! Samples carry no times. A packet passed between the datagram before and the one that brought it, so it
//! counts for all of that time in equal parts: a rhythm that is faster than the datagrams fades by itself.
//!
//! A rhythm is a line in the spectrum that stands out from its neighbours. Its period comes from how the phase
//! of the line moves from part to part of the time, and the interval from how far the parts scatter about a
//! steady pace: by chance of drawing, and because training steps are not of equal length. The parts are as
//! short as the samples allow: the more there are, the better it shows which of the two it is.

use std::f64::consts::{PI, TAU};

use super::pace::{Drift, drift};
use super::spectrum::{Complex, powers};
use super::waves::{self, Span};
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

/// Parts of the time whose phases are compared, at most and at least.
const MOST_PARTS: f64 = 128.0;
const LEAST_PARTS: usize = 6;

/// Drawn packets that a part must have on average, so that its phase shows.
const FRAMES_OF_PART: f64 = 24.0;

/// The largest move of a phase from one part to the next, in radians. Beyond it might be a turn more or less.
const LARGEST_MOVE: f64 = 2.0;

/// The largest scatter of moves about their mean, in radians, as a standard deviation. Phases that are lost
/// altogether scatter by 1.8.
const LARGEST_SCATTER: f64 = 0.9;

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
    // Since when the first datagram was filled is not known.
    let arrivals = arrivals.skip(1);
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
        match window.rhythm() {
            Err(NoRhythm::NothingRepeats) => outcome = Err(NoRhythm::NothingRepeats),
            found => return found,
        }
        length_ns /= 4;
    }
    outcome
}

/// Drawn packets by time.
struct Window {
    bins: Vec<f64>,
    bin_ns: f64,
    frames: u64,
    /// The same without bins.
    spans: Vec<Span>,
}

impl Window {
    fn new(arrivals: impl Iterator<Item = Arrival>, start: Timestamp, length_ns: u64) -> Self {
        let bin_ns = length_ns as f64 / BINS as f64;
        let mut window = Self { bins: vec![0.0; BINS], bin_ns, frames: 0, spans: Vec::new() };
        for arrival in arrivals.filter(|arrival| arrival.until > start) {
            window.frames += u64::from(arrival.frames);
            let from = arrival.after.nanos_since(start) as f64 / bin_ns;
            let until = arrival.until.nanos_since(start) as f64 / bin_ns;
            window.spread(from, until, f64::from(arrival.frames));
            window.spans.push(Span { from, until, frames: f64::from(arrival.frames) });
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

    fn rhythm(&self) -> Result<Rhythm, NoRhythm> {
        let powers = powers(&self.bins);
        let strongest = strongest(&powers).ok_or(NoRhythm::NothingRepeats)?;
        let line = fundamental(&powers, strongest);
        let cycles = line as f64 + offset(&powers, line);
        // Something repeats, but how fast cannot be said.
        let pace = self.pace(cycles / BINS as f64).ok_or(NoRhythm::TooFewSamples)?;
        let period = |frequency: f64| self.bin_ns / frequency;
        if pace.low <= 0.0 {
            return Err(NoRhythm::TooFewSamples);
        }
        Ok(Rhythm {
            period_ns: period(pace.frequency),
            low_ns: period(pace.high),
            high_ns: period(pace.low),
            cycles: (pace.frequency * BINS as f64) as u64,
            samples: self.frames,
            shortest_ns: LEAST_BINS as f64 * self.bin_ns,
        })
    }

    /// The time of a datagram on average, in bins.
    fn datagram(&self) -> f64 {
        let all: f64 = self.spans.iter().map(|span| span.until - span.from).sum();
        all / self.spans.len().max(1) as f64
    }

    /// Frequency per bin, and its interval.
    fn pace(&self, guess: f64) -> Option<Pace> {
        let mut pace = Pace { frequency: guess, low: 0.0, high: f64::INFINITY };
        for _ in 0..3 {
            pace = self.refined(pace.frequency)?;
        }
        (pace.frequency > 0.0).then_some(pace)
    }

    /// The same from the drift of phases at a frequency. Parts have whole numbers of periods, as few as leave
    /// no doubt by how many turns a phase has moved.
    fn refined(&self, frequency: f64) -> Option<Pace> {
        let cycles = frequency * BINS as f64;
        if cycles < LEAST_CYCLES as f64 {
            return None;
        }
        let most = MOST_PARTS.min(self.frames as f64 / FRAMES_OF_PART);
        let mut of_part = (cycles / most).ceil().max(1.0);
        loop {
            let waves = waves::in_parts(&self.spans, frequency, of_part);
            let phases = unwound(with_traffic(&waves));
            if phases.len() < LEAST_PARTS {
                return None;
            }
            if has_no_turn_more(&phases) {
                // From the first start to the last one. The first datagram took as long as others.
                let passed = (frequency * (BINS as f64 + self.datagram())).floor();
                let reach = (passed / of_part).max(phases.len() as f64 - 1.0);
                let Drift { slope, low, high } = drift(&phases, reach, of_part)?;
                let shifted = |by: f64| frequency + by * frequency / of_part / TAU;
                let [frequency, low, high] = [slope, low, high].map(shifted);
                return Some(Pace { frequency, low, high });
            }
            of_part = (1.5 * of_part).ceil();
        }
    }
}

/// The phases of waves, each within half a turn of the one before.
fn unwound(waves: &[Complex]) -> Vec<f64> {
    let mut phases: Vec<f64> = Vec::with_capacity(waves.len());
    for [re, im] in waves {
        let phase = im.atan2(*re);
        let before = phases.last().copied().unwrap_or(phase);
        phases.push(before + (phase - before + PI).rem_euclid(TAU) - PI);
    }
    phases
}

/// Whether phases move so little that none can have made a turn more.
fn has_no_turn_more(phases: &[f64]) -> bool {
    let moves = || phases.windows(2).filter_map(|pair| Some(pair.get(1)? - pair.first()?));
    let count = moves().count().max(1) as f64;
    let mean = moves().sum::<f64>() / count;
    let scatter = (moves().map(|by| (by - mean).powi(2)).sum::<f64>() / count).sqrt();
    scatter < LARGEST_SCATTER && moves().all(|by| by.abs() < LARGEST_MOVE)
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

/// A frequency per bin, and its interval.
struct Pace {
    frequency: f64,
    low: f64,
    high: f64,
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
