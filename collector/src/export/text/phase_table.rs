//! Phases of the job: rendezvous, bootstrap, training.

use std::io::{self, Write};

use super::communicator_names::CommunicatorNames;
use super::options::TextOptions;
use super::quantity::{duration, moment};
use super::table::{Column, render};
use railscope_core::report::Report;
use railscope_core::report::phases::PhaseReport;

/// Writes the phases.
pub(super) fn write(
    report: &Report,
    names: CommunicatorNames,
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let phases = &report.phases;
    if phases.is_empty() {
        return Ok(());
    }
    let shown = &phases[..phases.len().min(options.top)];
    let column = |cell: &dyn Fn(&PhaseReport) -> String| shown.iter().map(cell).collect();
    let of = |phase: &PhaseReport| {
        phase.communicator.as_deref().map(|id| names.where_needed(id)).unwrap_or_default()
    };
    let lasts = |phase: &PhaseReport| {
        duration(u64::try_from(phase.end_ns.saturating_sub(phase.start_ns)).unwrap_or(0))
    };
    let columns = vec![
        Column::words("PHASE", column(&|phase| phase.phase.replace('_', " "))),
        Column::words("COMMUNICATOR", column(&of)),
        Column::numbers("FROM", column(&|phase| moment(phase.start_ns))),
        Column::numbers("TO", column(&|phase| moment(phase.end_ns))),
        Column::numbers("TIME", column(&lasts)),
    ];
    writeln!(out, "\n{}", render(columns, options.width))?;
    options.write_more(phases.len(), out)
}
