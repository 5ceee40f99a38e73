//! `cargo xtask incidents --hangs`: jobs that hang, and jobs that only stand still for a while, each
//! judged with more and more evidence.

pub(crate) mod draw;
mod judge;
pub(crate) mod kind;
pub(super) mod live;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use self::judge::Said;
use self::kind::HangKind;
use super::draw::Drawn;
use super::make::{self, Inputs};
use super::{interval, pcapng, workers};
use crate::repository::{command, root};

/// What is read of a job: of one host, its captures, or all of them; then the counters of all NICs, two
/// answers of RAS, and the dumps of all ranks that write one.
const COLUMNS: [&str; 5] = ["one host", "all hosts", "+ counters", "+ RAS", "+ flight recorder"];

/// One judged job: whether the answer is right, by column.
pub(super) struct Judged {
    kind: HangKind,
    is_right: [bool; COLUMNS.len()],
}

/// Makes and judges so many jobs of every kind, or of those named.
///
/// # Errors
///
/// A job cannot be made, or a kind is unknown.
pub(super) fn measure(
    railscope: &Path,
    names: &[String],
    seeds: impl Fn(HangKind) -> u64,
    is_judging: bool,
    is_kept: bool,
) -> Result<Vec<Judged>> {
    let is_chosen =
        |kind: &HangKind| names.is_empty() || names.iter().any(|name| name == kind.name());
    let kinds: Vec<HangKind> = HangKind::ALL.into_iter().filter(is_chosen).collect();
    for name in names {
        ensure!(kinds.iter().any(|kind| kind.name() == name), "no kind `{name}`");
    }
    let seed = |at: u64| 2 * at + u64::from(is_judging);
    let of_kind = |kind: &HangKind| {
        let kind = *kind;
        (0..seeds(kind)).map(move |at| (kind, seed(at)))
    };
    let jobs: Vec<(HangKind, u64)> = kinds.iter().flat_map(of_kind).collect();
    let (driven, simulated): (Vec<_>, Vec<_>) =
        jobs.into_iter().partition(|(kind, _)| kind.is_driven());
    // Driven jobs wait most of the time, but not beside simulations.
    let judge = |jobs: &[(HangKind, u64)]| {
        workers(2, jobs, |_, (kind, seed)| one(railscope, *kind, *seed, is_kept))
    };
    let mut judged = judge(&simulated)?;
    judged.extend(judge(&driven)?);
    Ok(judged)
}

/// Tries of a job that runs for real: the moment at which it breaks is never the same, and may leave nothing to
/// see. SCORE.md says how often.
const TRIES: usize = 3;

/// Whether everything together is right on two jobs of each kind.
pub(super) fn check(railscope: &Path) -> Result<bool> {
    let is_right = |judged: &Judged| judged.is_right.last() == Some(&true);
    let judged = measure(railscope, &[], |_| 2, false, false)?;
    let (real, simulated): (Vec<_>, Vec<_>) =
        judged.into_iter().partition(|one| one.kind.is_over_tcp());
    let mut wrong: Vec<String> =
        real.iter().filter(|one| !is_right(one)).map(|one| one.kind.name().to_owned()).collect();
    for _ in 1..TRIES {
        if wrong.is_empty() {
            break;
        }
        let again = measure(railscope, &wrong, |_| 2, false, false)?;
        wrong.retain(|name| again.iter().any(|one| one.kind.name() == name && !is_right(one)));
    }
    Ok(wrong.is_empty() && simulated.iter().all(is_right))
}

fn one(railscope: &Path, kind: HangKind, seed: u64, is_kept: bool) -> Result<Judged> {
    let folder = root().join("target/incidents/hang").join(kind.name()).join(seed.to_string());
    let judged = judge_in(railscope, kind, seed, &folder)
        .with_context(|| format!("{}, seed {seed}", kind.name()))?;
    if !is_kept {
        fs::remove_dir_all(&folder).with_context(|| format!("remove {}", folder.display()))?;
    }
    Ok(judged)
}

fn judge_in(railscope: &Path, kind: HangKind, seed: u64, folder: &Path) -> Result<Judged> {
    let drawn = draw::draw(kind, seed);
    let inputs = make(railscope, kind, &drawn, folder)?;
    let job = folder.join("job");
    let mut is_right = [false; COLUMNS.len()];
    for (column, is_right) in is_right.iter_mut().enumerate() {
        let said = explain(railscope, &inputs, column, &job)?;
        *is_right = said.mark(kind, &drawn.expected, column);
        if !*is_right {
            let Drawn { expected, second, .. } = &drawn;
            let (classes, host) = (&expected.classes, expected.host);
            let beside = second.as_deref().unwrap_or("nothing beside");
            eprintln!(
                "{} {seed}, {}: expected {classes:?} at {host:?} of {}, {beside}\n    said {}",
                kind.name(),
                COLUMNS.get(column).unwrap_or(&""),
                expected.ring,
                said.line()
            );
        }
    }
    Ok(Judged { kind, is_right })
}

