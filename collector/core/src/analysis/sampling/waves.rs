//! The wave of a frequency in parts of the time, exactly: each datagram's packets count in equal parts for all
//! of its time, and no bins blur where a part begins.

use std::f64::consts::TAU;

use super::spectrum::Complex;

/// Packets that passed at some time between two.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    /// Since the start of the window, in bins.
    pub(super) from: f64,
    /// The same.
    pub(super) until: f64,
    /// How many.
    pub(super) frames: f64,
}

/// The shortest time that packets count for, in bins.
const SHORTEST: f64 = 1e-6;

/// The wave of a frequency (per bin) in parts of `of_part` periods. They begin and end where traffic is quiet: what
/// was drawn of a period before the first of them, or of the last one, is no whole period, and its middle would
/// be elsewhere.
pub(super) fn in_parts(spans: &[Span], frequency: f64, of_part: f64) -> Vec<Complex> {
    let Some(end) = spans.iter().map(|span| span.until).reduce(f64::max) else { return Vec::new() };
    let [re, im] = spans.iter().fold([0.0, 0.0], |sum, span| {
        added(sum, wave(frequency, span.from, span.until, span.frames))
    });
    // Traffic at a time has minus this time as its phase.
    let busy = (-im.atan2(re) / TAU).rem_euclid(1.0) / frequency;
    let quiet = busy - 0.5 / frequency;
    let first = if quiet < 0.0 { quiet + 1.0 / frequency } else { quiet };
    let part = of_part / frequency;
    let count = ((end - first) / part) as usize;
    let mut waves = vec![[0.0, 0.0]; count];
    for span in spans {
        let length = (span.until - span.from).max(SHORTEST);
        let at = |time: f64| ((time - first) / part).max(0.0) as usize;
        let (from, last) = (at(span.from), at(span.from + length));
        for (at, sum) in waves.iter_mut().enumerate().take(last + 1).skip(from) {
            let start = span.from.max(first + at as f64 * part);
            let stop = (span.from + length).min(first + (at + 1) as f64 * part);
            let share = ((stop - start) / length).clamp(0.0, 1.0);
            *sum = added(*sum, wave(frequency, start, stop, span.frames * share));
        }
    }
    waves
}

/// The wave of packets in equal parts of a time.
fn wave(frequency: f64, from: f64, until: f64, frames: f64) -> Complex {
    let half = TAU * frequency * (until - from).max(0.0) / 2.0;
    let faded = if half < 1e-9 { 1.0 } else { half.sin() / half };
    let angle = -TAU * (frequency * (from + until) / 2.0).fract();
    [frames * faded * angle.cos(), frames * faded * angle.sin()]
}

fn added([a, b]: Complex, [c, d]: Complex) -> Complex {
    [a + c, b + d]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bursts at 3, 13, 23, ... bins: parts hold whole bursts, and all have the same phase.
    #[test]
    fn parts_hold_whole_bursts() {
        let burst = |at: i32| Span {
            from: 10.0 * f64::from(at) + 2.0,
            until: 10.0 * f64::from(at) + 4.0,
            frames: 6.0,
        };
        let spans: Vec<Span> = (0..12).map(burst).collect();
        let waves = in_parts(&spans, 0.1, 2.0);
        assert_eq!(waves.len(), 5);
        for [re, im] in waves {
            assert!((re.hypot(im) - 12.0 * (0.1 * TAU).sin() / (0.1 * TAU)).abs() < 1e-9);
            assert!((im.atan2(re) + 0.3 * TAU).abs() < 1e-9);
        }
    }
}
