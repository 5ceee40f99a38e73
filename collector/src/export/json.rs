//! Reports as JSON: one document `railscope.report/1`, and one object a line for what there is much
//! of.

use std::io::{self, Write};

use serde::Serialize;

use crate::report::Report;

/// Writes `report`, indented, with a final newline.
///
/// # Errors
///
/// When writing fails.
pub fn write(report: &Report, mut out: impl Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut out, report)?;
    out.write_all(b"\n")
}

/// Writes `value` as one line.
///
/// # Errors
///
/// When writing fails.
pub fn write_line(value: &impl Serialize, mut out: impl Write) -> io::Result<()> {
    serde_json::to_writer(&mut out, value)?;
    out.write_all(b"\n")
}