/// Makes the job in `folder`, and takes away what nobody could have of it.
pub(crate) fn make(
    railscope: &Path,
    kind: HangKind,
    drawn: &Drawn,
    folder: &Path,
) -> Result<Inputs> {
    let inputs = make::make(railscope, drawn, folder)?;
    if kind == HangKind::CaptureStopped {
        stop(&inputs, drawn)?;
    }
    if let (HangKind::HostDead, Some(counters)) = (kind, &inputs.counters) {
        forget(counters, drawn)?;
    }
    Ok(inputs)
}

fn explain(railscope: &Path, inputs: &Inputs, column: usize, job: &Path) -> Result<Said> {
    let mut explain = command(railscope);
    explain.args(["explain", "--hang", "--format", "json"]);
    let of_one = if column == 0 { 1 } else { inputs.captures.len() };
    explain.args(inputs.captures.iter().take(of_one));
    if let (Some(counters), true) = (&inputs.counters, column >= 2) {
        explain.arg("--counters").arg(counters);
    }
    for answer in [0, 1].map(|number| job.join(format!("ras_{number}.json"))) {
        if column >= 3 && answer.exists() {
            explain.arg("--ras").arg(answer);
        }
    }
    let dumps = job.join("flight_recorder");
    if column >= 4 && dumps.exists() {
        explain.arg("--flight-recorder").arg(dumps.join("trace_*"));
    }
    serde_json::from_slice(&make::output_of(explain)?).context("read the answer")
}

/// Takes the counters of the sick host away: nobody can read them any more.
fn forget(counters: &Path, drawn: &Drawn) -> Result<()> {
    let own = format!("\"host\":\"host{}\"", drawn.expected.host.context("a host")?);
    let known = fs::read_to_string(counters).context("read counters")?;
    let left: Vec<&str> = known.lines().filter(|line| !line.contains(&own)).collect();
    fs::write(counters, left.join("\n") + "\n").context("write counters")
}

/// Ends the capture of the sick host a second and a half before the others.
fn stop(inputs: &Inputs, drawn: &Drawn) -> Result<()> {
    let host = drawn.expected.host.context("a host")?;
    let is_it = |path: &&PathBuf| {
        path.file_stem().is_some_and(|stem| stem == format!("host{host}").as_str())
    };
    let capture = inputs.captures.iter().find(is_it).context("its capture")?;
    pcapng::end_early(capture, 1_500_000_000)
}

/// The table.
pub(super) fn table(judged: &[Judged]) -> String {
    let mut text = format!("| kind | jobs | {} |\n| --- | --: |", COLUMNS.join(" | "));
    text += &" --: |".repeat(COLUMNS.len());
    text.push('\n');
    for (name, jobs) in groups(judged, |one| one.kind) {
        row(&mut text, &name, &jobs);
    }
    text
}

/// The rows of a table: all hangs, all that do not hang, each kind; those without a job are left out.
fn groups<T>(jobs: &[T], kind: impl Fn(&T) -> HangKind) -> Vec<(String, Vec<&T>)> {
    let (hangs, still): (Vec<&T>, Vec<&T>) =
        jobs.iter().partition(|one| kind(one).class().is_some());
    let mut rows =
        vec![("all hangs".to_owned(), hangs), ("all that do not hang".to_owned(), still)];
    for own in HangKind::ALL {
        let of_kind = jobs.iter().filter(|one| kind(one) == own).collect();
        rows.push((format!("`{}`", own.name()), of_kind));
    }
    rows.retain(|(_, jobs)| !jobs.is_empty());
    rows
}

fn row(text: &mut String, name: &str, judged: &[&Judged]) {
    let right = (0..COLUMNS.len()).map(|column| {
        let right = judged.iter().filter(|one| one.is_right.get(column) == Some(&true));
        right.count().to_string()
    });
    let right: Vec<String> = right.collect();
    let _ = writeln!(text, "| {name} | {} | {} |", judged.len(), right.join(" | "));
}

/// Judges the jobs that SCORE.md shows: so many of each class.
pub(super) fn publish(railscope: &Path) -> Result<Vec<Judged>> {
    measure(railscope, &[], |kind| kind.share(PUBLISHED), true, false)
}

/// Hangs of each class in SCORE.md, and jobs of each kind that do not hang.
const PUBLISHED: u64 = 20;

/// The part of SCORE.md.
pub(super) fn section(judged: &[Judged]) -> String {
    let hangs = || judged.iter().filter(|one| one.kind.class().is_some());
    let right = |column: usize| {
        let right = hangs().filter(|one| one.is_right.get(column) == Some(&true));
        interval::words(right.count(), hangs().count())
    };
    format!(
        "\n### Hangs\n\n\
         Jobs that stop for ever, 2 to 8 ranks, half of them with a healthy job beside; of one in three, frames\n\
         are cut at 144 bytes. `railscope explain --hang` is right if its first answer leaves the true class, of\n\
         at most two, with the right rank or port, and the right direction where only one is dead. The columns\n\
         add evidence: the capture of host 0 alone, of all hosts, counters of all NICs, two answers of RAS, and\n\
         the flight recorder dumps of the ranks that can write one. Packets do not show what was called: that\n\
         ranks disagree, only dumps tell. `cargo xtask incidents --hangs` judges the seeds for\n\
         development.\n\n{}\nRight: {} with the packets of all hosts, {} with everything.\n",
        table(judged),
        right(1),
        right(COLUMNS.len() - 1)
    )
}
