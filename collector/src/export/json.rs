//! Reports as JSON: one document, `railscope.report/1`, and JSON lines for packets and messages.

use std::io::{self, Write};

use serde::Serialize;

use crate::printable::PrintableWriter;
use railscope_core::report::Report;

/// Writes `report`, indented, with a final newline.
///
/// # Errors
///
/// When writing fails.
pub fn write(report: &Report, out: impl Write) -> io::Result<()> {
    write_document(report, out)
}

/// Writes `value` as [`write()`] does a report.
///
/// # Errors
///
/// When writing fails.
pub fn write_document(value: &impl Serialize, mut out: impl Write) -> io::Result<()> {
    serde_json::to_writer_pretty(PrintableWriter::json(&mut out), value)?;
    out.write_all(b"\n")
}

/// Writes `value` as one line.
///
/// # Errors
///
/// When writing fails.
pub fn write_line(value: &impl Serialize, mut out: impl Write) -> io::Result<()> {
    serde_json::to_writer(PrintableWriter::json(&mut out), value)?;
    out.write_all(b"\n")
}
