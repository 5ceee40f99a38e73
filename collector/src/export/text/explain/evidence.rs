//! Evidence, each with its frame or line.

use std::io::{self, Write};

use crate::export::text::TextOptions;
use crate::export::text::label;
use crate::export::text::quantity::moment;
use crate::export::text::sentence;
use crate::export::text::style::Meaning;
use railscope_core::report::evidence::EvidenceReport;

/// Writes the evidence of a statement below a heading.
pub(super) fn write(
    heading: &str,
    evidence: &[EvidenceReport],
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    if evidence.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}", sentence::painted(Meaning::Heading, heading, options.width))?;
    write_reasons(evidence, options, out)
}

/// Writes the evidence of a statement.
pub(super) fn write_reasons(
    evidence: &[EvidenceReport],
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    for reason in evidence {
        writeln!(out, "{}", sentence::note(&reason.text, options.width))?;
        if let Some(place) = place(reason, options) {
            writeln!(out, "{}", sentence::place(&place, options.width))?;
        }
    }
    Ok(())
}

/// Writes one piece of evidence below a statement.
pub(super) fn write_below(
    reason: &EvidenceReport,
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let place = place(reason, options).map(|place| format!(" ({place})")).unwrap_or_default();
    let text = format!("{}{place}", label::printable(&reason.text));
    writeln!(out, "{}", sentence::place(&text, options.width))
}

/// `host1.pcap frame 161 at 0.316419 s`.
fn place(reason: &EvidenceReport, options: &TextOptions) -> Option<String> {
    let file = label::file(reason.source.as_ref()?, options.path_width());
    let time = reason.time_ns.map(|time| format!(" at {}", moment(time))).unwrap_or_default();
    match (reason.frame, reason.line) {
        (Some(frame), _) => Some(format!("{file} frame {frame}{time}")),
        (None, Some(line)) => Some(format!("{file} line {line}")),
        (None, None) => Some(file),
    }
}

/// Writes how to find a frame in Wireshark.
pub(super) fn write_hint(options: &TextOptions, out: &mut impl Write) -> io::Result<()> {
    let hint =
        "in Wireshark: frame.number == N; times are relative to the first frame of the input";
    writeln!(out, "\n{}", sentence::painted(Meaning::Aside, hint, options.width))
}
