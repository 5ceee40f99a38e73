//! `railscope packets`: one line per packet.

use std::io::{self, BufWriter, IsTerminal, Write};

use anyhow::Context;
use clap::{Args, ValueEnum};

use super::filter::FilterArgs;
use super::input::{CaptureSink, Input, InputArgs, warn};
use super::progress::InputProgress;
use super::unmatched::Unmatched;
use crate::export::{json, packet_line};
use railscope_core::decode::frame;
use railscope_core::model::frame::Frame;
use railscope_core::model::health::event::HealthEvent;
use railscope_core::model::tap::{HostName, Tap, TapId};
use railscope_core::model::time::Timestamp;
use railscope_core::report::packets::PacketReport;

/// Options of `railscope packets`, as typed.
#[derive(Args)]
#[command(after_help = "\
Each line has the frame number, tap, seconds since the first frame, addresses and a summary.

Examples:
  railscope packets --opcode CNP host3.pcapng
  railscope packets --qpn 0x14 --since 1.2s --until 1.3s host3.pcapng
  railscope packets --format json host3.pcapng | jq -c 'select(.ecn == \"ce\")'")]
pub(super) struct PacketsArgs {
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    // Last: their headings hold for all options that follow.
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    filter: FilterArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// One line of text per packet
    Text,
    /// One JSON object per line
    Json,
}

pub(super) fn run(args: &PacketsArgs) -> anyhow::Result<()> {
    let input = Input::open(&args.input)?;
    let stdout = io::stdout();
    // On a terminal, the lines themselves show the progress.
    let progress =
        if stdout.is_terminal() { InputProgress::hidden() } else { InputProgress::new() };
    let out = BufWriter::new(stdout.lock());
    let mut lines = Lines { args, out, unmatched: Unmatched::default() };
    input.read(progress, &mut lines)?;
    lines.out.flush().context("write to standard output")?;
    if let Some(warning) = lines.unmatched.warning("packets", &args.filter) {
        warn(&InputProgress::hidden(), &warning);
    }
    Ok(())
}

/// Packets on their way to standard output.
struct Lines<'a, W> {
    args: &'a PacketsArgs,
    out: W,
    unmatched: Unmatched,
}

impl<W: Write> CaptureSink for Lines<'_, W> {
    fn frame(&mut self, frame: &Frame<'_>, origin: Timestamp) -> anyhow::Result<()> {
        let packet = frame::decode(frame);
        let is_shown = self.args.filter.shows_packet(&packet);
        self.unmatched.add_packet(&packet, is_shown, &self.args.filter);
        if is_shown {
            let packet = PacketReport::new(frame, &packet, origin);
            let written = match self.args.format {
                Format::Text => packet_line::write(&packet, &mut self.out),
                Format::Json => json::write_line(&packet, &mut self.out),
            };
            written.context("write to standard output")?;
        }
        Ok(())
    }

    fn tap(&mut self, _: Tap) {}

    fn host_name(&mut self, _: HostName) {}

    fn lost_frames(&mut self, _: TapId, _: u64) {}

    fn missed(&mut self, _: HealthEvent, _: u64) {}
}
