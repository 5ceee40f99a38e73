//! `railscope analyze`: captures, logs, counters and call records in, the report out.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufWriter, Write};
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use clap::{Args, ValueEnum};
use serde::Serialize;

use super::analysis::MessageFile;
use super::bundle;
use super::config::FailOn;
use super::exit_code;
use super::filter::FilterArgs;
use super::flow_selection::FlowSelection;
use super::pager::PagerArgs;
use super::partial;
use super::source::{Depth, SourceArgs};
use super::terminal;
use crate::export::text::TextOptions;
use crate::export::{html, json, perfetto, prometheus, text};
use railscope_core::analysis::ledger::Ending;
use railscope_core::metrics;
use railscope_core::metrics::accumulator::Accumulator;
use railscope_core::pipeline::Analysed;
use railscope_core::report::flows::FlowReport;
use railscope_core::report::queue_pairs::QueuePairTallies;
use railscope_core::report::{Detail, Report, ReportContext, StreamedReport};

/// Default of `--detail-file`.
const MESSAGE_FILE: &str = "railscope.messages.jsonl";

/// Options of `railscope analyze`, as typed.
#[derive(Args)]
#[command(after_help = "\
Examples:
  railscope analyze host3.pcapng                      one capture, one screen
  railscope analyze --line-rate 400G host*.pcap.gz    several taps, 400 Gb/s ports
  railscope analyze job.log                           a log of the job, of any launcher
  railscope analyze -                                 paste show_gids, ethtool -S, nccl-tests, ...
  railscope analyze --nccl-log 'nccl.*.log' *.pcap    NCCL logs, with or without pcap
  railscope analyze --train-log train.out *.pcap      steps numbered as in the log
  railscope analyze --counters nics.jsonl *.pcap      with NIC counters: pause, CNPs
  railscope analyze --filter 'nak and rank == 3' *.pcap   flows with such packets
  railscope analyze --fail-on warning *.pcap          exit code 1 if a verdict warns
  railscope analyze --format html *.pcap > report.html
  railscope analyze --format perfetto *.pcap > job.perfetto.json
  railscope analyze --otlp http://localhost:4318 *.pcap
  railscope analyze --partial host3.part *.pcap       on each host; then analyze *.part
  railscope analyze --format json a.pcap | jq '.flows[].psn'
  tcpdump -i mlx5_0 -s 128 -w - | railscope analyze -")]
pub(super) struct AnalyzeArgs {
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Rows per table, text output only
    #[arg(long, value_name = "N", default_value_t = 10,
          value_parser = clap::value_parser!(u32).range(1..))]
    top: u32,
    #[command(flatten)]
    pager: PagerArgs,
    /// Detail of the JSON report: `full` adds every recovery episode, and every message in a second file
    #[arg(long, value_enum, default_value_t = DetailArg::Summary)]
    detail: DetailArg,
    /// File for the messages of `--detail full`, as JSON lines; timestamps are those of the captures,
    /// without clock correction [default: railscope.messages.jsonl]
    #[arg(long, value_name = "FILE")]
    detail_file: Option<PathBuf>,
    /// Analyse flows only: no TCP streams, communicators or collectives
    #[arg(long)]
    no_link: bool,
    /// Also write input, settings and report into one file, as job.railscope.tar.zst; analyze reads it. A bundle
    /// that is there is replaced, another file is not
    #[arg(long, value_name = "FILE")]
    bundle: Option<PathBuf>,
    /// Reduce the captures to this file, to be judged together with those of other hosts: analyze *.part gives the
    /// report of all captures at once
    #[arg(long, value_name = "FILE",
          conflicts_with_all = ["bundle", "no_link", "format", "detail", "detail_file", "fail_on",
                                "host", "qpn", "opcode", "expression", "top", "config",
                                "set", "rails", "anchor"])]
    partial: Option<PathBuf>,
    /// Exit with code 1 if there is a verdict of this severity or worse; `info`: any finding
    #[arg(long, value_enum, value_name = "SEVERITY")]
    fail_on: Option<FailOn>,
    // Last: their headings hold for all options that follow.
    #[command(flatten)]
    sources: SourceArgs,
    #[command(flatten)]
    filter: FilterArgs,
    #[cfg(feature = "parquet")]
    #[command(flatten)]
    tables: super::tables::TablesArgs,
    #[cfg(feature = "otlp")]
    #[command(flatten)]
    otlp: super::otlp::OtlpArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Text, worst first
    Text,
    /// A page to send: one file, opens in any browser, loads nothing
    Html,
    /// One JSON document, railscope.report/1: see `railscope schema`
    Json,
    /// A timeline for ui.perfetto.dev: collectives, messages, ports, NAKs, CNPs
    Perfetto,
    /// Prometheus metrics, text format 0.0.4: see dashboards/METRICS.md
    Prometheus,
    /// Tables for SQL, railscope.tables/1, in the folder of --output: see docs/tables.md
    #[cfg(feature = "parquet")]
    Parquet,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DetailArg {
    Summary,
    Full,
}

