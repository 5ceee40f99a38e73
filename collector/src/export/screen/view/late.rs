//! Late ranks: whom the others waited for, the longest wait first, with host and cause.

use crate::export::screen::grid::{Cell, Grid, Row, Tone, numbers, words};
use crate::export::text::communicator_names::CommunicatorNames;
use crate::export::text::label;
use railscope_core::report::Report;
use railscope_core::report::late_ranks::LateRankReport;
use railscope_core::report::words::number::{count, duration};
use railscope_core::report::words::straggler;

/// One row for each late rank.
pub(in crate::export::screen) fn grid(report: &Report) -> Grid {
    let names = CommunicatorNames::new(&report.communicators);
    Grid {
        headings: vec![
            numbers("RANK"),
            words("HOST"),
            numbers("LAG"),
            numbers("LONGEST"),
            numbers("COUNT"),
            words("CAUSE"),
            words("GRADE"),
            words("PORT"),
            words("COMM"),
        ],
        rows: report.late_ranks.iter().map(|late| row(late, names)).collect(),
        empty: match report.collectives.is_empty() {
            true => "Unknown: no NCCL collectives seen yet.".to_owned(),
            false => "No straggler found.".to_owned(),
        },
        is_list: false,
    }
}

fn row(late: &LateRankReport, names: CommunicatorNames) -> Row {
    Row {
        cells: vec![
            Cell::number(late.rank.to_string(), u64::from(late.rank)),
            Cell::word(late.host.as_deref().map(label::name).unwrap_or_default()),
            Cell::number(duration(late.lag_ns), late.lag_ns),
            Cell::number(duration(late.longest_lag_ns), late.longest_lag_ns),
            Cell::number(count(late.collectives), late.collectives),
            Cell::word(straggler::cause(late.cause).side),
            Cell::word(late.grade),
            Cell::word(late.port.clone().unwrap_or_default()),
            Cell::word(names.where_needed(&late.communicator)),
        ],
        tone: Tone::Bad,
        ..Row::default()
    }
}

/// The host of a rank, by name or address; empty if unknown.
pub(super) fn host(report: &Report, communicator: &str, rank: u32) -> String {
    let mut communicators = report.communicators.iter();
    let place = communicators.find(|one| one.id == communicator).and_then(|one| {
        one.ranks.iter().find(|known| known.rank == rank).and_then(|known| known.place.as_deref())
    });
    place.map(label::name).unwrap_or_default()
}
