//! Pairs of simulated jobs. The simulator's noise is each rank's and each step's own; correlated steps
//! are made up.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::{Options, SLOWER, Tally, compare, output};
use crate::repository::command;

/// How compute varies.
pub(super) struct Noise {
    pub(super) name: &'static str,
    jitter_us: u32,
    shape: &'static str,
}

/// 5 % of 8 ms of compute in the last two: several times the default, as of data that differs in length.
pub(super) const NOISES: &[Noise] = &[
    Noise { name: "simulated, even, 200 us", jitter_us: 200, shape: "uniform" },
    Noise { name: "simulated, normal, 400 us", jitter_us: 400, shape: "normal" },
    Noise { name: "simulated, heavy tail, 200 us", jitter_us: 200, shape: "heavy_tailed" },
];

/// Compute time of a training step, ns.
const COMPUTE_NS: u32 = 8_000_000;

pub(super) fn measure(
    railscope: &Path,
    noise: &Noise,
    options: &Options,
    folder: &Path,
) -> Result<Tally> {
    let job = |name: &str, seed: u64, compute_ns: u32| {
        simulate(railscope, noise, options.iterations, folder, name, seed, compute_ns)
    };
    let mut tally = Tally::default();
    // A job for the length of a training step, of which 5 % are a part of the truth.
    let first = job("first", 0, COMPUTE_NS)?;
    let said = compare(railscope, &first, &first)?;
    let usual = said.answer.and_then(|answer| answer.before).context("no training steps")?.mean;
    let truth_ns = SLOWER * usual;
    for at in 0..options.pairs {
        let seed = options.seed + 3 * at;
        let before = job("before", seed, COMPUTE_NS)?;
        let after = job("after", seed + 1, COMPUTE_NS)?;
        let slower = job("slower", seed + 2, COMPUTE_NS + truth_ns as u32)?;
        let equal = compare(railscope, &before, &after)?;
        let more = compare(railscope, &before, &slower)?;
        tally.add(&equal, &more, truth_ns, options.iterations)?;
    }
    Ok(tally)
}

/// The report of a job of four hosts.
fn simulate(
    railscope: &Path,
    noise: &Noise,
    iterations: u32,
    folder: &Path,
    name: &str,
    seed: u64,
    compute_ns: u32,
) -> Result<PathBuf> {
    let Noise { jitter_us, shape, .. } = noise;
    // The first and the last training step are not compared.
    let scenario = format!(
        "title = \"a job\"\n[[job]]\niterations = {}\nbuckets = [\"64K\", \"32K\"]\n\
         compute = \"{compute_ns}ns\"\njitter = \"{jitter_us}us\"\njitter_shape = \"{shape}\"\n",
        iterations + 1
    );
    let path = folder.join([name, ".toml"].concat());
    fs::write(&path, scenario).with_context(|| format!("write {}", path.display()))?;
    let captures = folder.join(name);
    let mut simulate = command(railscope);
    simulate.arg("simulate").arg(&path).args(["--seed", &seed.to_string(), "--out"]).arg(&captures);
    output(&mut simulate)?;
    let mut analyze = command(railscope);
    analyze.args(["analyze", "--format", "json"]);
    let entries = fs::read_dir(&captures).context("list captures")?;
    let mut files: Vec<PathBuf> = entries.map(|one| Ok(one?.path())).collect::<Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "pcapng"));
    files.sort();
    let report = folder.join([name, ".json"].concat());
    fs::write(&report, output(analyze.args(files))?).context("write the report")?;
    fs::remove_dir_all(&captures).context("remove captures")?;
    Ok(report)
}
