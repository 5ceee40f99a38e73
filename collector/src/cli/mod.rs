//! The command line: what was typed, made into calls of the library.

mod analyze;
mod filter;
mod input;
mod line_rate;
mod packets;
mod progress;
mod time_range;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{ColorChoice, Parser, Subcommand};

/// Exit code for wrong usage and unreadable input.
const EXIT_UNUSABLE: u8 = 2;

/// Which queue pair suffers, on which path, and why: RoCEv2 traffic of AI training clusters.
#[derive(Parser)]
#[command(name = "railscope", version, max_term_width = 100, propagate_version = true)]
#[command(after_help = "Exit codes: 0 done; 2 wrong usage or unreadable input.")]
struct Cli {
    /// Colours in text output.
    #[arg(long, global = true, value_name = "WHEN", default_value_t = ColorChoice::Auto)]
    color: ColorChoice,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
#[command(subcommand_help_heading = "Look at a capture")]
enum Command {
    /// Say what is wrong in captures: loss, resends, congestion, bursts, pause
    Analyze(analyze::AnalyzeArgs),
    /// Print one line a packet: a tcpdump that knows RoCE
    Packets(packets::PacketsArgs),
    /// Print the JSON Schema of `analyze --format json`
    Schema,
}

/// Runs the command line of this process.
#[must_use]
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let choice = match cli.color {
        ColorChoice::Auto => anstream::ColorChoice::Auto,
        ColorChoice::Always => anstream::ColorChoice::Always,
        ColorChoice::Never => anstream::ColorChoice::Never,
    };
    choice.write_global();
    let result = match cli.command {
        Command::Analyze(args) => analyze::run(&args),
        Command::Packets(args) => packets::run(&args),
        Command::Schema => schema(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever reads our output has seen enough.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // Nothing is left to tell a failing standard error to.
            let _ = writeln!(anstream::stderr(), "error: {error:#}");
            ExitCode::from(EXIT_UNUSABLE)
        }
    }
}

fn schema() -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, &crate::report::Report::json_schema())?;
    writeln!(out)?;
    Ok(())
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<io::Error>().map(io::Error::kind) == Some(io::ErrorKind::BrokenPipe)
            || cause
                .downcast_ref::<serde_json::Error>()
                .is_some_and(|error| error.io_error_kind() == Some(io::ErrorKind::BrokenPipe))
    })
}
