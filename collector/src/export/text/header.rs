//! The input: what was read, what it contains, which filters apply.

use std::io::{self, Write};

use super::options::TextOptions;
use super::quantity::{bytes, count, counted, duration};
use super::style::Meaning;
use super::{label, sentence};
use railscope_core::report::Report;
use railscope_core::report::places::Plane;
use railscope_core::report::queue_pairs::QueuePairTallies;

/// Options that restrict the report, as the command line spells them.
const HIDING: &[&str] = &["since", "until", "host", "qpn", "opcode", "filter"];

/// Writes size and content of the input.
pub(super) fn write(
    report: &Report,
    tallies: QueuePairTallies,
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let capture = &report.capture;
    let title = match report.taps.as_slice() {
        [tap] => label::file(&tap.file, options.path_width()),
        taps => counted(taps.len() as u64, "tap"),
    };
    let size = format!(
        "{}, {} in {}",
        counted(capture.frames, "frame"),
        bytes(capture.wire_bytes),
        duration(capture.duration_ns)
    );
    writeln!(out, "\n{}", sentence::titled(&title, &size, options.width))?;
    if capture.frames > 0 {
        writeln!(out, "{}", sentence::line(&content(report, tallies), options.width))?;
    }
    let hiding = HIDING.iter().filter_map(|name| {
        let value = report.tool.options.get(*name)?;
        match *name {
            "filter" => Some(format!("--filter '{value}'")),
            "qpn" => Some(format!("--qpn {}", hexadecimal(&report.tool.qpns))),
            _ => Some(format!("--{name} {value}")),
        }
    });
    let hiding: Vec<String> = hiding.collect();
    if !hiding.is_empty() {
        let hidden = match options.hidden_verdicts as u64 {
            0 => String::new(),
            some => format!("; {} about other queue pairs not shown", counted(some, "verdict")),
        };
        let filters = format!("filtered: {}{hidden}", hiding.join(" "));
        writeln!(out, "{}", sentence::painted(Meaning::Odd, &filters, options.width))?;
    }
    Ok(())
}

/// Queue pair numbers as tables show them.
fn hexadecimal(numbers: &[u32]) -> String {
    numbers.iter().map(|qpn| format!("{qpn:#x}")).collect::<Vec<_>>().join(",")
}

/// `12,578 RoCEv2, 4 TCP; 2 RDMA ports, 1 flow with data`.
fn content(report: &Report, tallies: QueuePairTallies) -> String {
    let capture = &report.capture;
    let kinds = [
        (capture.roce_frames, "RoCEv2"),
        (capture.tcp_frames, "TCP"),
        (capture.pfc_frames, "pause"),
        (capture.other_frames, "other"),
    ];
    let kinds = kinds.iter().filter(|(frames, _)| *frames > 0);
    let kinds: Vec<String> =
        kinds.map(|(frames, name)| format!("{} {name}", count(*frames))).collect();
    let mut line = kinds.join(", ");
    if capture.roce_frames > 0 {
        let ports = report.ports.iter().filter(|port| port.plane == Plane::Backend).count();
        let ports = counted(ports as u64, "RDMA port");
        line.push_str(&format!(
            "; {ports}, {} with data",
            counted(tallies.with_requests as u64, "flow")
        ));
    }
    line
}
