//! The report as one JSON document: `railscope.report/1`.

use std::io::{self, Write};

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
