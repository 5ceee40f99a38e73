//! Training steps, the newest first.

use super::{evidence, late};
use crate::export::screen::grid::{Cell, Grid, Row, Tone, numbers, words};
use crate::export::text::iteration_story;
use crate::export::text::job_iterations::name;
use crate::filter::Facts;
use railscope_core::report::Report;
use railscope_core::report::iterations::IterationReport;
use railscope_core::report::words::number::{bit_rate, bytes, count, duration, percent};

/// The first columns fit 80 characters: how long a step took, who was late, and why.
pub(in crate::export::screen) fn grid(report: &Report) -> Grid {
    let mut all: Vec<&IterationReport> = report.iterations.iter().collect();
    all.sort_by_key(|one| std::cmp::Reverse((one.start_ns, one.iteration)));
    Grid {
        headings: vec![
            numbers("STEP"),
            numbers("TIME"),
            numbers("LONGER"),
            words("STRAGGLER"),
            words("CAUSE"),
            words("GRADE"),
            words("HOST"),
            numbers("COMM"),
            numbers("SENT"),
            numbers("PEAK"),
            numbers("CE"),
            numbers("CNP"),
            numbers("RETRANS"),
            numbers("PAUSE"),
        ],
        rows: all.into_iter().map(|one| row(report, one)).collect(),
        empty: "No training steps yet: they appear once NCCL's calls have repeated.".to_owned(),
        is_list: false,
    }
}

fn row(report: &Report, one: &IterationReport) -> Row {
    let length = one.length_ns();
    let excess = one.excess_ns;
    let late = one.straggler.as_ref();
    let marked = one.ce_packets.filter(|packets| *packets > 0);
    let share = one.ce_share.filter(|_| marked.is_some()).map(percent).unwrap_or_default();
    let collective = one.straggler_collective.and_then(|id| {
        let at = report.collectives.binary_search_by_key(&id, |one| one.id).ok()?;
        report.collectives.get(at)
    });
    let host = late.zip(collective);
    let evidence = late.map(|late| evidence::lines(report, late.grade, &late.evidence));
    Row {
        cells: vec![
            Cell::number(name(one), u64::from(one.iteration)),
            Cell::number(duration(length), length),
            Cell::some(excess, |excess| format!("+{}", duration(excess))),
            Cell::word(late.map_or_else(String::new, |late| {
                format!("rank {} {}", late.rank, duration(late.lag_ns))
            })),
            Cell::word(late.map_or("", |late| late.cause.name())),
            Cell::word(late.map_or("", |late| late.grade)),
            Cell::word(host.map_or_else(String::new, |(late, collective)| {
                late::host(report, &collective.communicator, late.rank)
            })),
            Cell::number(duration(one.communication_ns), one.communication_ns),
            Cell::some(one.bytes, bytes),
            Cell::some(one.peak_bps, |bps| bit_rate(bps as f64)),
            marked.map_or_else(Cell::default, |marked| Cell::number(share, marked)),
            Cell::some(one.cnps, count),
            Cell::some(one.retransmitted_packets, count),
            Cell::some(one.paused_ns, duration),
        ],
        tone: match (late, excess) {
            (Some(_), _) => Tone::Bad,
            (None, Some(_)) => Tone::Odd,
            (None, None) => Tone::Plain,
        },
        detail: format!("{}{}", iteration_story::sentence(one), evidence.unwrap_or_default()),
        facts: facts(one),
    }
}

fn facts(one: &IterationReport) -> Facts {
    let some = |value: Option<u64>| value.is_some_and(|value| value > 0);
    Facts::default()
        .number("step", [Some(one.iteration), None])
        .number("rank", [one.straggler.as_ref().map(|late| late.rank), None])
        .flag("late", one.straggler.is_some())
        .flag("ce", some(one.ce_packets))
        .flag("cnp", some(one.cnps))
        .flag("retransmitted", some(one.retransmitted_packets))
        .flag("pause", some(one.paused_ns))
}
