//! Ranks: how long each waited, and for what; first the one the others waited for longest.

use crate::export::screen::grid::{Cell, Grid, Row, Tone, numbers, words};
use crate::export::text::communicator_names::CommunicatorNames;
use crate::filter::Facts;
use railscope_core::report::Report;
use railscope_core::report::communicators::RankReport;
use railscope_core::report::words::number::{count, counted, duration};

pub(super) fn grid(report: &Report) -> Grid {
    let names = CommunicatorNames::new(&report.communicators);
    let mut rows = Vec::new();
    for communicator in &report.communicators {
        for rank in &communicator.ranks {
            rows.push((rank.waits.lag_ns, row(&names.short(&communicator.id), rank)));
        }
    }
    rows.sort_by_key(|(lag, _)| std::cmp::Reverse(*lag));
    Grid {
        headings: vec![
            words("COMM"),
            numbers("RANK"),
            words("HOST"),
            numbers("LAG"),
            numbers("COUNT"),
            numbers("LATE"),
            numbers("START"),
            numbers("SENDER"),
            numbers("RECEIVER"),
            numbers("INPUT"),
            numbers("RECOVERY"),
            numbers("CE"),
            numbers("RETRANS"),
        ],
        rows: rows.into_iter().map(|(_, row)| row).collect(),
        empty: "No ranks yet: they show in NCCL's set-up and in its messages.".to_owned(),
        is_list: false,
    }
}

fn row(communicator: &str, rank: &RankReport) -> Row {
    let sum = &rank.waits;
    let place = rank.place.as_deref().unwrap_or_default();
    let on = rank.place.as_ref().map(|place| format!(" on {place}")).unwrap_or_default();
    let pid = rank.pid.map(|pid| format!(", PID {pid}")).unwrap_or_default();
    let nics: Vec<_> = rank.nics.iter().map(|nic| nic.address.as_str()).collect();
    Row {
        cells: vec![
            Cell::word(communicator),
            Cell::number(rank.rank.to_string(), u64::from(rank.rank)),
            Cell::word(place),
            Cell::some(Some(sum.lag_ns), duration),
            Cell::some(Some(sum.late_collectives), count),
            Cell::some(sum.late_ns, duration),
            Cell::some(sum.start_wait_ns, duration),
            Cell::some(sum.sender_wait_ns, duration),
            Cell::some(sum.receiver_wait_ns, duration),
            Cell::some(sum.input_wait_ns, duration),
            Cell::some(sum.recovery_ns, duration),
            Cell::some(sum.ce_packets, count),
            Cell::some(sum.retransmitted_packets, count),
        ],
        tone: if sum.late_collectives > 0 { Tone::Bad } else { Tone::Plain },
        detail: format!(
            "Rank {} of {communicator}{on}{pid}, data over {}: {}",
            rank.rank,
            if nics.is_empty() { "unknown ports".to_owned() } else { nics.join(", ") },
            match sum.late_collectives {
                0 => "never the straggler".to_owned(),
                late => format!(
                    "the straggler of {}, {} in total",
                    counted(late, "collective"),
                    duration(sum.lag_ns)
                ),
            },
        ),
        facts: Facts::default()
            .number("rank", [Some(rank.rank), None])
            .address("host", [nics.first().unwrap_or(&""), nics.get(1).unwrap_or(&"")])
            .flag("late", sum.late_collectives > 0)
            .flag("ce", sum.ce_packets.is_some_and(|ce| ce > 0))
            .flag("retransmitted", sum.retransmitted_packets.is_some_and(|some| some > 0)),
    }
}
