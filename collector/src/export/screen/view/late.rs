//! Late ranks: whom the others waited for, the longest wait first, with host and cause.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::export::screen::grid::{Cell, Grid, Row, Tone, numbers, words};
use crate::export::text::communicator_names::CommunicatorNames;
use crate::export::text::label;
use railscope_core::report::Report;
use railscope_core::report::stragglers::StragglerReport;
use railscope_core::report::words::number::{count, duration};
use railscope_core::report::words::straggler;

/// The collectives in which the others waited for one rank.
struct Late<'a> {
    times: u64,
    total_ns: u64,
    /// The longest wait.
    worst: &'a StragglerReport,
}

/// One row for each late rank.
pub(in crate::export::screen) fn grid(report: &Report) -> Grid {
    let mut ranks: BTreeMap<(&str, u32), Late<'_>> = BTreeMap::new();
    for collective in &report.collectives {
        let Some(one) = &collective.straggler else { continue };
        let key = (collective.communicator.as_str(), one.rank);
        let late = ranks.entry(key).or_insert(Late { times: 0, total_ns: 0, worst: one });
        late.times += 1;
        late.total_ns = late.total_ns.saturating_add(one.lag_ns);
        if one.lag_ns > late.worst.lag_ns {
            late.worst = one;
        }
    }
    let mut ranks: Vec<_> = ranks.into_iter().collect();
    ranks.sort_by_key(|(_, late)| Reverse(late.total_ns));
    let names = CommunicatorNames::new(&report.communicators);
    let row = |((communicator, _), late): ((&str, u32), Late<'_>)| {
        row(report, communicator, names, &late)
    };
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
        rows: ranks.into_iter().map(row).collect(),
        empty: match report.collectives.is_empty() {
            true => "Unknown: no NCCL collectives seen yet.".to_owned(),
            false => "No straggler found.".to_owned(),
        },
        is_list: false,
    }
}

fn row(report: &Report, communicator: &str, names: CommunicatorNames, late: &Late<'_>) -> Row {
    let Late { times, total_ns, worst } = late;
    Row {
        cells: vec![
            Cell::number(worst.rank.to_string(), u64::from(worst.rank)),
            Cell::word(host(report, communicator, worst.rank)),
            Cell::number(duration(*total_ns), *total_ns),
            Cell::number(duration(worst.lag_ns), worst.lag_ns),
            Cell::number(count(*times), *times),
            Cell::word(straggler::cause(worst.cause).side),
            Cell::word(worst.grade),
            Cell::word(worst.port.clone().unwrap_or_default()),
            Cell::word(names.where_needed(communicator)),
        ],
        tone: Tone::Bad,
        detail: String::new(),
    }
}

/// The host of a rank, by name or address; empty if unknown.
pub(super) fn host(report: &Report, communicator: &str, rank: u32) -> String {
    let mut communicators = report.communicators.iter();
    let place = communicators.find(|one| one.id == communicator).and_then(|one| {
        one.ranks.iter().find(|known| known.rank == rank).and_then(|known| known.place())
    });
    place.map(label::name).unwrap_or_default()
}
