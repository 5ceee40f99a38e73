//! Iterations whose lengths are known, and packets drawn from them.

use std::ops::Range;

use super::*;

/// A generator of pseudo-random numbers (xorshift).
struct Random(u64);

impl Random {
    fn even(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Iterations of a job: how long they take, and how their traffic is spread.
#[derive(Clone, Copy, Debug)]
struct Iterations {
    period_ns: f64,
    /// Share by which steps differ.
    jitter: f64,
    count: usize,
    /// Share of a step in which packets pass.
    busy: f64,
    /// Packets drawn a step, on average.
    drawn: f64,
    /// Packets of a datagram.
    full: u32,
}

const USUAL: Iterations =
    Iterations { period_ns: 200e6, jitter: 0.01, count: 100, busy: 0.4, drawn: 40.0, full: 8 };

/// Arrivals, and the mean length of the iterations.
fn draw(iterations: &Iterations, random: &mut Random) -> (Vec<Arrival>, f64) {
    let mut times = Vec::new();
    let mut start = 1e9;
    let mut last = start;
    for _ in 0..iterations.count {
        last = start;
        let mut time = 0.0;
        loop {
            time -= iterations.period_ns * iterations.busy / iterations.drawn
                * random.even().max(1e-12).ln();
            if time > iterations.period_ns * iterations.busy {
                break;
            }
            times.push(start + time);
        }
        start += iterations.period_ns
            * (1.0 + iterations.jitter * (2.0 * random.even() - 1.0) * 3_f64.sqrt());
    }
    let mut arrivals = Vec::new();
    let (mut before, mut held) = (1e9, 0);
    // Datagrams leave when they are full, and once a second.
    for (at, time) in times.iter().enumerate() {
        held += 1;
        let next = times.get(at + 1).copied().unwrap_or(f64::INFINITY);
        if held == iterations.full || next > before + 1e9 {
            let until = if held == iterations.full { *time } else { before + 1e9 };
            let moment = |nanos: f64| Timestamp::from_nanos(nanos as u64);
            arrivals.push(Arrival { after: moment(before), until: moment(until), frames: held });
            (before, held) = (until, 0);
        }
    }
    // Where the last step ends does not show.
    (arrivals, (last - 1e9) / (iterations.count - 1) as f64)
}

/// Of the jobs with these seeds: how many have a rhythm, how many of them the right one, how many intervals hold
/// the truth; and half the length of an interval, by the truth.
fn measure(iterations: &Iterations, seeds: Range<u64>) -> (usize, usize, usize, f64) {
    let (mut found, mut right, mut held, mut half) = (0, 0, 0, 0.0);
    for seed in seeds {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        (0..8).for_each(|_| _ = random.even());
        let period_ns = iterations.period_ns * (0.8 + 0.4 * random.even());
        let (arrivals, truth) = draw(&Iterations { period_ns, ..*iterations }, &mut random);
        let Ok(rhythm) = find(arrivals.into_iter()) else { continue };
        found += 1;
        right += usize::from((rhythm.period_ns / truth - 1.0).abs() < 0.03);
        held += usize::from(rhythm.low_ns <= truth && truth <= rhythm.high_ns);
        half += (rhythm.high_ns - rhythm.low_ns) / 2.0 / truth;
    }
    (found, right, held, half / found.max(1) as f64)
}

#[test]
fn iterations_are_found_and_their_length_is_held() {
    let kinds = [
        USUAL,
        Iterations { jitter: 0.0, ..USUAL },
        Iterations { jitter: 0.03, ..USUAL },
        Iterations { drawn: 400.0, ..USUAL },
        Iterations { drawn: 10.0, full: 4, ..USUAL },
        Iterations { drawn: 4000.0, count: 30, ..USUAL },
        Iterations { period_ns: 2e9, count: 60, ..USUAL },
        Iterations { count: 12, ..USUAL },
    ];
    for iterations in kinds {
        let (found, right, held, half) = measure(&iterations, 1..301);
        assert!(found >= 295 && right * 100 >= found * 98, "{iterations:?}: {found}, {right}");
        // Four standard deviations of 300 jobs are 5 points; `cargo xtask sampled` measures more of them.
        assert!(
            held * 100 >= found * 90 && half < 0.02,
            "{iterations:?}: {held} of {found}, {half}"
        );
    }
}

#[test]
#[ignore = "prints a table of docs/sflow.md: cargo test --release -p railscope-core rhythm -- --ignored --nocapture"]
fn table_of_made_up_jobs() {
    let row = |count, drawn, jitter| {
        let usual = Iterations { period_ns: 100e6, busy: 0.1, full: 7, ..USUAL };
        let (found, _, held, half) =
            measure(&Iterations { count, drawn, jitter, ..usual }, 1..1001);
        let share = 100.0 * held as f64 / found as f64;
        println!(
            "| {count} | {drawn} | {} % | {found} | {share:.1} % | {:.3} % |",
            100.0 * jitter,
            100.0 * half
        );
    };
    for jitter in [0.0, 0.003, 0.01, 0.03, 0.1] {
        row(200, 8.0, jitter);
        row(200, 40.0, jitter);
        row(40, 400.0, jitter);
    }
}

#[test]
fn steady_traffic_has_no_rhythm() {
    let steady = Iterations { busy: 1.0, jitter: 0.0, drawn: 200.0, ..USUAL };
    let (found, ..) = measure(&steady, 1000..1300);
    assert!(found <= 3, "{found}");
}

#[test]
fn few_samples_are_no_rhythm() {
    let few = Iterations { count: 10, drawn: 3.0, ..USUAL };
    let (arrivals, _) = draw(&few, &mut Random(77));
    assert_eq!(find(arrivals.into_iter()), Err(NoRhythm::TooFewSamples));
}
