//! The report as text: the worst problem first, then the facts behind it.

mod burst_table;
mod call_record_lines;
pub(super) mod calm;
pub(super) mod clock_lines;
mod collective_table;
mod communicator;
pub(super) mod communicator_names;
pub mod comparison;
#[cfg(all(target_os = "linux", feature = "live"))]
pub mod doctor;
pub mod explain;
pub(super) mod finding_list;
mod flow_table;
mod header;
pub(super) mod iteration_story;
pub(super) mod iteration_table;
pub(super) mod job_iterations;
pub(super) mod label;
mod log_section;
pub mod news;
#[cfg(all(target_os = "linux", feature = "live"))]
pub mod node_comparison;
pub(super) mod notes;
mod options;
pub(super) mod owner;
mod pause_table;
mod phase_table;
mod port_table;
mod proxy_lines;
pub(super) mod quantity;
mod rank_list;
mod rank_table;
pub(super) mod sampled_section;
mod sentence;
mod shown;
mod style;
mod table;
mod tap_table;
pub(super) mod tool_section;
pub(super) mod unlinked;
mod verdict_list;

use std::io::{self, Write};

use self::communicator_names::CommunicatorNames;
pub use self::options::TextOptions;
use self::shown::Shown;
use railscope_core::report::Report;
use railscope_core::report::flows::FlowReport;

/// Writes `report`, restricted to the flows that `shows` selects, if it is given: the verdict, the input, who was
/// late and when, then the tables, and last the uncertainties.
///
/// # Errors
///
/// When writing fails.
pub fn write(
    report: &Report,
    shows: Option<&dyn Fn(&FlowReport) -> bool>,
    options: &TextOptions,
    mut out: impl Write,
) -> io::Result<()> {
    let shown = Shown::new(report, shows);
    let is_bad = verdict_list::write_bad(report, options, &mut out)?;
    if !is_bad {
        calm::write(report, shown.tallies, options, &mut out)?;
    }
    log_section::write(report, options, &mut out)?;
    call_record_lines::write(report, options, &mut out)?;
    proxy_lines::write(report, options, &mut out)?;
    tool_section::write(report, options, &mut out)?;
    if calm::is_without_captures(report) {
        finding_list::write_good_to_know(report, &shown, options, &mut out)?;
        return notes::write(report, shown.tallies, options, &mut out);
    }
    header::write(report, shown.tallies, options, &mut out)?;
    finding_list::write_good_to_know(report, &shown, options, &mut out)?;
    let names = CommunicatorNames::new(&report.communicators);
    iteration_table::write(report, names, options, &mut out)?;
    collective_table::write(report, names, options, &mut out)?;
    communicator::write(report, options, &mut out)?;
    phase_table::write(report, names, options, &mut out)?;
    unlinked::write(report, options, &mut out)?;
    flow_table::write(report, &shown, names, options, &mut out)?;
    match report.bursts.as_deref() {
        Some([narrow, ..]) => burst_table::write(report, narrow, options, &mut out)?,
        _ => port_table::write(report, options, &mut out)?,
    }
    pause_table::write(report, options, &mut out)?;
    sampled_section::write(report, options, &mut out)?;
    tap_table::write(report, options, &mut out)?;
    clock_lines::write(report, options, &mut out)?;
    notes::write(report, shown.tallies, options, &mut out)
}

/// Writes the short form for a training: what is wrong, and the training steps.
///
/// # Errors
///
/// When writing fails.
pub fn write_training(
    report: &Report,
    options: &TextOptions,
    mut out: impl Write,
) -> io::Result<()> {
    verdict_list::write_bad(report, options, &mut out)?;
    iteration_table::write(report, CommunicatorNames::new(&report.communicators), options, &mut out)
}

/// `text` as an indented paragraph, wrapped between words.
#[must_use]
pub fn paragraph(text: &str, width: usize) -> String {
    sentence::note(text, width)
}
