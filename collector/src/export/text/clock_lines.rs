//! Clocks that were corrected, and those that could not be, one per line.

use std::io::{self, Write};

use super::options::TextOptions;
use super::quantity::{clock_offset, counted, duration};
use super::{label, sentence};
use railscope_core::report::Report;
use railscope_core::report::taps::TapReport;

/// Writes how clocks were corrected; nothing if they agree.
pub(super) fn write(
    report: &Report,
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let lines = lines(report, options.path_width());
    for line in lines.iter().take(options.top) {
        writeln!(out, "{}", sentence::line(line, options.width))?;
    }
    options.write_more(lines.len(), out)
}

/// One sentence for each clock that was corrected or could not be.
pub(in crate::export) fn lines(report: &Report, path_width: usize) -> Vec<String> {
    report.taps.iter().filter_map(|tap| line(report, tap, path_width)).collect()
}

fn line(report: &Report, tap: &TapReport, path_width: usize) -> Option<String> {
    let file = |tap: &TapReport| label::file(&tap.file, path_width);
    let name = file(tap);
    match tap.clock_why_unknown {
        Some("no_line_fits") => {
            return Some(format!(
                "clock of {name} was set back or drifts unevenly: not corrected, its times do not \
                 compare with those of other taps"
            ));
        }
        Some("unknown_direction") => {
            return Some(format!(
                "clock of {name} not corrected: it is unknown which tap packets pass first"
            ));
        }
        _ => {}
    }
    let reference = report.taps.get(tap.clock_reference? as usize)?;
    let (offset_ns, drift_ppb) = (tap.clock_offset_ns?, tap.clock_drift_ppb?);
    if (offset_ns, drift_ppb) == (0, 0) && tap.clock_jumps.is_empty() {
        return None;
    }
    let offset = clock_offset(offset_ns);
    let way = if offset_ns < 0 { "behind" } else { "ahead of" };
    let mut line = format!("clock of {name} is {offset} {way} {}'s", file(reference));
    line.push_str(&match (tap.clock_uncertainty_ns, tap.clock_why_unknown) {
        (Some(uncertainty_ns), _) => format!(" (±{})", duration(uncertainty_ns)),
        (None, Some("same_machine")) => " (from a tap on the same machine)".to_owned(),
        (None, _) => {
            " (includes the path delay: packets captured in one direction only)".to_owned()
        }
    });
    if drift_ppb != 0 {
        line.push_str(&format!(", drift {:.1} ppm", drift_ppb as f64 / 1e3));
    }
    if !tap.clock_jumps.is_empty() {
        line.push_str(&format!(", {}", counted(tap.clock_jumps.len() as u64, "jump")));
    }
    line.push_str(": corrected");
    Some(line)
}
