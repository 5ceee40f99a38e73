//! The parts of a connection's time add up to the whole, whatever was captured.

use proptest::prelude::*;
use railscope_core::analysis::collective::Collective;
use railscope_core::analysis::collective::extract::collectives;
use railscope_core::analysis::wait::{
    self, departure::DepartureClocks, feed::Feeds, pause::Pauses, trouble::Troubles,
};
use railscope_core::link::job::{Job, Transfer};
use railscope_core::model::nccl::{CollectiveKind, Protocol};
use railscope_core::model::time::{Span, Timestamp};
use serde_json::Value;

use super::job::{Cluster, Operation};
use crate::cli::railscope_on;
use crate::support::recording::Recording;

const PARTS: [&str; 7] = [
    "start_wait_ns",
    "sender_wait_ns",
    "receiver_wait_ns",
    "input_wait_ns",
    "transfer_ns",
    "recovery_ns",
    "paused_ns",
];

/// Jobs with loss, a dead path, two queue pairs, two GPUs per node, a tree, sends and receives, and
/// one captured from the middle.
const RUNS: [&str; 7] = [
    "async-loss1pct-2.28.9",
    "blackhole-2.27.5",
    "qps2-2.21.5",
    "multigpu-2n2g-2.27.5",
    "tree-2.27.5",
    "alltoall-2.27.5",
    "midjob-2.27.5",
];

#[test]
fn parts_sum_to_the_time_of_each_edge_of_recorded_jobs() {
    for run in RUNS {
        let recording = Recording::unpack(run);
        let arguments = ["analyze", "--format", "json", "--detail", "full"];
        let arguments = [&arguments[..], &["--detail-file", "messages.jsonl"]].concat();
        let output = railscope_on(&recording, &arguments).succeeds();
        let report: Value = serde_json::from_str(&output).unwrap();
        let collectives = report["collectives"].as_array().unwrap();
        let edges = collectives.iter().flat_map(|one| one["connections"].as_array().unwrap());
        let mut total = [0; PARTS.len()];
        for edge in edges {
            let waits = &edge["waits"];
            let parts = PARTS.map(|part| waits[part].as_u64().unwrap_or(0));
            let [start, end] =
                ["start_ns", "end_ns"].map(|time| waits[time].as_i64().expect("measured"));
            assert_eq!(parts.iter().sum::<u64>() as i64, end - start, "{run}: {edge}");
            total.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
        }
        assert!(total[4] > 0, "{run}: no transfer time");
        let is_lossy = run.contains("loss") || run.contains("blackhole");
        assert_eq!(total[5] > 0, is_lossy, "{run}: {total:?}");
    }
}

fn job(operations: usize) -> (Job, Vec<Collective>) {
    let mut cluster = Cluster::new(4, 2, 1 << 18);
    let operation = Operation {
        kind: CollectiveKind::AllReduce,
        protocol: Protocol::Simple,
        shares: vec![1 << 20; 2],
        root: 0,
    };
    (0..operations).for_each(|_| cluster.run(&operation));
    let job = cluster.finish();
    let collectives = collectives(&job);
    (job, collectives)
}

/// Shifts some times and removes others: a capture may lack them.
fn disturb(transfer: &mut Transfer, [a, b, c, d]: [u64; 4]) {
    let time = |nanos: u64| Timestamp::from_nanos(nanos);
    let span = |one: u64, other: u64| {
        (!one.is_multiple_of(7))
            .then(|| Span { first: time(one.min(other)), last: time(one.max(other)) })
    };
    transfer.sent = span(a, b);
    transfer.received = span(b, c);
    if let Some(cts) = &mut transfer.cts {
        cts.arrived = (d % 3 != 0).then(|| time(d));
        cts.posted = (d % 5 != 0).then(|| time(c));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn parts_sum_whatever_the_times(
        times in prop::collection::vec([0..5_000_000_u64, 0..5_000_000, 0..5_000_000, 0..u64::MAX], 64),
        share in 0..100_u32,
    ) {
        let (mut job, collectives) = job(3);
        prop_assert_eq!(collectives.len(), 3);
        let transfers = job.connections.iter_mut().flat_map(|one| &mut one.transfers);
        for (at, transfer) in transfers.enumerate() {
            if (at as u32).wrapping_mul(0x9e37_79b9) % 100 < share {
                disturb(transfer, times[at % times.len()]);
            }
        }
        let waits = wait::measure(&job, (&Troubles::default(), &Pauses::default()), &DepartureClocks::default(), &Feeds::default(), &collectives);
        prop_assert_eq!(waits.len(), collectives.len());
        for edge in waits.iter().flat_map(|waits| &waits.edges) {
            prop_assert_eq!(edge.parts_ns(), edge.span.last.nanos_since(edge.span.first));
        }
    }
}

#[test]
fn no_rank_is_late_if_all_are_equal() {
    let (job, collectives) = job(4);
    let waits = wait::measure(
        &job,
        (&Troubles::default(), &Pauses::default()),
        &DepartureClocks::default(),
        &Feeds::default(),
        &collectives,
    );
    for (at, waits) in waits.iter().enumerate() {
        let measured = waits.ranks.iter().filter(|rank| rank.lateness.is_some()).count();
        // Connections may be set up during the first collective.
        assert_eq!(measured, if at == 0 { 0 } else { 4 });
        let ranks = &waits.ranks;
        for rank in ranks {
            let late_ns = rank.lateness.map(|lateness| lateness.late_ns.unsigned_abs());
            assert!(late_ns.is_none_or(|late_ns| late_ns <= 60), "{rank:?}");
        }
    }
}
