//! `railscope explain`: all facts on one rank, queue pair, collective or training step, or what hangs.

use std::io::{self, BufWriter, Write};
use std::net::IpAddr;

use anyhow::Context;
use clap::{Args, ValueEnum};
use serde::Serialize;

use super::exit_code;
use super::filter::parse_qpn;
use super::pager::PagerArgs;
use super::source::{Depth, SourceArgs};
use super::terminal;
use crate::export::json;
use crate::export::text::TextOptions;
use crate::export::text::explain::{self, Explanation, Place, Selection, Subject};
use railscope_core::analysis::finding::concern::Topic;
use railscope_core::link::job::CommunicatorId;
use railscope_core::model::qpn::Qpn;
use railscope_core::pipeline::Analysed;
use railscope_core::report::hangs::HangsReport;
use railscope_core::report::{Detail, ReportContext};

/// Options of `railscope explain`, as typed.
#[derive(Args)]
#[command(override_usage = "\
railscope explain --hang [OPTIONS] [FILE]...
       railscope explain <--rank N|--qp ADDRESS/QPN|--collective N|--step N> [OPTIONS] [FILE]...")]
#[command(after_help = "\
`railscope analyze` prints the numbers of collectives and training steps.

`--hang` names what stopped a job that no longer moves: the class of the cause (or two, and what would \
decide), the place, what each source shows and what contradicts it. Give it all that there is of the time \
of the hang; docs/hangs.md says how to get it. 1 s without data is a hang (`findings.hang_after_s`).

Examples:
  railscope explain --hang host*.pcap.gz
  railscope explain --hang --flight-recorder 'trace_*' --counters nics.jsonl host*.pcap.gz
  railscope explain --rank 2 host*.pcap.gz
  railscope explain --rank 0 --communicator 0ed04865 host*.pcap.gz
  railscope explain --qp 10.0.0.2/0x108 host*.pcap.gz
  railscope explain --collective 17 host*.pcap.gz
  railscope explain --step 12 host*.pcap.gz
  railscope explain --step 4812 --train-log train.out --counters nics.jsonl host*.pcap.gz
  railscope explain --rank 2 --format json host*.pcap.gz | jq '.rank.rank.nics'")]
pub(super) struct ExplainArgs {
    #[command(flatten)]
    subject: SubjectArgs,
    /// Communicator of --rank or --step: its id, or the first characters of it
    #[arg(long, value_name = "ID", conflicts_with_all = ["qp", "collective", "hang"])]
    communicator: Option<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Rows per table, text output only
    #[arg(long, value_name = "N", default_value_t = 16,
          value_parser = clap::value_parser!(u32).range(1..))]
    top: u32,
    #[command(flatten)]
    pager: PagerArgs,
    #[command(flatten)]
    sources: SourceArgs,
}

/// What to explain: one of these.
#[derive(Args)]
#[group(required = true, multiple = false)]
struct SubjectArgs {
    /// A rank: its process, NICs, connections, and times in collectives
    #[arg(long, value_name = "N")]
    rank: Option<u32>,
    /// A queue pair, in both directions: address of its host, and its number (10.0.0.2/0x108)
    #[arg(long, value_name = "ADDRESS/QPN", value_parser = parse_queue_pair)]
    qp: Option<(IpAddr, u32)>,
    /// A collective: its type and size, and when each rank and connection took part
    #[arg(long, value_name = "N")]
    collective: Option<u32>,
    /// A training step, by number or label: its duration, which rank was late, and why
    #[arg(long = "step", value_name = "N")]
    training_step: Option<String>,
    /// What hangs: the cause, its place, what each source shows, what to do first
    #[arg(long)]
    hang: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Text for a terminal
    Text,
    /// One JSON object with the same facts
    Json,
}

pub(super) fn run(args: &ExplainArgs) -> anyhow::Result<u8> {
    let context = ReportContext { detail: Detail::Full, ..Default::default() };
    let depth = Depth { links: true, keeps_details: true };
    let Analysed { understanding, report } = args.sources.open()?.analyse(depth, None, context)?;
    let Some(selection) = args.selection() else {
        let hangs = HangsReport::new(&understanding, &report);
        args.show_hangs(&hangs).context("write to standard output")?;
        return Ok(exit_code::of_input(&report));
    };
    let subject = Subject::find(&report, &selection)?;
    let topic = subject.place(&report).map(topic);
    let findings = topic.map(|topic| understanding.findings_about(&topic)).unwrap_or_default();
    args.show(&Explanation::new(&report, subject, &findings))
        .context("write to standard output")?;
    Ok(0)
}

/// What findings may concern: the report has communicators, collectives, training steps and findings
/// in the order in which they were judged.
fn topic(place: Place) -> Topic {
    match place {
        Place::Rank { communicator, rank } => {
            Topic::Rank { communicator: CommunicatorId(communicator as u32), rank }
        }
        Place::QueuePair { address, qpn } => Topic::QueuePair { address, qpn: Qpn::new(qpn) },
        Place::Collective(at) => Topic::Collective(at),
        Place::TrainingStep(at) => Topic::TrainingStep(at),
    }
}

impl ExplainArgs {
    /// Takes each file for what its content is.
    pub(super) fn recognise(&mut self) -> anyhow::Result<()> {
        self.sources.recognise()
    }

    /// The selected object; `None` for `--hang`. The parser requires exactly one.
    fn selection(&self) -> Option<Selection> {
        let SubjectArgs { rank, qp, collective, training_step, hang: _ } = &self.subject;
        let communicator = self.communicator.clone();
        if let Some(name) = training_step.clone() {
            return Some(Selection::TrainingStep { name, communicator });
        }
        rank.map(|rank| Selection::Rank { rank, communicator })
            .or(qp.map(|(address, qpn)| Selection::QueuePair { address, qpn }))
            .or(collective.map(Selection::Collective))
    }

    fn show(&self, explanation: &Explanation<'_>) -> io::Result<()> {
        match self.format {
            Format::Json => write_json(explanation),
            Format::Text => {
                self.pager.print(|out| explain::write(explanation, &self.text_options(), out))
            }
        }
    }

    fn show_hangs(&self, hangs: &HangsReport<'_>) -> io::Result<()> {
        match self.format {
            Format::Json => write_json(hangs),
            Format::Text => {
                self.pager.print(|out| explain::hang::write(hangs, &self.text_options(), out))
            }
        }
    }

    fn text_options(&self) -> TextOptions {
        TextOptions { top: self.top as usize, width: terminal::width(), hidden_verdicts: 0 }
    }
}

fn write_json(document: &impl Serialize) -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    json::write_document(document, &mut out)?;
    out.flush()
}

fn parse_queue_pair(text: &str) -> Result<(IpAddr, u32), String> {
    let (address, qpn) = text.rsplit_once('/').ok_or_else(|| wrong(text))?;
    let address = address.parse().map_err(|_| wrong(text))?;
    Ok((address, parse_qpn(qpn)?))
}

fn wrong(text: &str) -> String {
    format!(
        "`{text}` is not a queue pair; write the address of its host and its number: 10.0.0.2/0x108"
    )
}
