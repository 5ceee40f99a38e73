//! Exit codes that several commands use.

use railscope_core::report::Report;

/// Wrong usage, or unreadable input.
pub(super) const EXIT_UNUSABLE: u8 = 2;

/// Ctrl-C ended the program.
#[cfg(target_os = "linux")]
pub(super) const EXIT_INTERRUPTED: u8 = 130;

/// [`EXIT_UNUSABLE`] if dumps or answers of RAS were given, none could be used, and nothing else was read; else 0.
pub(super) fn of_records<F, Q>(report: &Report<F, Q>) -> u8 {
    if report.call_records.unused.is_empty() { 0 } else { of_input(report) }
}

/// [`EXIT_UNUSABLE`] if nothing of what was given could be read; else 0.
pub(super) fn of_input<F, Q>(report: &Report<F, Q>) -> u8 {
    let records = &report.call_records;
    let is_log = report.logs.files.iter().any(|file| file.nccl_entries + file.other_lines > 0);
    let is_read = !(report.taps.is_empty() && report.counters.is_empty())
        || is_log
        || !(records.dumps.is_empty() && records.ras.is_empty() && records.proxies.is_empty());
    if is_read { 0 } else { EXIT_UNUSABLE }
}
