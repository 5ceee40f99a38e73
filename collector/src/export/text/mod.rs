//! The report for people: one screen, sickest first.

mod burst_table;
mod calm;
mod clock_lines;
mod collective_table;
mod communicator;
pub(super) mod communicator_names;
pub mod explain;
pub(super) mod finding_list;
mod flow_table;
mod header;
pub(super) mod iteration_story;
mod iteration_table;
pub(super) mod job_iterations;
pub(super) mod label;
mod log_section;
pub mod news;
mod notes;
pub(super) mod owner;
mod pause_table;
mod phase_table;
mod port_table;
mod rank_list;
mod rank_table;
mod sentence;
mod style;
mod table;
mod tap_table;
mod unlinked;

use std::io::{self, Write};

use self::communicator_names::CommunicatorNames;
use self::quantity::count;
use railscope_core::report::Report;
use railscope_core::report::flows::FlowReport;
use railscope_core::report::queue_pairs::QueuePairReport;
pub(super) use railscope_core::report::words::number as quantity;

/// How to show a report.
#[derive(Clone, Copy, Debug)]
pub struct TextOptions {
    /// Rows of each table.
    pub top: usize,
}

impl TextOptions {
    /// Says how many rows of a table are not shown, and how to see them.
    fn write_more(&self, all: usize, out: &mut impl Write) -> io::Result<()> {
        match all.saturating_sub(self.top) {
            0 => Ok(()),
            more => writeln!(out, "and {} more: --top {all}", count(more as u64)),
        }
    }
}

/// The queue pairs of which `shows` holds for a flow, the worst first.
fn shown(report: &Report, shows: impl Fn(&FlowReport) -> bool) -> Vec<&QueuePairReport> {
    let is_shown = |id: &u32| report.flow(*id).is_some_and(&shows);
    report.queue_pairs.iter().filter(|one| one.flows.iter().any(is_shown)).collect()
}

/// Writes `report` for people, with the flows that `shows` holds for.
///
/// # Errors
///
/// When writing fails.
pub fn write(
    report: &Report,
    shows: impl Fn(&FlowReport) -> bool,
    options: &TextOptions,
    mut out: impl Write,
) -> io::Result<()> {
    let queue_pairs = shown(report, shows);
    let is_bad = finding_list::write_bad(report, &queue_pairs, options, &mut out)?;
    if is_bad {
        writeln!(out)?;
    }
    let has_files = !report.logs.files.is_empty() || !report.counters.is_empty();
    let is_without_captures = report.taps.is_empty() && has_files;
    if is_without_captures && !is_bad {
        calm::write_good(report, &mut out)?;
        if !report.logs.files.is_empty() {
            writeln!(out)?;
        }
    }
    log_section::write(report, options, &mut out)?;
    if is_without_captures {
        finding_list::write_good_to_know(report, &queue_pairs, options, &mut out)?;
        return notes::write(report, &[], &mut out);
    }
    if !report.logs.files.is_empty() {
        writeln!(out)?;
    }
    header::write(report, &queue_pairs, &mut out)?;
    tap_table::write(report, options, &mut out)?;
    clock_lines::write(report, options, &mut out)?;
    let names = CommunicatorNames::new(&report.communicators);
    if !is_bad {
        writeln!(out)?;
        calm::write(report, &queue_pairs, &mut out)?;
    }
    finding_list::write_good_to_know(report, &queue_pairs, options, &mut out)?;
    communicator::write(report, options, &mut out)?;
    iteration_table::write(report, names, options, &mut out)?;
    collective_table::write(report, names, options, &mut out)?;
    phase_table::write(report, names, options, &mut out)?;
    unlinked::write(report, options, &mut out)?;
    flow_table::write(report, &queue_pairs, names, options, &mut out)?;
    match report.bursts.as_deref() {
        Some([narrow, ..]) => burst_table::write(report, narrow, options, &mut out)?,
        _ => port_table::write(report, options, &mut out)?,
    }
    pause_table::write(report, options, &mut out)?;
    notes::write(report, &queue_pairs, &mut out)
}

/// Writes the least that tells how a training goes: what is wrong, and the training steps.
///
/// # Errors
///
/// When writing fails.
pub fn write_training(
    report: &Report,
    options: &TextOptions,
    mut out: impl Write,
) -> io::Result<()> {
    let queue_pairs = shown(report, |_| true);
    finding_list::write_bad(report, &queue_pairs, options, &mut out)?;
    iteration_table::write(report, CommunicatorNames::new(&report.communicators), options, &mut out)
}

/// `text` as an indented paragraph, broken between words.
#[must_use]
pub fn paragraph(text: &str) -> String {
    sentence::note(text)
}
