//! The command line: parses options and calls the library.

#[cfg(all(target_os = "linux", feature = "agent"))]
mod agent;
mod analysis;
mod analyze;
mod bundle;
mod call_record_input;
#[cfg(target_os = "linux")]
mod capture;
mod compare;
mod completions;
mod config;
mod counter_input;
#[cfg(all(target_os = "linux", feature = "drive"))]
mod demo;
#[cfg(all(target_os = "linux", feature = "live"))]
mod doctor;
#[cfg(all(target_os = "linux", feature = "drive"))]
mod drive;
mod exit_code;
mod explain;
mod filter;
mod findings;
mod flow_selection;
mod health;
mod given;
mod help;
mod input;
mod label_input;
mod lanes;
mod log_input;
mod man_pages;
mod metrics;
mod number;
mod opcode_name;
#[cfg(feature = "otlp")]
mod otlp;
mod packets;
mod pager;
mod partial;
#[cfg(target_os = "linux")]
mod place_profiler;
mod profile_input;
#[cfg(feature = "progress")]
mod progress;
mod recognise;
#[cfg(not(feature = "progress"))]
#[path = "no_progress.rs"]
mod progress;
mod registry;
mod schema;
mod scrub;
#[cfg(all(target_os = "linux", feature = "drive"))]
mod simulate;
#[cfg(target_os = "linux")]
mod signal;
mod source;
#[cfg(feature = "parquet")]
mod tables;
mod taps;
mod notice;
mod terminal;
mod time_range;
mod unmatched;
#[cfg(target_os = "linux")]
mod watch;

use std::io::{self, Write};
use std::process::ExitCode;

use self::exit_code::EXIT_UNUSABLE;
use self::notice::notice;
use clap::{ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand};

/// The release, and in packages the commit: `cargo xtask packages` sets the variable for the compiler.
const VERSION: &str = match option_env!("RAILSCOPE_VERSION") {
    Some(version) => version,
    None => env!("CARGO_PKG_VERSION"),
};

/// Find which queue pair of an AI training job suffers, on which path, and why, from its RoCEv2
/// traffic.
#[derive(Parser)]
#[command(name = "railscope", version = VERSION, max_term_width = 100, propagate_version = true)]
#[command(after_help = "\
Examples:
  railscope demo                                     a small job with faults, watched live
  railscope analyze host3.pcapng                     what is wrong, on one screen
  railscope analyze --line-rate 400G host*.pcap.gz   several taps of one fabric; bursts
  railscope explain --rank 2 host*.pcap.gz           one rank: its NICs, connections, evidence
  railscope packets --qpn 0x14 host3.pcapng          the packets of one queue pair
  railscope compare yesterday.json today.json        is it slower, and why?
  railscope doctor                                   is this node fit for a job?
  railscope capture -i eth0 --keep 10min --on hang   a ring on disk, saved when the job hangs
  railscope drive --ranks 4 -b 4K -e 16M -f 4        traffic of a training job, with ground truth
  railscope simulate straggler_compute               captures of a simulated fabric

Exit codes: 0 success; 1 a verdict reached --fail-on; 2 usage error, or input or output failed.")]
struct Cli {
    /// Colours in text output; `auto` honours NO_COLOR
    #[arg(long, global = true, value_name = "WHEN", default_value_t = ColorChoice::Auto)]
    color: ColorChoice,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Find what is wrong in captures: loss, retransmissions, congestion, bursts, pause
    Analyze(analyze::AnalyzeArgs),
    /// Show all facts on one rank, queue pair, collective or training step
    Explain(explain::ExplainArgs),
    /// Compare two jobs, or two times of one: what changed, and is it more than chance?
    Compare(compare::CompareArgs),
    /// List the findings: meaning, threshold, remedy
    Findings(findings::FindingsArgs),
    /// List the metrics: names, units, limits, and queries for Prometheus
    Metrics(metrics::MetricsArgs),
    /// Print one line per packet: a tcpdump for RoCE
    Packets(packets::PacketsArgs),
    /// Watch a small training job on this machine, with faults to find
    #[cfg(all(target_os = "linux", feature = "drive"))]
    Demo(demo::DemoArgs),
    /// Run a small training job over RoCEv2 or sockets, and record what truly happened
    #[cfg(all(target_os = "linux", feature = "drive"))]
    Drive(Box<drive::args::DriveArgs>),
    /// Write captures of a job on a simulated fabric, with the faults of a scenario
    #[cfg(all(target_os = "linux", feature = "drive"))]
    Simulate(simulate::SimulateArgs),
    /// Run on a training node: metrics, traces and verdicts for Prometheus and OpenTelemetry
    #[cfg(all(target_os = "linux", feature = "agent"))]
    Agent(agent::AgentArgs),
    /// Check a node before a job: RDMA ports, PFC, PCIe, limits, settings
    #[cfg(all(target_os = "linux", feature = "live"))]
    Doctor(doctor::DoctorArgs),
    /// Record every frame, look back, and save what led to trouble
    #[cfg(target_os = "linux")]
    Capture(Box<capture::args::CaptureArgs>),
    /// Watch a running training job, on interfaces of this machine or in a growing capture
    #[cfg(target_os = "linux")]
    Watch(watch::args::WatchArgs),
    /// Take names, addresses and keys out of captures, logs and bundles, to send them to others
    Scrub(Box<scrub::ScrubArgs>),
    /// Print the JSON Schema of a report or of a truth file
    Schema(schema::SchemaArgs),
    /// Print a completion script for a shell
    Completions(completions::CompletionsArgs),
    /// Write man pages into a folder, for packages
    #[command(hide = true)]
    ManPages(man_pages::ManPagesArgs),
    /// Copy NCCL's profiler plugin to a folder that jobs see
    #[cfg(target_os = "linux")]
    #[command(hide = true)]
    PlaceProfiler(place_profiler::PlaceProfilerArgs),
}

