//! `railscope packets`: one line per packet.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use clap::{Args, ValueEnum};

use super::analysis::Analysis;
use super::filter::FilterArgs;
use super::input::{CaptureSink, Input, InputArgs, warn};
use super::notice::notice;
use super::progress::InputProgress;
use super::source;
use super::time_range::TimeRange;
use super::unmatched::Unmatched;
use crate::export::pcapng::PcapNgWriter;
use crate::export::{json, packet_csv, packet_line};
use crate::filter::{FIELDS, Filter, Knowledge, Subject};
use railscope_core::decode::frame;
use railscope_core::model::frame::Frame;
use railscope_core::model::health::event::HealthEvent;
use railscope_core::model::tap::{HostName, Tap, TapId};
use railscope_core::model::time::Timestamp;
use railscope_core::report::packets::PacketReport;
use railscope_core::report::words::number::counted;
use railscope_core::report::{Detail, ReportContext};

const EXAMPLES: &str = "\
Each line has the frame number, tap, seconds since the first frame, addresses and a summary.

Examples:
  railscope packets --filter 'nak or rnr' host3.pcapng
  railscope packets --filter 'rank == 3 and step in 4..7 and ce' host*.pcapng
  railscope packets --filter 'host in 10.0.0.0/24 and not ack' --write some.pcapng host3.pcapng
  railscope packets --format csv --filter 'psn > 0x8000' host3.pcapng
  railscope packets --qpn 0x14 --since 1.2s --until 1.3s host3.pcapng";

/// Options of `railscope packets`, as typed.
#[derive(Args)]
#[command(after_help = EXAMPLES, after_long_help = fields())]
pub(super) struct PacketsArgs {
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Write the packets to this file in pcapng instead, `-` for standard output: for Wireshark, or
    /// for railscope again
    #[arg(long, value_name = "FILE", conflicts_with = "format")]
    write: Option<PathBuf>,
    // Last: their headings hold for all options that follow.
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    filter: FilterArgs,
    /// Add what an analysis knows to each line: ranks, channel, collective, training step; a filter
    /// that asks for any of it implies this
    #[arg(long, help_heading = "Output")]
    context: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// One line of text per packet
    Text,
    /// One JSON object per line
    Json,
    /// Comma-separated values, with a line of names
    Csv,
}

pub(super) fn run(args: &PacketsArgs) -> anyhow::Result<()> {
    let filter = args.filter.filter()?;
    let needs_analysis = args.context || filter.as_ref().is_some_and(Filter::needs_analysis);
    // What came before a range of time explains what is within it.
    let whole = if needs_analysis { args.input.whole() } else { args.input.clone() };
    let knowledge = if needs_analysis { Some(learn(&whole)?) } else { None };
    let input = Input::open(&whole)?;
    let target = Target::open(args)?;
    // On a terminal, the lines themselves show the progress.
    let is_shown = args.write.is_none() && io::stdout().is_terminal();
    let progress = if is_shown { InputProgress::hidden() } else { InputProgress::new() };
    let unmatched = Unmatched::default();
    let mut selection =
        Selection { args, filter, knowledge, target, unmatched, range: None, selected: 0 };
    input.read(progress, &mut selection)?;
    selection.target.flush().with_context(|| args.task())?;
    if let Some(path) = args.write.as_deref().filter(|path| *path != Path::new("-")) {
        notice(format!("{}: {}", path.display(), counted(selection.selected, "packet")));
    }
    if let Some(warning) = selection.warning() {
        warn(&InputProgress::hidden(), &warning);
    }
    Ok(())
}

/// The fields of a filter, for `--help`.
fn fields() -> String {
    let mut text =
        "Filters are made of tests, joined by and, or, not and parentheses:\n".to_owned();
    for field in &FIELDS {
        let mark = if field.is_learned { " *" } else { "" };
        text += &format!("  {:<24}  {}{mark}\n", field.example(), field.about);
    }
    text + "\
* is found by an analysis: the input is read twice, so it cannot be a pipe, and must have NCCL's
  bootstrap (TCP) for ranks.

Numbers are compared with ==, !=, <, <=, >, >=, `in 4..7` and `in {1, 0x2, 5..9}`; addresses and
names with ==, != and in. Ranges include both ends; a time without a unit is in seconds. host, port
and rank have two values: one of them must fit, and != means that neither does. A packet without a
field fails every test on it but !=.

" + EXAMPLES
}

/// Reads the whole input once, to learn of ranks, collectives and training steps.
fn learn(whole: &InputArgs) -> anyhow::Result<Knowledge> {
    whole.check_read_twice()?;
    let input = Input::open(whole)?;
    let analysis = Analysis::new(source::capture_pipeline(), None);
    let context = ReportContext { detail: Detail::Full, ..ReportContext::default() };
    let analysed = analysis.run((input, None), None, context)?;
    let knowledge = Knowledge::new(&analysed.report, source::detailed());
    if !knowledge.has_ranks() {
        let problem = "no NCCL rank is known in this input, so tests on ranks, channels and \
                       collectives hold for no packet: capture NCCL's bootstrap (TCP), too";
        warn(&InputProgress::hidden(), &problem);
    }
    Ok(knowledge)
}

