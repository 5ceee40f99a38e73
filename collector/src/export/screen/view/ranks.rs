//! Ranks: how long each waited, and for what; first the one the others waited for longest.

use std::collections::BTreeMap;

use crate::export::screen::grid::{Cell, Grid, Row, Tone, numbers, words};
use crate::export::text::communicator_names::CommunicatorNames;
use railscope_core::report::Report;
use railscope_core::report::collectives::CollectiveRankReport;
use railscope_core::report::communicators::RankReport;
use railscope_core::report::words::number::{count, counted, duration};

/// Sums over the collectives of a report.
#[derive(Clone, Copy, Default)]
struct Sums {
    /// Collectives in which the others waited for this rank.
    named: u64,
    /// How long they waited.
    lag_ns: u64,
    late_ns: Option<u64>,
    start_wait_ns: Option<u64>,
    sender_wait_ns: Option<u64>,
    receiver_wait_ns: Option<u64>,
    input_wait_ns: Option<u64>,
    recovery_ns: Option<u64>,
    ce_packets: Option<u64>,
    retransmitted_packets: Option<u64>,
}

impl Sums {
    fn add(&mut self, one: &CollectiveRankReport) {
        let late = one.late_ns.map(|late| u64::try_from(late).unwrap_or(0));
        let pairs = [
            (&mut self.late_ns, late),
            (&mut self.start_wait_ns, one.start_wait_ns),
            (&mut self.sender_wait_ns, one.sender_wait_ns),
            (&mut self.receiver_wait_ns, one.receiver_wait_ns),
            (&mut self.input_wait_ns, one.input_wait_ns),
            (&mut self.recovery_ns, one.recovery_ns),
            (&mut self.ce_packets, one.ce_packets),
            (&mut self.retransmitted_packets, one.retransmitted_packets),
        ];
        for (sum, value) in pairs {
            if let Some(value) = value {
                *sum = Some(sum.unwrap_or(0).saturating_add(value));
            }
        }
    }
}

pub(super) fn grid(report: &Report) -> Grid {
    let names = CommunicatorNames::new(&report.communicators);
    let mut sums: BTreeMap<(&str, u32), Sums> = BTreeMap::new();
    for collective in &report.collectives {
        let of = collective.communicator.as_str();
        for rank in &collective.ranks {
            sums.entry((of, rank.rank)).or_default().add(rank);
        }
        if let Some(late) = &collective.straggler {
            let sum = sums.entry((of, late.rank)).or_default();
            sum.named += 1;
            sum.lag_ns = sum.lag_ns.saturating_add(late.lag_ns);
        }
    }
    let mut rows = Vec::new();
    for communicator in &report.communicators {
        for rank in &communicator.ranks {
            let sum = sums.get(&(communicator.id.as_str(), rank.rank)).copied().unwrap_or_default();
            rows.push((sum.lag_ns, row(&names.short(&communicator.id), rank, &sum)));
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

fn row(communicator: &str, rank: &RankReport, sum: &Sums) -> Row {
    let place = rank.place().unwrap_or_default();
    let on = rank.place().map(|place| format!(" on {place}")).unwrap_or_default();
    let pid = rank.pid.map(|pid| format!(", PID {pid}")).unwrap_or_default();
    let nics: Vec<_> = rank.nics.iter().map(|nic| nic.address.as_str()).collect();
    Row {
        cells: vec![
            Cell::word(communicator),
            Cell::number(rank.rank.to_string(), u64::from(rank.rank)),
            Cell::word(place),
            Cell::some(Some(sum.lag_ns), duration),
            Cell::some(Some(sum.named), count),
            Cell::some(sum.late_ns, duration),
            Cell::some(sum.start_wait_ns, duration),
            Cell::some(sum.sender_wait_ns, duration),
            Cell::some(sum.receiver_wait_ns, duration),
            Cell::some(sum.input_wait_ns, duration),
            Cell::some(sum.recovery_ns, duration),
            Cell::some(sum.ce_packets, count),
            Cell::some(sum.retransmitted_packets, count),
        ],
        tone: if sum.named > 0 { Tone::Bad } else { Tone::Plain },
        detail: format!(
            "Rank {} of {communicator}{on}{pid}, data over {}: {}",
            rank.rank,
            if nics.is_empty() { "unknown ports".to_owned() } else { nics.join(", ") },
            match sum.named {
                0 => "never the straggler".to_owned(),
                named => format!(
                    "the straggler of {}, {} in total",
                    counted(named, "collective"),
                    duration(sum.lag_ns)
                ),
            },
        ),
    }
}
