//! What was read of records: `4 flight recorder dumps, 20 calls; 2 answers of RAS`.

use std::io::{self, Write};

use super::options::TextOptions;
use super::quantity::counted;
use super::style::Meaning;
use super::{label, sentence};
use railscope_core::report::Report;
use railscope_core::report::call_records::UnusedRecordReport;

/// Writes it, if there is any.
pub(super) fn write(
    report: &Report,
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    if let Some(read) = summary(report) {
        writeln!(out, "\n{}", sentence::line(&read, options.width))?;
    }
    write_unused(&report.call_records.unused, options, out)
}

/// What was read, in one phrase; `None` if there is nothing.
pub(super) fn summary(report: &Report) -> Option<String> {
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
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Writes which records are not used, and why: those with the same reason together.
pub(super) fn write_unused(
    unused: &[UnusedRecordReport],
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut reasons: Vec<(&str, Vec<&UnusedRecordReport>)> = Vec::new();
    for one in unused {
        match reasons.iter_mut().find(|(why, _)| *why == one.why) {
            Some((_, all)) => all.push(one),
            None => reasons.push((&one.why, vec![one])),
        }
    }
    for (why, all) in reasons.iter().take(options.top) {
        let first = all.first().map(|one| one.file.as_str()).unwrap_or_default();
        let more = match all.len() {
            0 | 1 => String::new(),
            many => format!(" and {}", counted(many as u64 - 1, "other")),
        };
        let text = format!("Not used: {first}{more}: {why}.");
        let text = label::printable(&text);
        writeln!(out, "{}", sentence::bullet(Meaning::Odd, &text, options.width))?;
    }
    options.write_more(reasons.len(), out)
}
