//! Reports with nothing but training steps, whose lengths follow a known law: correlated, drifting, with
//! outliers.

use std::f64::consts::TAU;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use fastrand::Rng;

use super::{Options, SLOWER, Tally, compare};

/// How training steps vary.
pub(super) struct Noise {
    pub(super) name: &'static str,
    /// Correlation of neighbours.
    correlation: f64,
    /// Standard deviation, or scale of the tail, by the usual length.
    size: f64,
    is_heavy: bool,
    /// A step in twenty takes half as long again: garbage collection, a checkpoint.
    has_outliers: bool,
}

const PLAIN: Noise =
    Noise { name: "", correlation: 0.0, size: 0.03, is_heavy: false, has_outliers: false };

pub(super) const NOISES: &[Noise] = &[
    Noise { name: "made up, normal, 3 %", ..PLAIN },
    Noise { name: "made up, heavy tail, 3 %", is_heavy: true, ..PLAIN },
    Noise { name: "made up, 3 %, neighbours correlated 0.3", correlation: 0.3, ..PLAIN },
    Noise { name: "made up, 3 %, neighbours correlated 0.6", correlation: 0.6, ..PLAIN },
    Noise {
        name: "made up, 1 %, 1 step in 20 takes 50 % more",
        size: 0.01,
        has_outliers: true,
        ..PLAIN
    },
];

/// Usual length of a training step, ns.
const USUAL: f64 = 10e6;

pub(super) fn measure(
    railscope: &Path,
    noise: &Noise,
    options: &Options,
    folder: &Path,
) -> Result<Tally> {
    let mut tally = Tally::default();
    let truth_ns = SLOWER * USUAL;
    for at in 0..options.made_up {
        let mut random = Rng::with_seed(options.seed + at);
        let mut report = |name: &str, extra: f64| {
            write(folder, name, &lengths(noise, options.iterations, extra, &mut random))
        };
        let before = report("before", 0.0)?;
        let after = report("after", 0.0)?;
        let slower = report("slower", truth_ns)?;
        let equal = compare(railscope, &before, &after)?;
        let more = compare(railscope, &before, &slower)?;
        tally.add(&equal, &more, truth_ns, options.iterations)?;
    }
    Ok(tally)
}

fn lengths(noise: &Noise, count: u32, extra: f64, random: &mut Rng) -> Vec<i64> {
    let mut draw = || {
        let even = 1.0 - random.f64();
        if noise.is_heavy {
            // Pareto's law of exponent 2.5, less its mean.
            return even.powf(-0.4) - 5.0 / 3.0;
        }
        (-2.0 * even.ln()).sqrt() * (TAU * random.f64()).cos()
    };
    let fresh = (1.0 - noise.correlation * noise.correlation).sqrt();
    let mut now = draw();
    let mut lengths = Vec::new();
    // The first and the last one are not compared.
    for _ in 0..count + 2 {
        lengths.push(USUAL * (1.0 + noise.size * now) + extra);
        now = noise.correlation * now + fresh * draw();
    }
    for length in &mut lengths {
        if noise.has_outliers && random.u32(0..20) == 0 {
            *length += 0.5 * USUAL;
        }
    }
    lengths.into_iter().map(|length| length as i64).collect()
}

fn write(folder: &Path, name: &str, lengths: &[i64]) -> Result<PathBuf> {
    let mut report = "{\"schema\":\"railscope.report/1\",\"iterations\":[".to_owned();
    let mut start = 0;
    for (at, length) in lengths.iter().enumerate() {
        let comma = if at > 0 { "," } else { "" };
        let end = start + length;
        // Writing to a String cannot fail.
        let _ =
            write!(report, "{comma}{{\"iteration\":{at},\"start_ns\":{start},\"end_ns\":{end}}}");
        start = end;
    }
    report.push_str("]}\n");
    let path = folder.join([name, ".json"].concat());
    fs::write(&path, report).with_context(|| format!("write {}", path.display()))?;
    Ok(path)
}
