//! `railscope compare`: two jobs, or two times of one, side by side.

mod fail_on;
mod side;
mod window;

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use anyhow::{Context, bail, ensure};
use clap::{Args, ValueEnum};

use self::fail_on::FailOn;
use self::side::Options;
use self::window::WindowArg;
use super::exit_code::EXIT_UNUSABLE;
use super::notice::notice;
use super::pager::PagerArgs;
use super::terminal;
use crate::export::json;
use crate::export::text::comparison;
use railscope_core::compare::document::Document;
use railscope_core::compare::{CompareSettings, Comparison, Side, compare};

/// Options of `railscope compare`, as typed.
#[derive(Args)]
#[command(override_usage = "\
railscope compare [OPTIONS] BEFORE AFTER
       railscope compare [OPTIONS] --before FILE... --after FILE...
       railscope compare [OPTIONS] --before-window FROM..TO --after-window FROM..TO FILE...")]
#[command(after_help = "\
A side is a report (`railscope analyze --format json`, of 0.1 or later), a capture, a log, or a folder \
with captures, logs and counters, which are analysed first. Intervals come from resampling training steps; \
5 are needed on each side, 30 usually show a change of a few percent.

Examples:
  railscope analyze --format json *.pcapng > today.json    keep it, and tomorrow
  railscope compare yesterday.json today.json              is it slower than yesterday?
  railscope compare monday/ tuesday/                       folders of captures
  railscope compare --before a1.pcap a2.pcap --after b1.pcap b2.pcap
  railscope compare --before-window 10:00..10:05 --after-window 10:10..10:15 job.pcapng
  railscope compare --fail-on slower before.json after.json        acceptance after maintenance
  railscope compare --fail-on step_time=+3% before.json after.json   ... slower by 3 % or more
  railscope compare --format json before.json after.json | jq .answer

Exit codes: 0 compared; 1 --fail-on was met; 2 usage error, input or output failed, too little data to \
judge --fail-on, or jobs that do not do the same work or were captured at different points.")]
pub(super) struct CompareArgs {
    /// BEFORE and AFTER; with windows, the files of the one job
    #[arg(value_name = "FILE", conflicts_with_all = ["before", "after"])]
    inputs: Vec<PathBuf>,
    /// Files of the first job
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "after")]
    before: Vec<PathBuf>,
    /// Files of the second job
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "before")]
    after: Vec<PathBuf>,
    /// Training steps of the first side: from 10s..70s after the first frame, 10:00..10:05 (UTC), or
    /// dates with time zone; either end may be missing
    #[arg(long, value_name = "FROM..TO", value_parser = window::parse)]
    before_window: Option<WindowArg>,
    /// Training steps of the second side
    #[arg(long, value_name = "FROM..TO", value_parser = window::parse)]
    after_window: Option<WindowArg>,
    /// Training steps left out at the start of each job
    #[arg(long, value_name = "N", default_value_t = 1)]
    warm_up: u32,
    /// Exit with code 1 if training steps are `slower`, anything measured is `different`, or a row
    /// changed by a share or more: step_time=+3%, retransmitted=+50%
    #[arg(long, value_name = "WHAT", value_parser = fail_on::parse, value_delimiter = ',')]
    fail_on: Vec<FailOn>,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(flatten)]
    pager: PagerArgs,
    /// Seed of the resampling: the same seed and input give the same output
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    options: Options,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Text, the answer first
    Text,
    /// One JSON document, railscope.compare/1: see `railscope schema compare`
    Json,
}

/// The exit code.
pub(super) fn run(args: &CompareArgs) -> anyhow::Result<u8> {
    let comparison = args.compare()?;
    match args.format {
        Format::Json => {
            let mut out = BufWriter::new(io::stdout().lock());
            json::write_document(&comparison, &mut out).and_then(|()| out.flush())
        }
        Format::Text => {
            args.pager.print(|out| comparison::write(&comparison, terminal::width(), out))
        }
    }
    .context("write to standard output")?;
    args.exit_code(&comparison)
}

impl CompareArgs {
    fn compare(&self) -> anyhow::Result<Comparison> {
        let settings = CompareSettings { warm_up: self.warm_up, seed: self.seed };
        let windows = [&self.before_window, &self.after_window];
        if let [Some(before), Some(after)] = windows {
            ensure!(
                !self.inputs.is_empty(),
                "windows select from one job: name its files without --before and --after"
            );
            let (name, document) = side::read("FILE", &self.inputs, &self.options)?;
            let side = |window: &WindowArg| Self::side(&name, &document, Some(window));
            return Ok(compare(&side(before)?, &side(after)?, settings));
        }
        let [before, after] = self.files()?;
        let (before_name, before) = side::read("BEFORE", before, &self.options)?;
        let (after_name, after) = side::read("AFTER", after, &self.options)?;
        let before = Self::side(&before_name, &before, self.before_window.as_ref())?;
        let after = Self::side(&after_name, &after, self.after_window.as_ref())?;
        Ok(compare(&before, &after, settings))
    }

    fn side<'a>(
        name: &str,
        document: &'a Document,
        window: Option<&WindowArg>,
    ) -> anyhow::Result<Side<'a>> {
        let name = match window {
            Some(window) => format!("{name} {window}"),
            None => name.to_owned(),
        };
        let window = window.map(|window| window.resolve(document)).transpose()?;
        Ok(Side { name, document, window })
    }

    fn files(&self) -> anyhow::Result<[&[PathBuf]; 2]> {
        if !self.before.is_empty() {
            return Ok([&self.before, &self.after]);
        }
        match self.inputs.as_slice() {
            [_, _] => Ok([&self.inputs[..1], &self.inputs[1..]]),
            [] => bail!("no input: name BEFORE and AFTER"),
            [_] => bail!(
                "one input: name BEFORE and AFTER, or two parts of it with --before-window and \
                 --after-window"
            ),
            many => bail!(
                "{} inputs: with several files a side, write --before FILE... --after FILE...",
                many.len()
            ),
        }
    }

    fn exit_code(&self, comparison: &Comparison) -> anyhow::Result<u8> {
        if self.fail_on.is_empty() {
            return Ok(0);
        }
        if !comparison.is_judged() {
            notice("error: --fail-on cannot be judged: see the first line of the comparison");
            return Ok(EXIT_UNUSABLE);
        }
        let mut is_met = false;
        for wanted in &self.fail_on {
            match wanted.judge(comparison)? {
                Ok(met) => is_met |= met,
                Err(why) => {
                    notice(format!("error: --fail-on {wanted} cannot be judged: {why}"));
                    return Ok(EXIT_UNUSABLE);
                }
            }
        }
        Ok(u8::from(is_met))
    }
}
