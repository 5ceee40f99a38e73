//! Flows with unknown or incomplete ranks, by reason.

use std::io::{self, Write};

use super::options::TextOptions;
use super::quantity::{bytes, counted};
use super::sentence;
use super::style::{Meaning, paint};
use railscope_core::report::Report;
use railscope_core::report::unlinked::UnlinkedReport;

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
        writeln!(out, "{}", sentence::note(&line(group), options.width))?;
    }
    options.write_more(groups.len(), out)
}

/// `3 flows with incomplete ranks, 200 frames, 1.20 MiB: its bootstrap was not captured`.
pub(in crate::export) fn line(group: &UnlinkedReport) -> String {
    let what = if group.has_communicator { " with incomplete ranks" } else { "" };
    format!(
        "{}{what}, {}, {}: {}",
        counted(group.flows, "flow"),
        counted(group.frames, "frame"),
        bytes(group.payload_bytes),
        group.why_unknown
    )
}

/// Why no rank is known, in one line, for captures without communicators.
pub(super) fn note(report: &Report) -> Option<String> {
    if !report.communicators.is_empty() {
        return None;
    }
    let group = report.unlinked.first()?;
    Some(format!("flows without an NCCL rank: {}", group.why_unknown))
}
