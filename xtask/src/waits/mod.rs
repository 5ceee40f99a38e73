//! `cargo xtask waits`: driven jobs with a profiler plugin in each rank. What packets show of waits, what
//! the plugin recorded and what truly happened are compared, edge by edge, and who is named.

mod edge;
mod job;
mod named;
mod report;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};

use anyhow::{Context, Result, ensure};

use self::edge::{Edges, FIGURES};
use self::job::{JOBS, Job};
use self::named::Named;
use self::report::Report;
use crate::folder::files;
use crate::repository::{build_profiler, build_railscope, command, root};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Jobs to run [default: all]
    #[arg(value_name = "JOB", value_parser = JOBS.map(|job| job.name))]
    jobs: Vec<String>,
    /// Fail if packets or plugin contradict the truth
    #[arg(long)]
    check: bool,
    /// Write the table into docs/waits.md
    #[arg(long, conflicts_with = "jobs")]
    write: bool,
    /// The profile of cargo that railscope and its plugin are built with
    #[arg(long, default_value = "release")]
    profile: String,
    /// Use this program, and the plugin beside it, instead of building them
    #[arg(long, value_name = "FILE", conflicts_with = "profile")]
    program: Option<PathBuf>,
}

/// The page with the table, and the lines around it.
const PAGE: &str = "docs/waits.md";
const BEGIN: &str = "<!-- cargo xtask waits --write -->\n";
const END: &str = "<!-- end -->\n";

/// Two figures agree if they differ by less than this share, or by this many milliseconds.
const SHARE: f64 = 0.05;
const LEAST_MS: f64 = 1.0;

/// One job, as the three show it.
struct Outcome {
    job: &'static Job,
    edges: [Edges; 3],
    packets: Named,
    plugin: Named,
    together: Named,
}

/// `cargo xtask waits`.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let (railscope, plugin) = programs(options)?;
    let is_meant =
        |name: &str| options.jobs.is_empty() || options.jobs.iter().any(|one| one == name);
    let mut outcomes = Vec::new();
    for job in JOBS.iter().filter(|job| is_meant(job.name)) {
        eprintln!("{}", job.name);
        let outcome = play(&railscope, &plugin, job).with_context(|| job.name.to_owned())?;
        outcomes.push(outcome);
    }
    let table = table(&outcomes);
    print!("{table}");
    let problems: Vec<String> = outcomes.iter().flat_map(problems).collect();
    problems.iter().for_each(|problem| eprintln!("{problem}"));
    if options.write {
        write(&table)?;
    }
    let is_wrong = options.check && !problems.is_empty();
    Ok(if is_wrong { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn programs(options: &Options) -> Result<(PathBuf, PathBuf)> {
    match &options.program {
        Some(program) => {
            let railscope = program.canonicalize().context("find the program")?;
            let plugin = railscope.with_file_name("libnccl_profiler_railscope.so");
            ensure!(plugin.exists(), "{} is not there", plugin.display());
            Ok((railscope, plugin))
        }
        None => Ok((build_railscope(&options.profile)?, build_profiler(&options.profile)?)),
    }
}

/// Runs a job and reads its captures, its profiles, and both.
fn play(railscope: &Path, plugin: &Path, job: &'static Job) -> Result<Outcome> {
    let folder = root().join("target/waits").join(job.name);
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("empty {}", folder.display()))?;
    }
    let mut drive = command(railscope);
    drive.args(["drive", "--record"]).arg(&folder).arg("--profiler").arg(plugin);
    drive.args(job.options.split_whitespace()).stdin(Stdio::null());
    let output = drive.output().context("start railscope")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{drive:?}: {}: {}", output.status, said.trim());
    let captures = files(&folder, "pcap")?;
    let profiles = files(&folder.join("profiles"), "railprof")?;
    let both: Vec<PathBuf> = captures.iter().chain(&profiles).cloned().collect();
    let by_packets = Report::of(railscope, &captures)?;
    let by_plugin = Report::of(railscope, &profiles)?;
    let together = Report::of(railscope, &both)?;
    let truth = fs::read_to_string(folder.join("truth.jsonl")).context("read the truth")?;
    Ok(Outcome {
        job,
        edges: [edge::by_packets(&by_packets), edge::by_plugin(&by_plugin), edge::truly(&truth)?],
        packets: named::by_packets(&by_packets),
        plugin: named::by_plugin(&by_plugin),
        together: named::by_packets(&together),
    })
}

