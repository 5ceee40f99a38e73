//! Reports as JSON: one document, `railscope.report/1`, and JSON lines for packets and messages.

use std::io::{self, BufWriter, Write};

use serde::Serialize;

use crate::printable::PrintableWriter;
use railscope_core::report::Report;

/// Bytes of a document that are passed on at a time.
const CHUNK: usize = 1 << 16;

/// Writes `report`, indented, with a final newline.
///
/// # Errors
///
/// When writing fails.
pub fn write<F: Serialize, Q: Serialize>(report: &Report<F, Q>, out: impl Write) -> io::Result<()> {
    write_document(report, out)
}

/// Writes `value` as [`write()`] does a report.
///
/// # Errors
///
/// When writing fails.
pub fn write_document(value: &impl Serialize, out: impl Write) -> io::Result<()> {
    // Its pieces are tokens of a few bytes: what passes them on has large ones.
    let mut out = BufWriter::with_capacity(CHUNK, PrintableWriter::json(out));
    serde_json::to_writer_pretty(&mut out, value)?;
    out.write_all(b"\n")?;
    out.flush()
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
