//! Flows with unknown or incomplete ranks, by reason.

use std::io::{self, Write};

use super::options::TextOptions;
use super::quantity::{bytes, counted};
use super::sentence;
use super::style::{Meaning, paint};
use railscope_core::report::Report;

/// Writes the reasons, that of most bytes first; nothing if every flow has ranks or there is no
/// communicator.
pub(super) fn write(
    report: &Report,
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let groups = &report.unlinked;
    if groups.is_empty() || report.communicators.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}", paint(Meaning::Heading, "Flows with unknown or incomplete ranks"))?;
    for group in groups.iter().take(options.top) {
        let what = if group.has_communicator { " with incomplete ranks" } else { "" };
        let line = format!(
            "{}{what}, {}, {}: {}",
            counted(group.flows, "flow"),
            counted(group.frames, "frame"),
            bytes(group.payload_bytes),
            group.why_unknown
        );
        writeln!(out, "{}", sentence::note(&line, options.width))?;
    }
    options.write_more(groups.len(), out)
}

/// Why no rank is known, in one line, for captures without communicators.
pub(super) fn note(report: &Report) -> Option<String> {
    if !report.communicators.is_empty() {
        return None;
    }
    let group = report.unlinked.first()?;
    Some(format!("flows without an NCCL rank: {}", group.why_unknown))
}
