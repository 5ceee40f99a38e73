//! `railscope packets`: one line a packet.

use std::io::{self, BufWriter, Write};

use clap::{Args, ValueEnum};

use super::filter::FilterArgs;
use super::input::{self, CaptureSink, InputArgs};
use crate::decode::packet;
use crate::export::{json, packet_line};
use crate::model::frame::Frame;
use crate::model::tap::{HostName, Tap, TapId};
use crate::model::time::Timestamp;
use crate::report::packets::PacketReport;

/// Options of `railscope packets`, as typed.
#[derive(Args)]
#[command(after_help = "\
Each line: frame number, tap, seconds after the first frame, addresses, what it is.

Examples:
  railscope packets --opcode CNP host3.pcapng
  railscope packets --qpn 0x14 --since 1.2s --until 1.3s host3.pcapng
  railscope packets --format json host3.pcapng | jq -c 'select(.ecn == \"ce\")'")]
pub(super) struct PacketsArgs {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    filter: FilterArgs,
    /// How to show packets
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A line for people
    Text,
    /// A JSON object a line
    Json,
}

pub(super) fn run(args: &PacketsArgs) -> anyhow::Result<()> {
    let out = BufWriter::new(io::stdout().lock());
    let mut lines = Lines { args, out };
    input::read(&args.input, &mut lines)?;
    lines.out.flush()?;
    Ok(())
}

/// Packets on their way to standard output.
struct Lines<'a, W> {
    args: &'a PacketsArgs,
    out: W,
}

impl<W: Write> CaptureSink for Lines<'_, W> {
    fn frame(&mut self, frame: &Frame<'_>, origin: Timestamp) -> anyhow::Result<()> {
        let packet = packet::decode(frame);
        if self.args.filter.shows_packet(&packet) {
            let packet = PacketReport::new(frame, &packet, origin);
            match self.args.format {
                Format::Text => packet_line::write(&packet, &mut self.out)?,
                Format::Json => json::write_line(&packet, &mut self.out)?,
            }
        }
        Ok(())
    }

    fn tap(&mut self, _: Tap) {}

    fn host_name(&mut self, _: HostName) {}

    fn lost_frames(&mut self, _: TapId, _: u64) {}

    fn missed(&mut self, _: &'static str, _: u64) {}
}