impl PacketsArgs {
    fn task(&self) -> String {
        match &self.write {
            Some(path) => format!("write {}", path.display()),
            None => "write to standard output".to_owned(),
        }
    }
}

/// Where packets go.
enum Target<'a> {
    Lines(Format, Box<dyn Write + 'a>),
    Capture(PcapNgWriter<Box<dyn Write + 'a>>),
}

impl Target<'_> {
    fn open(args: &PacketsArgs) -> anyhow::Result<Self> {
        let standard = || Box::new(BufWriter::new(io::stdout().lock()));
        let Some(path) = &args.write else {
            let mut out: Box<dyn Write> = standard();
            if args.format == Format::Csv {
                packet_csv::write_names(&mut out).with_context(|| args.task())?;
            }
            return Ok(Self::Lines(args.format, out));
        };
        let out: Box<dyn Write> = match path.as_path() == Path::new("-") {
            true => {
                let is_terminal = io::stdout().is_terminal();
                ensure!(!is_terminal, "a capture is no text: write to a file or into a pipe");
                standard()
            }
            false => {
                ensure!(
                    !args.input.names(path),
                    "{} is one of the captures: write to another file",
                    path.display()
                );
                Box::new(BufWriter::new(File::create(path).with_context(|| args.task())?))
            }
        };
        Ok(Self::Capture(PcapNgWriter::new(out).with_context(|| args.task())?))
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Lines(_, out) => out.flush(),
            Self::Capture(out) => out.flush(),
        }
    }

    fn put(&mut self, frame: &Frame<'_>, packet: impl FnOnce() -> PacketReport) -> io::Result<()> {
        match self {
            Self::Lines(Format::Text, out) => packet_line::write(&packet(), out),
            Self::Lines(Format::Json, out) => json::write_line(&packet(), out),
            Self::Lines(Format::Csv, out) => packet_csv::write(&packet(), out),
            Self::Capture(out) => out.frame(frame),
        }
    }
}

/// Packets on their way out.
struct Selection<'a> {
    args: &'a PacketsArgs,
    filter: Option<Filter>,
    knowledge: Option<Knowledge>,
    target: Target<'a>,
    unmatched: Unmatched,
    /// Known from the first frame on.
    range: Option<TimeRange>,
    selected: u64,
}

impl Selection<'_> {
    /// Why nothing was selected.
    fn warning(&self) -> Option<String> {
        let by_options = self.unmatched.warning("packets", &self.args.filter);
        by_options.or_else(|| {
            let filter = self.filter.as_ref().filter(|_| self.selected == 0)?;
            Some(filter.selects_nothing())
        })
    }
}

impl CaptureSink for Selection<'_> {
    fn frame(&mut self, frame: &Frame<'_>, origin: Timestamp) -> anyhow::Result<()> {
        let packet = frame::decode(frame);
        let knowledge = self.knowledge.as_mut();
        let context = knowledge.map(|knowledge| knowledge.observe(frame, &packet, origin));
        let range = self.range.get_or_insert_with(|| self.args.input.time.resolve(origin));
        if !range.contains(frame.time) {
            return Ok(());
        }
        let subject =
            Subject { frame, packet: &packet, origin, context: context.unwrap_or_default() };
        let by_options = self.args.filter.shows_packet(&packet);
        self.unmatched.add_packet(&packet, by_options, &self.args.filter);
        if by_options && self.filter.as_ref().is_none_or(|filter| filter.selects(&subject)) {
            self.selected += 1;
            let packet = || PacketReport { context, ..PacketReport::new(frame, &packet, origin) };
            self.target.put(frame, packet).with_context(|| self.args.task())?;
        }
        Ok(())
    }

    fn tap(&mut self, tap: Tap) {
        if let Target::Capture(out) = &mut self.target {
            // A write that fails here fails again with the first packet.
            _ = out.tap(&tap);
        }
        if let Some(knowledge) = &mut self.knowledge {
            knowledge.add_tap(tap);
        }
    }

    fn host_name(&mut self, name: HostName) {
        if let Target::Capture(out) = &mut self.target {
            _ = out.host_name(&name);
        }
    }

    fn lost_frames(&mut self, tap: TapId, frames: u64) {
        if let Target::Capture(out) = &mut self.target {
            _ = out.lost(tap, frames);
        }
    }

    // Packets that were not selected passed, too.
    fn observed_until(&mut self, _: TapId, _: Timestamp) {}

    fn missed(&mut self, _: HealthEvent, _: u64) {}
}
