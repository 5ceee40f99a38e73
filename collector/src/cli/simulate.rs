//! `railscope simulate`: captures, counters and the truth of a job on a fabric in virtual time.

use std::fs;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, anyhow, ensure};
use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use railscope_drive::clock;
use railscope_drive::simulate::run::{Summary, run as simulate};
use railscope_drive::simulate::scenario::Scenario;
use railscope_drive::simulate::scenario::gallery::{self, Exhibit};

/// Options of `railscope simulate`, as typed.
#[derive(Args)]
#[command(after_help = "\
A scenario is a TOML file with hosts, switches, jobs, faults and capture points. The same scenario \
and seed give the same files, byte for byte. To write one, start from a similar one with --show; unknown \
keys are refused.

Examples:
  railscope simulate --list                          list the gallery
  railscope simulate loss                            write to the folder loss
  railscope analyze loss/*.pcapng --counters loss/counters.jsonl
  railscope simulate --show loss > mine.toml         start from it, change it,
  railscope simulate mine.toml --out mine --seed 7   and simulate it

Files: one pcapng per tap, counters.jsonl (NIC counters, every 10 ms), truth.jsonl (what truly \
happened; truth.job1.jsonl for a second job).")]
pub(super) struct SimulateArgs {
    /// A TOML file, or the name of a gallery scenario
    #[arg(required_unless_present_any = ["list", "show"])]
    scenario: Option<String>,
    /// Output folder [default: the scenario's name]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Random seed [default: the scenario's]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Bytes captured of each RoCE frame [default: the scenario's, 128]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(96..=65_535))]
    snaplen: Option<u32>,
    /// List the gallery
    #[arg(long, exclusive = true)]
    list: bool,
    /// Print a gallery scenario
    #[arg(long, value_name = "NAME", exclusive = true)]
    show: Option<String>,
}

pub(super) fn run(args: &SimulateArgs) -> anyhow::Result<()> {
    if args.list {
        return list();
    }
    if let Some(name) = &args.show {
        let exhibit = gallery::exhibit(name).ok_or_else(|| anyhow!(unknown(name)))?;
        return print(exhibit.toml);
    }
    let (mut scenario, name) = load(args.scenario.as_deref().unwrap_or_default())?;
    scenario.seed = args.seed.unwrap_or(scenario.seed);
    scenario.capture.snaplen = args.snaplen.unwrap_or(scenario.capture.snaplen);
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from(name));
    ensure!(
        !out.join("truth.jsonl").exists(),
        "folder {} already holds a job: choose a new one with --out",
        out.display()
    );
    let bar = bar();
    let began = clock::now();
    let summary = simulate(&scenario, &out, &mut |share| {
        bar.set_position((share * BAR_LENGTH as f64) as u64);
    });
    bar.finish_and_clear();
    print(&summary_text(&scenario, &summary?, &out, began.elapsed()))
}

/// Steps of the progress bar.
const BAR_LENGTH: u64 = 10_000;

fn bar() -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar =
        ProgressBar::with_draw_target(Some(BAR_LENGTH), ProgressDrawTarget::stderr_with_hz(8));
    let style = ProgressStyle::with_template("{wide_bar} {percent} % {eta} left");
    // The template is fixed and correct; a plain bar would do as well.
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.enable_steady_tick(Duration::from_millis(250));
    bar
}

/// The result, and the next command to run.
fn summary_text(scenario: &Scenario, summary: &Summary, out: &Path, took: Duration) -> String {
    let Summary { frames, duration_ns, hops, failures } = summary;
    let virtual_time = *duration_ns as f64 / 1e9;
    let seconds = took.as_secs_f64();
    let rate = *hops as f64 / seconds.max(1e-9) / 1e6;
    let folder = out.display();
    let mut text = format!(
        "{}\n{folder}: {frames} frames, {virtual_time:.3} s of virtual time, {hops} packet-hops in \
         {seconds:.1} s ({rate:.1} million a second)\n",
        scenario.title
    );
    for failure in failures {
        text.push_str(&format!("{failure}; its output after that is missing\n"));
    }
    text.push_str(&format!(
        "\nNext:  railscope analyze {folder}/*.pcapng --counters {folder}/counters.jsonl\n"
    ));
    text
}

/// The scenario, and the name of its folder.
fn load(asked: &str) -> anyhow::Result<(Scenario, String)> {
    if let Some(exhibit) = gallery::exhibit(asked) {
        return Ok((parse(exhibit.toml, asked)?, asked.to_owned()));
    }
    let path = Path::new(asked);
    let is_file = path.extension().is_some() || path.exists();
    ensure!(is_file, "{}", unknown(asked));
    let text = fs::read_to_string(path).with_context(|| format!("read scenario {asked}"))?;
    let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    Ok((parse(&text, asked)?, name.unwrap_or_default()))
}

fn parse(toml: &str, name: &str) -> anyhow::Result<Scenario> {
    Scenario::parse(toml).map_err(|what| anyhow!("{name}: {}", what.trim_end()))
}

fn unknown(name: &str) -> String {
    format!(
        "`{name}` is neither a file nor a gallery scenario; list them with railscope simulate --list"
    )
}

fn list() -> anyhow::Result<()> {
    let width = gallery::all().map(|exhibit| exhibit.name.len()).max().unwrap_or(0);
    let lines = gallery::all().map(|Exhibit { name, toml }| {
        let title = parse(toml, name)?.title;
        Ok(format!("{name:<width$}  {title}\n"))
    });
    print(&lines.collect::<anyhow::Result<String>>()?)
}

fn print(text: &str) -> anyhow::Result<()> {
    anstream::stdout().write_all(text.as_bytes()).context("write to standard output")
}
