//! `cargo xtask incidents`: jobs with one main fault, drawn from seeds, and healthy ones; whether the
//! first verdict names the fault, its place and its direction.
//!
//! Even seeds are for development, odd ones for judging.

mod clean;
pub(crate) mod contribution;
pub(crate) mod document;
pub(crate) mod draw;
pub(crate) mod hang;
pub(crate) mod interval;
pub(crate) mod judge;
pub(crate) mod kind;
pub(crate) mod make;
mod pcapng;
pub(crate) mod rival;

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result, ensure};

use self::draw::Drawn;
use self::judge::{Mark, Said};
use self::kind::Kind;
use self::make::Inputs;
use crate::repository::{build_railscope, command, root};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Of these kinds [default: all]
    #[arg(value_name = "KIND")]
    kinds: Vec<String>,
    /// Jobs of each kind
    #[arg(long, default_value_t = 4, value_name = "N")]
    seeds: u64,
    /// Use the seeds that are kept for judging
    #[arg(long)]
    judging: bool,
    /// The profile of cargo that railscope is built with
    #[arg(long, default_value = "release")]
    profile: String,
    /// Instead, count how often chance names a rank in clean jobs
    #[arg(long, conflicts_with_all = ["kinds", "contributions"])]
    clean: bool,
    /// Instead, compare what is said to make training steps long with what did
    #[arg(long, conflicts_with = "kinds")]
    contributions: bool,
    /// Instead, jobs that hang: what `railscope explain --hang` says, by evidence
    #[arg(long, conflicts_with_all = ["clean", "contributions"])]
    hangs: bool,
    /// Play the hangs to agents in real time, as root
    #[arg(long, requires = "hangs", conflicts_with = "keep")]
    live: bool,
    /// Leave captures in target/incidents, and use those that an earlier run left for the same scenario
    #[arg(long)]
    keep: bool,
}

/// One judged job.
pub(crate) struct Judged {
    pub(crate) kind: Kind,
    mark: Mark,
    resends: Mark,
    timeline: Mark,
}

/// Jobs of each kind in SCORE.md: 256 incidents and 80 healthy jobs.
const PUBLISHED: [u64; 2] = [16, 10];

/// `cargo xtask incidents`.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    if options.clean {
        let counted = clean::measure(&build_railscope(&options.profile)?, options.judging)?;
        print!("{}", clean::section(&counted));
        return Ok(ExitCode::SUCCESS);
    }
    if options.contributions {
        let railscope = build_railscope(&options.profile)?;
        let errors = contribution::measure(&railscope, options.judging)?;
        print!("{}", contribution::section(&errors));
        return Ok(ExitCode::SUCCESS);
    }
    if options.hangs {
        let Options { kinds, seeds, judging, keep, .. } = options;
        let railscope = build_railscope(&options.profile)?;
        if options.live {
            let watched = hang::live::measure(&railscope, kinds, *seeds as usize, *judging)?;
            print!("{}", hang::live::table(&watched));
            return Ok(ExitCode::SUCCESS);
        }
        let judged = hang::measure(&railscope, kinds, |_| *seeds, *judging, *keep)?;
        print!("{}", hang::table(&judged));
        return Ok(ExitCode::SUCCESS);
    }
    let chosen: Vec<Kind> = Kind::ALL
        .into_iter()
        .filter(|kind| {
            options.kinds.is_empty() || options.kinds.iter().any(|name| name == kind.name())
        })
        .collect();
    for name in &options.kinds {
        ensure!(chosen.iter().any(|kind| kind.name() == name), "no kind `{name}`");
    }
    let jobs = jobs(&chosen, |_| options.seeds, options.judging);
    let judged = judge_all(&jobs, &options.profile, options.keep, false)?;
    println!("{:24} right  class  place  direction", "KIND");
    for kind in chosen {
        let of_kind: Vec<&Judged> = judged.iter().filter(|one| one.kind == kind).collect();
        let count = |is: fn(Mark) -> bool| of_kind.iter().filter(|one| is(one.mark)).count();
        println!(
            "{:24} {:>2}/{:<2}  {:>2}     {:>2}     {:>2}",
            kind.name(),
            count(Mark::is_right),
            of_kind.len(),
            count(|mark| mark.is_class_right),
            count(|mark| mark.is_place_right),
            count(|mark| mark.is_direction_right)
        );
    }
    let is_right = judged.iter().all(|one| one.mark.is_right());
    Ok(if is_right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Whether the first verdict is right on one job of each kind, and the first answer on two hangs of each,
/// of the seeds for development.
pub(crate) fn check(profile: &str) -> Result<bool> {
    let judged = judge_all(&jobs(&Kind::ALL, |_| 1, false), profile, false, false)?;
    let hangs = hang::check(&build_railscope(profile)?)?;
    Ok(hangs && judged.iter().all(|one| one.mark.is_right()))
}

/// Makes and judges the jobs that SCORE.md shows.
pub(crate) fn publish(profile: &str) -> Result<String> {
    let [of_incidents, of_healthy] = PUBLISHED;
    let seeds = |kind: Kind| if kind.is_healthy() { of_healthy } else { of_incidents };
    let judged = judge_all(&jobs(&Kind::ALL, seeds, true), profile, false, true)?;
    let railscope = build_railscope(profile)?;
    Ok(document::section(&judged)
        + &contribution::section(&contribution::measure(&railscope, true)?)
        + &clean::section(&clean::measure(&railscope, true)?)
        + &hang::section(&hang::publish(&railscope)?))
}

/// Kinds with seeds.
fn jobs(kinds: &[Kind], seeds: impl Fn(Kind) -> u64, judging: bool) -> Vec<(Kind, u64)> {
    let of_kind = |kind: &Kind| {
        let kind = *kind;
        (0..seeds(kind)).map(move |at| (kind, 2 * at + u64::from(judging)))
    };
    kinds.iter().flat_map(of_kind).collect()
}

/// Judges simulated jobs two at a time, then driven ones, which need the machine, one after the other.
fn judge_all(
    jobs: &[(Kind, u64)],
    profile: &str,
    is_kept: bool,
    with_rivals: bool,
) -> Result<Vec<Judged>> {
    let railscope = build_railscope(profile)?;
    let is_driven = |(kind, _): &&(Kind, u64)| kind.is_driven();
    let (driven, simulated): (Vec<_>, Vec<_>) = jobs.iter().partition(is_driven);
    let mut judged = workers(2, &simulated, |_, (kind, seed)| {
        one(&railscope, *kind, *seed, is_kept, with_rivals)
    })?;
    for (kind, seed) in driven {
        judged.push(one(&railscope, kind, seed, is_kept, with_rivals)?);
    }
    Ok(judged)
}

/// The results of `work` on all `items`, in their order, so many at a time.
pub(crate) fn workers<T: Sync, R: Send>(
    count: usize,
    items: &[T],
    work: impl Fn(usize, &T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let next = AtomicUsize::new(0);
    let work_off = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { return Ok(done) };
            done.push((at, work(at, item)?));
        }
    };
    let done: Result<Vec<Vec<(usize, R)>>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..count).map(|_| scope.spawn(work_off)).collect();
        let results = threads.into_iter().map(|thread| match thread.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        results.collect()
    });
    let mut done: Vec<(usize, R)> = done?.into_iter().flatten().collect();
    done.sort_by_key(|(at, _)| *at);
    Ok(done.into_iter().map(|(_, result)| result).collect())
}

