//! Who sent pause frames, the longest pause first.

use std::cmp::Reverse;
use std::io::{self, Write};

use super::options::TextOptions;
use super::quantity::{count, duration};
use super::table::{Column, render};
use railscope_core::report::Report;
use railscope_core::report::pfc::PfcReport;

/// Writes the pauses.
pub(super) fn write(
    report: &Report,
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    if report.pfc.is_empty() {
        return Ok(());
    }
    let mut rows: Vec<&PfcReport> = report.pfc.iter().collect();
    rows.sort_by_key(|pause| Reverse((pause.paused_ns, pause.pause_frames)));
    let all = rows.len();
    rows.truncate(options.top);
    let column = |cell: &dyn Fn(&PfcReport) -> String| rows.iter().map(|row| cell(row)).collect();
    let time = |nanos: Option<u64>| nanos.map_or_else(|| "unknown".to_owned(), duration);
    let columns = vec![
        Column::numbers(
            "TAP",
            column(&|row| row.tap.map_or_else(String::new, |tap| tap.to_string())),
        ),
        Column::words("PAUSE FROM", column(&|row| row.station.clone())),
        Column::words(
            "PRIORITY",
            column(&|row| {
                row.priority.map_or_else(|| "link".to_owned(), |priority| priority.to_string())
            }),
        ),
        Column::numbers("XOFF", column(&|row| count(row.pause_frames))),
        Column::numbers("XON", column(&|row| count(row.resume_frames))).spare(2),
        Column::numbers("PAUSED", column(&|row| time(row.paused_ns))),
        Column::numbers("LONGEST", column(&|row| time(row.longest_ns))).spare(1),
        Column::numbers(
            "STORMS",
            column(&|row| row.storms.map_or_else(|| "unknown".to_owned(), count)),
        ),
    ];
    writeln!(out, "\n{}", render(columns, options.width))?;
    options.write_more(all, out)
}