/// Runs the command line of this process.
#[must_use]
pub fn main() -> ExitCode {
    let matches = help::grouped(Cli::command()).try_get_matches();
    let cli = match matches.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(answer) => return print(&answer),
    };
    let choice = match cli.color {
        ColorChoice::Auto => anstream::ColorChoice::Auto,
        ColorChoice::Always => anstream::ColorChoice::Always,
        ColorChoice::Never => anstream::ColorChoice::Never,
    };
    choice.write_global();
    let result = match cli.command {
        Command::Analyze(mut args) => args.recognise().and_then(|()| analyze::run(&args)),
        Command::Explain(mut args) => args.recognise().and_then(|()| explain::run(&args)),
        Command::Compare(args) => compare::run(&args),
        Command::Findings(args) => findings::run(&args).map(|()| 0),
        Command::Metrics(args) => metrics::run(&args).map(|()| 0),
        Command::Packets(args) => packets::run(&args).map(|()| 0),
        #[cfg(all(target_os = "linux", feature = "drive"))]
        Command::Demo(args) => demo::run(&args),
        #[cfg(all(target_os = "linux", feature = "drive"))]
        Command::Drive(args) => drive::run(&args),
        #[cfg(all(target_os = "linux", feature = "drive"))]
        Command::Simulate(args) => simulate::run(&args).map(|()| 0),
        #[cfg(all(target_os = "linux", feature = "agent"))]
        Command::Agent(args) => agent::run(&args),
        #[cfg(all(target_os = "linux", feature = "live"))]
        Command::Doctor(args) => doctor::run(&args),
        #[cfg(target_os = "linux")]
        Command::Capture(args) => capture::run(&args),
        #[cfg(target_os = "linux")]
        Command::Watch(args) => watch::run(&args),
        Command::Scrub(mut args) => args.recognise().and_then(|()| scrub::run(&args)),
        Command::Schema(args) => schema::run(&args).map(|()| 0),
        Command::Completions(args) => completions::run::<Cli>(&args).map(|()| 0),
        Command::ManPages(args) => man_pages::run::<Cli>(&args).map(|()| 0),
        #[cfg(target_os = "linux")]
        Command::PlaceProfiler(args) => place_profiler::run(&args).map(|()| 0),
    };
    match result {
        Ok(code) => ExitCode::from(code),
        // The reader of our output closed the pipe, as `head` does.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            notice(format!("error: {error:#}"));
            ExitCode::from(EXIT_UNUSABLE)
        }
    }
}

/// Prints help, the version, or what is wrong with the options.
fn print(answer: &clap::Error) -> ExitCode {
    let printed = answer.print().and_then(|()| io::stdout().flush());
    match printed {
        Err(error) if !answer.use_stderr() && error.kind() != io::ErrorKind::BrokenPipe => {
            notice(format!("error: write to standard output: {error}"));
            ExitCode::from(EXIT_UNUSABLE)
        }
        _ => ExitCode::from(u8::try_from(answer.exit_code()).unwrap_or(EXIT_UNUSABLE)),
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<io::Error>().map(io::Error::kind) == Some(io::ErrorKind::BrokenPipe)
            || cause
                .downcast_ref::<serde_json::Error>()
                .is_some_and(|error| error.io_error_kind() == Some(io::ErrorKind::BrokenPipe))
    })
}
