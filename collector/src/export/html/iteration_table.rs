//! The training steps as a table: what the timeline shows, in figures.

use super::markup::{Element, Markup};
use super::page::moment;
use super::table::{Align, Cell, Table};
use crate::export::text::iteration_table;
use crate::export::text::job_iterations::{JobIterations, name};
use crate::export::text::quantity::{bit_rate, count, counted, duration};
use railscope_core::report::iterations::IterationReport;

/// Rows of the table: the longest if there are more.
const ROWS: usize = 200;

const COLUMNS: &[(&str, Align)] = &[
    ("Step", Align::Numbers),
    ("Starts at", Align::Numbers),
    ("Duration", Align::Numbers),
    ("Beyond median", Align::Numbers),
    ("Communication", Align::Numbers),
    ("Idle", Align::Numbers),
    ("Peak rate", Align::Numbers),
    ("CE marks", Align::Numbers),
    ("CNPs", Align::Numbers),
    ("Retransmitted", Align::Numbers),
    ("Paused", Align::Numbers),
    ("Late rank", Align::Words),
    ("Waited", Align::Numbers),
    ("Cause", Align::Words),
];

/// `20 in 11.2 s, median 366 ms; 1 stands out`.
pub(super) fn summary(job: &JobIterations<'_>) -> String {
    iteration_table::summary(job.job)
}

/// The table, folded.
pub(super) fn folded(job: &JobIterations<'_>) -> Element {
    let mut shown = job.all.clone();
    let mut summary = format!("{} as a table", counted(shown.len() as u64, "training step"));
    if shown.len() > ROWS {
        shown.sort_by_key(|one| std::cmp::Reverse(one.length_ns()));
        shown.truncate(ROWS);
        shown.sort_by_key(|one| one.iteration);
        summary = format!(
            "The longest {ROWS} of {} training steps as a table",
            count(job.all.len() as u64)
        );
    }
    let mut table = Table::new("Training steps", COLUMNS);
    shown.iter().for_each(|one| table.push(row(one)));
    let summary = Element::new("summary").text(summary);
    Element::new("details").child(summary).child(Markup::from(table))
}

fn row(one: &IterationReport) -> Vec<Cell> {
    let late = one.straggler.as_ref();
    let hidden = "no tap could see this";
    let beyond = one
        .excess_ns
        .map_or_else(|| Cell::text(""), |ns| Cell::number(ns, format!("+{}", duration(ns))));
    vec![
        Cell::text(name(one)).sorted_by(f64::from(one.iteration)),
        Cell::text(moment(one.start_ns)).sorted_by(one.start_ns as f64),
        Cell::number(one.length_ns(), duration(one.length_ns())),
        beyond,
        Cell::number(one.communication_ns, duration(one.communication_ns)),
        Cell::number(one.idle_ns, duration(one.idle_ns)),
        Cell::maybe(one.peak_bps, |bps| bit_rate(bps as f64), "messages are missing"),
        Cell::maybe(one.ce_packets, count, hidden),
        Cell::maybe(one.cnps, count, hidden),
        Cell::maybe(one.retransmitted_packets, count, "too many to keep"),
        Cell::maybe(one.paused_ns, duration, "no pause frames and no NIC counters"),
        Cell::text(late.map(|late| format!("rank {}", late.rank)).unwrap_or_default()),
        late.map_or_else(
            || Cell::text(""),
            |late| Cell::number(late.lag_ns, duration(late.lag_ns)),
        ),
        Cell::text(late.map_or("", |late| late.cause.name())),
    ]
}
