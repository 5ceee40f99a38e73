//! The command line: what was typed, made into calls of the library.

#[cfg(all(target_os = "linux", feature = "agent"))]
mod agent;
mod analysis;
mod analyze;
mod completions;
mod config;
mod counter_input;
#[cfg(all(target_os = "linux", feature = "drive"))]
mod demo;
#[cfg(all(target_os = "linux", feature = "drive"))]
mod drive;
mod explain;
mod filter;
mod findings;
mod health;
mod help;
mod input;
mod label_input;
mod log_input;
mod metrics;
mod opcode_name;
#[cfg(feature = "otlp")]
mod otlp;
mod packets;
mod pager;
mod progress;
mod schema;
#[cfg(all(target_os = "linux", feature = "drive"))]
mod simulate;
mod source;
mod terminal;
mod time_range;
mod unmatched;
#[cfg(target_os = "linux")]
mod watch;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand};

/// Exit code for wrong usage and unreadable input.
const EXIT_UNUSABLE: u8 = 2;

/// Which queue pair suffers, on which path, and why: RoCEv2 traffic of AI training clusters.
#[derive(Parser)]
#[command(name = "railscope", version, max_term_width = 100, propagate_version = true)]
#[command(after_help = "\
Examples:
  railscope demo                                     a job with trouble, watched live, in seconds
  railscope analyze host3.pcapng                     what is wrong, on one screen
  railscope analyze --line-rate 400G host*.pcap.gz   several taps of one fabric; bursts
  railscope explain --rank 2 host*.pcap.gz           one rank: its NICs, connections, evidence
  railscope packets --qpn 0x14 host3.pcapng          the packets of one queue pair
  railscope drive --ranks 4 -b 4K -e 16M -f 4        traffic of a training job, with its truth
  railscope simulate straggler_compute               captures of a fabric in virtual time

Exit codes: 0 done; 1 done, and --fail-on was met; 2 wrong usage, unreadable input or output that could not be written.")]
struct Cli {
    /// Colours in text output; without it NO_COLOR counts, too
    #[arg(long, global = true, value_name = "WHEN", default_value_t = ColorChoice::Auto)]
    color: ColorChoice,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Say what is wrong in captures: loss, resends, congestion, bursts, pause
    Analyze(analyze::AnalyzeArgs),
    /// Tell everything about one rank, queue pair, collective or training step, and why
    Explain(explain::ExplainArgs),
    /// Explain what railscope can find: meaning, threshold, remedy
    Findings(findings::FindingsArgs),
    /// Explain what is measured: names, units, bounds, and queries for Prometheus
    Metrics(metrics::MetricsArgs),
    /// Print one line a packet: a tcpdump that knows RoCE
    Packets(packets::PacketsArgs),
    /// Show what railscope does: a small training job on this machine, watched live
    #[cfg(all(target_os = "linux", feature = "drive"))]
    Demo(demo::DemoArgs),
    /// Make traffic: a training job in small over RoCEv2 or sockets, and what it truly did
    #[cfg(all(target_os = "linux", feature = "drive"))]
    Drive(Box<drive::DriveArgs>),
    /// Make captures of a job on a fabric in virtual time, with the trouble that a scenario asks for
    #[cfg(all(target_os = "linux", feature = "drive"))]
    Simulate(simulate::SimulateArgs),
    /// Stay on a training node: metrics, traces and findings for Prometheus and OpenTelemetry
    #[cfg(all(target_os = "linux", feature = "agent"))]
    Agent(agent::AgentArgs),
    /// Watch a training while it runs: interfaces of this machine, or a capture that grows
    #[cfg(target_os = "linux")]
    Watch(watch::WatchArgs),
    /// Print the JSON Schema of `analyze --format json`, or of a truth file
    Schema(schema::SchemaArgs),
    /// Print a script that completes commands and options in a shell
    Completions(completions::CompletionsArgs),
}

/// Runs the command line of this process.
#[must_use]
pub fn main() -> ExitCode {
    let cli = match Cli::from_arg_matches(&help::grouped(Cli::command()).get_matches()) {
        Ok(cli) => cli,
        Err(error) => error.exit(),
    };
    let choice = match cli.color {
        ColorChoice::Auto => anstream::ColorChoice::Auto,
        ColorChoice::Always => anstream::ColorChoice::Always,
        ColorChoice::Never => anstream::ColorChoice::Never,
    };
    choice.write_global();
    let result = match cli.command {
        Command::Analyze(args) => analyze::run(&args),
        Command::Explain(args) => explain::run(&args).map(|()| 0),
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
        #[cfg(target_os = "linux")]
        Command::Watch(args) => watch::run(&args),
        Command::Schema(args) => schema::run(&args).map(|()| 0),
        Command::Completions(args) => completions::run::<Cli>(&args).map(|()| 0),
    };
    match result {
        Ok(code) => ExitCode::from(code),
        // Whoever reads our output has seen enough.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // Nothing is left to tell a failing standard error to.
            let _ = writeln!(anstream::stderr(), "error: {error:#}");
            ExitCode::from(EXIT_UNUSABLE)
        }
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