fn agree(one: f64, other: f64) -> bool {
    (one - other).abs() <= LEAST_MS.max(SHARE * one.max(other))
}

/// What does not agree, in words.
fn problems(outcome: &Outcome) -> Vec<String> {
    let name = outcome.job.name;
    let mut problems = Vec::new();
    let [packets, plugin, truth] = &outcome.edges;
    for (edge, true_figures) in truth {
        for (place, figure) in FIGURES.iter().enumerate() {
            let Some(wanted) = true_figures[place] else { continue };
            for (witness, known) in [("packets", packets), ("plugin", plugin)] {
                let found = known.get(edge).and_then(|figures| figures[place]);
                // Packets are on the wire before a proxy looks, and end before it has looked.
                let is_within = |found: f64| witness == "packets" && found <= wanted;
                if found.is_none_or(|found| !agree(found, wanted) && !is_within(found)) {
                    problems.push(format!(
                        "{name}: {figure} of {} → {}: {witness} {found:.3?} ms, truly {wanted:.3} ms",
                        edge.0, edge.1
                    ));
                }
            }
        }
    }
    for (witness, named) in
        [("packets", outcome.packets), ("plugin", outcome.plugin), ("both", outcome.together)]
    {
        // Profiles name no path where it costs little, and nobody whom less than a tenth of the time was
        // waited for: silence on the network is no contradiction.
        let is_silent = outcome.job.truth == Named::Network && named == Named::Nobody;
        if named != outcome.job.truth && !(is_silent && witness == "plugin") {
            problems.push(format!("{name}: {witness}: {named}, truly {}", outcome.job.truth));
        }
    }
    problems
}

/// The three waits of the edge of a job on which the witnesses differ most, and who was named.
fn table(outcomes: &[Outcome]) -> String {
    let mut text = String::from(
        "| job | edges | data | room | network | truth | packets | plugin | both |\n\
         |---|--:|--:|--:|--:|---|---|---|---|\n",
    );
    for outcome in outcomes {
        let [packets, plugin, truth] = &outcome.edges;
        let _ = write!(text, "| {} | {}", outcome.job.name, truth.len());
        for place in 0..FIGURES.len() {
            let figures = truth.iter().filter_map(|(edge, true_figures)| {
                let of = |known: &Edges| known.get(edge).and_then(|figures| figures[place]);
                Some([of(packets)?, of(plugin)?, true_figures[place]?])
            });
            let spread = |[packets, plugin, truth]: &[f64; 3]| {
                (packets - truth).abs().max((plugin - truth).abs())
            };
            let worst = figures.max_by(|one, other| spread(one).total_cmp(&spread(other)));
            match worst {
                Some([packets, plugin, truth]) => {
                    let _ = write!(text, " | {packets:.2} / {plugin:.2} / {truth:.2}");
                }
                None => text.push_str(" | "),
            }
        }
        let Outcome { job, packets, plugin, together, .. } = outcome;
        let _ = writeln!(text, " | {} | {packets} | {plugin} | {together} |", job.truth);
    }
    text
}

fn write(table: &str) -> Result<()> {
    let path = root().join(PAGE);
    let text = fs::read_to_string(&path).context(PAGE)?;
    let parts = text.split_once(BEGIN).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(END)?;
        Some((before, after))
    });
    let (before, after) = parts.with_context(|| format!("{PAGE} has no place for the table"))?;
    fs::write(&path, format!("{before}{BEGIN}{table}{END}{after}")).context(PAGE)
}