/// The exit code.
pub(super) fn run(args: &AnalyzeArgs) -> anyhow::Result<u8> {
    if let Some(place) = &args.partial {
        partial::write(place, &args.sources)?;
        return Ok(0);
    }
    let detail = match args.detail {
        DetailArg::Summary => Detail::Summary,
        DetailArg::Full => Detail::Full,
    };
    if args.sources.has_parts() {
        ensure!(args.bundle.is_none(), "parts are no captures, which a bundle keeps: give those");
        ensure!(detail == Detail::Summary, "parts have no single messages: give the captures");
        ensure!(!args.no_link, "parts are linked to ranks: remove --no-link");
    }
    let has_all = match args.format {
        Format::Perfetto => Some("perfetto"),
        Format::Prometheus => Some("prometheus"),
        #[cfg(feature = "parquet")]
        Format::Parquet => Some("parquet"),
        Format::Text | Format::Html | Format::Json => None,
    };
    if let Some(format) = has_all.filter(|_| args.filter.options().next().is_some()) {
        bail!(
            "--format {format} always covers the whole job: remove --host, --qpn, --opcode and --filter"
        );
    }
    if let Some(place) = &args.bundle {
        bundle::check_place(place)?;
        ensure!(!args.no_link, "--bundle keeps the whole job: remove --no-link");
        bundle::check(&args.sources, args.filter.options().next().is_some())?;
    }
    #[cfg(feature = "parquet")]
    let tables = args.tables.destination(args.format == Format::Parquet)?;
    // Captures first: if one is missing, no file is overwritten.
    let filter = args.filter.filter_of_flows(args.sources.input())?;
    let sources = args.sources.open()?;
    #[cfg(feature = "otlp")]
    let exporter = args.otlp.exporter()?;
    let messages = match (detail, &args.detail_file) {
        (Detail::Summary | Detail::Events, Some(_)) => {
            bail!("--detail-file needs --detail full: add it")
        }
        (Detail::Summary | Detail::Events, None) => None,
        (Detail::Full, path) => Some(args.create_messages(path.as_deref())?),
    };
    let depth = Depth { links: !args.no_link, keeps_details: detail == Detail::Full };
    let detail = match args.format {
        // A timeline shows single messages and signals.
        Format::Perfetto => Detail::Full,
        // So do ports by second.
        #[cfg(feature = "parquet")]
        Format::Parquet => Detail::Full,
        // Its charts show when something happened.
        Format::Html => detail.max(Detail::Events),
        Format::Text | Format::Json | Format::Prometheus => detail,
    };
    let qpns = args.filter.qpn.clone();
    #[cfg(feature = "otlp")]
    let is_sent = exporter.is_some();
    #[cfg(not(feature = "otlp"))]
    let is_sent = false;
    let is_selected = args.filter.options().next().is_some();
    // A text shows the worst queue pairs, and looks at all of them, and at flows, only to select some.
    let is_brief = args.format == Format::Text && args.bundle.is_none() && !is_selected && !is_sent;
    let only_worst = is_brief.then_some(args.top as usize);
    let context =
        ReportContext { options: args.options(), qpns, detail, only_worst, ..Default::default() };
    // What is analysed is never dropped: with many queue pairs that takes longer than writing the report, and the
    // process ends soon.
    if args.format == Format::Json && args.bundle.is_none() && !is_selected && !is_sent {
        let understood = sources.understand(depth, messages, context)?;
        let (understanding, context) = &*ManuallyDrop::new(understood);
        return StreamedReport::stream(understanding, context, |report| {
            write_json(report).context("write to standard output")?;
            Ok(args.exit_code(report))
        });
    }
    let mut analysed = ManuallyDrop::new(sources.analyse(depth, messages, context)?);
    let config = args.sources.flow_config(depth.keeps_details);
    let input = args.sources.input();
    if let Some(path) = &args.bundle {
        bundle::write(path, args.options(), &args.sources, &analysed.report, Vec::new())?;
    }
    let selection = FlowSelection::new(&args.filter, filter, input, config, &analysed)?;
    selection.warn_of_no_match(&analysed.report);
    #[cfg(feature = "otlp")]
    let sent = exporter.map_or(Ok(()), |exporter| args.otlp.send(&analysed, exporter));
    let hidden_verdicts = restrict_findings(&mut analysed.report, &selection);
    let code = args.exit_code(&analysed.report);
    #[cfg(feature = "parquet")]
    if let Some(tables) = tables {
        tables.write(&analysed.report)?;
    }
    args.show(&mut analysed, &selection, hidden_verdicts).context("write to standard output")?;
    // Last: the report is printed even if the receiver is unreachable.
    #[cfg(feature = "otlp")]
    sent?;
    Ok(code)
}