/// Makes a job in `folder`; its files, and the report on them.
fn analyze(railscope: &Path, drawn: &Drawn, folder: &Path) -> Result<(Inputs, Vec<u8>)> {
    let inputs = make::make(railscope, drawn, folder)?;
    let mut analyze = command(railscope);
    analyze.args(["analyze", "--format", "json"]).args(&inputs.captures);
    for log in &inputs.logs {
        analyze.arg("--nccl-log").arg(log);
    }
    if let Some(counters) = &inputs.counters {
        analyze.arg("--counters").arg(counters);
    }
    let document = make::output_of(analyze)?;
    Ok((inputs, document))
}

/// Makes, analyses and judges one job.
fn one(
    railscope: &Path,
    kind: Kind,
    seed: u64,
    is_kept: bool,
    with_rivals: bool,
) -> Result<Judged> {
    let folder = root().join("target/incidents").join(kind.name()).join(seed.to_string());
    let judged = judge_in(railscope, kind, seed, with_rivals, &folder)
        .with_context(|| format!("{}, seed {seed}", kind.name()))?;
    if !is_kept {
        fs::remove_dir_all(&folder).with_context(|| format!("remove {}", folder.display()))?;
    }
    Ok(judged)
}

fn judge_in(
    railscope: &Path,
    kind: Kind,
    seed: u64,
    with_rivals: bool,
    folder: &Path,
) -> Result<Judged> {
    let drawn = draw::draw(kind, seed);
    let (inputs, document) = analyze(railscope, &drawn, folder)?;
    let path = folder.join("report.json");
    fs::write(&path, &document).with_context(|| format!("write {}", path.display()))?;
    let said: Said = serde_json::from_slice(&document).context("read the report")?;
    let Drawn { expected, second, .. } = &drawn;
    let mark = judge::judge_report(&said, expected);
    if !mark.is_right() {
        let first = said.verdicts.first();
        let said = first.map_or("nothing".to_owned(), |one| format!("{}: {}", one.id, one.title));
        let more = second.as_ref().map(|second| format!(", also {second}")).unwrap_or_default();
        eprintln!("{} {seed}: expected {expected:?}{more}\n    said {said}", kind.name());
    }
    let [resends, timeline] = match with_rivals {
        true => [
            judge::judge(rival::resend_alert(&said).as_ref(), expected),
            judge::judge(rival::timeline(&inputs)?.as_ref(), &judge::coarse(expected)),
        ],
        false => [Mark::default(); 2],
    };
    Ok(Judged { kind, mark, resends, timeline })
}
