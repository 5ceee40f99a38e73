//! What was read of records: `4 flight recorder dumps, 20 calls; 2 answers of RAS`.

use std::io::{self, Write};

use super::options::TextOptions;
use super::quantity::counted;
use super::sentence;
use railscope_core::report::Report;

/// Writes it, if there is any.
pub(super) fn write(
    report: &Report,
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let records = &report.call_records;
    let mut parts = Vec::new();
    if !records.dumps.is_empty() {
        let calls = records.dumps.iter().map(|one| one.calls).sum();
        parts.push(format!(
            "{}, {}",
            counted(records.dumps.len() as u64, "flight recorder dump"),
            counted(calls, "call")
        ));
    }
    if !records.ras.is_empty() {
        parts.push(format!("{} of RAS", counted(records.ras.len() as u64, "answer")));
    }
    if parts.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}", sentence::line(&parts.join("; "), options.width))
}