/// Leaves only findings about flows that are shown, and those about no flow; returns how many verdicts
/// are not shown.
fn restrict_findings(report: &mut Report, selection: &FlowSelection<'_>) -> usize {
    if selection.is_all() {
        return 0;
    }
    let shown = report.flows.iter().filter(|flow| selection.shows(flow));
    let shown: BTreeSet<u32> = shown.map(|flow| flow.id).collect();
    report.restrict_findings(&shown)
}

/// Leaves only flows and queue pairs that are shown.
fn restrict_flows(report: &mut Report, selection: &FlowSelection<'_>) {
    let shown = |flow: &u32| report.flow(*flow).is_some_and(|flow| selection.shows(flow));
    let is_shown: Vec<bool> =
        report.queue_pairs.iter().map(|one| one.flows.iter().any(shown)).collect();
    let mut is_shown = is_shown.into_iter();
    report.queue_pairs.retain(|_| is_shown.next().unwrap_or(true));
    report.queue_pair_tallies = QueuePairTallies::of(&report.queue_pairs);
    report.flows.retain(|flow| selection.shows(flow));
}

fn write_json<F: Serialize, Q: Serialize>(report: &Report<F, Q>) -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    json::write(report, &mut out)?;
    out.flush()
}

impl AnalyzeArgs {
    /// Takes each file for what its content is.
    pub(super) fn recognise(&mut self) -> anyhow::Result<()> {
        self.sources.recognise()
    }

    /// Calls a file otherwise in the report.
    pub(super) fn name(&mut self, path: PathBuf, name: String) {
        self.sources.name(path, name);
    }

    fn show(
        &self,
        analysed: &mut Analysed,
        selection: &FlowSelection<'_>,
        hidden_verdicts: usize,
    ) -> io::Result<()> {
        let Analysed { understanding, report } = analysed;
        match self.format {
            Format::Html => {
                restrict_flows(report, selection);
                let mut out = BufWriter::new(io::stdout().lock());
                html::write(report, &mut out)?;
                out.flush()
            }
            Format::Json => {
                restrict_flows(report, selection);
                write_json(report)
            }
            Format::Prometheus => {
                let span = report.capture.span();
                let mut metrics = Accumulator::new(metrics::Settings::default(), span.first);
                metrics.observe(understanding, Ending::Closed);
                let mut out = BufWriter::new(io::stdout().lock());
                prometheus::write(&metrics.points(span.last), &mut out)?;
                out.flush()
            }
            Format::Perfetto => {
                let mut out = BufWriter::new(io::stdout().lock());
                perfetto::write(report, &mut out)?;
                out.flush()
            }
            // Written to files.
            #[cfg(feature = "parquet")]
            Format::Parquet => Ok(()),
            Format::Text => {
                let options = TextOptions {
                    top: self.top as usize,
                    width: terminal::width(),
                    hidden_verdicts,
                };
                let shows = |flow: &FlowReport| selection.shows(flow);
                let shows: Option<&dyn Fn(&FlowReport) -> bool> =
                    if selection.is_all() { None } else { Some(&shows) };
                self.pager.print(|out| text::write(report, shows, &options, out))
            }
        }
    }

    fn exit_code<F, Q>(&self, report: &Report<F, Q>) -> u8 {
        match exit_code::of_records(report) {
            0 => FailOn::exit_code(self.fail_on, report),
            unusable => unusable,
        }
    }

    fn create_messages(&self, path: Option<&Path>) -> anyhow::Result<MessageFile> {
        let path = path.unwrap_or(Path::new(MESSAGE_FILE));
        if self.sources.names(path) {
            bail!(
                "{} is one of the captures to read: choose another --detail-file",
                path.display()
            );
        }
        MessageFile::create(path)
    }

    /// The options that change the report, to be listed in it.
    fn options(&self) -> BTreeMap<String, String> {
        let mut options = BTreeMap::new();
        let detail = if self.detail == DetailArg::Full { "full" } else { "summary" };
        options.insert("detail".to_owned(), detail.to_owned());
        if self.no_link {
            options.insert("no_link".to_owned(), "true".to_owned());
        }
        options.extend(self.sources.options());
        options.extend(self.filter.options());
        options
    }
}
