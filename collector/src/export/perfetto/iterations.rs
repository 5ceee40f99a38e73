//! Training steps as slices of the job, and below them their stragglers.

use serde_json::json;

use super::event::{Arguments, Track, arguments};
use super::processes::{Process, Processes};
use super::slices::{Slice, place};
use railscope_core::report::Report;
use railscope_core::report::collectives::CollectiveReport;
use railscope_core::report::iterations::IterationReport;
use railscope_core::report::stragglers::StragglerReport;

/// A track for the training steps of each job, and one for its stragglers.
pub(super) fn tracks(report: &Report, processes: &mut Processes) -> Vec<Track> {
    let mut leaders: Vec<&str> =
        report.iterations.iter().filter_map(|one| one.communicator.as_deref()).collect();
    leaders.sort_unstable();
    leaders.dedup();
    let mut tracks = Vec::new();
    for leader in &leaders {
        let own =
            report.iterations.iter().filter(|one| one.communicator.as_deref() == Some(*leader));
        let thread = match leaders.len() {
            1 => "training steps".to_owned(),
            _ => format!("training steps of {leader}"),
        };
        tracks.extend(place(own.map(slice).collect(), &Process::Job, &thread, processes));
    }
    for communicator in &report.communicators {
        let own = report.collectives.iter().filter(|one| one.communicator == communicator.id);
        let late = own.filter_map(|one| Some(straggler(one, one.straggler.as_ref()?)));
        let process = Process::Communicator(communicator.id.clone());
        tracks.extend(place(late.collect(), &process, "stragglers", processes));
    }
    tracks
}

fn slice(one: &IterationReport) -> Slice {
    let label = one.label.as_deref();
    let name = label.map_or_else(|| one.iteration.to_string(), str::to_owned);
    let late = one.straggler.as_ref();
    Slice {
        start_ns: one.start_ns,
        end_ns: one.end_ns.max(one.start_ns),
        name: format!("training step {name}"),
        category: "training_step",
        arguments: arguments([
            ("number", json!(one.iteration)),
            ("label", json!(label)),
            ("communication_us", microseconds(one.communication_ns)),
            ("idle_us", microseconds(one.idle_ns)),
            ("bytes", json!(one.bytes)),
            ("peak_bps", json!(one.peak_bps)),
            ("ce_packets", json!(one.ce_packets)),
            ("cnps", json!(one.cnps)),
            ("retransmitted_packets", json!(one.retransmitted_packets)),
            ("paused_us", one.paused_ns.map_or(json!(null), microseconds)),
            ("straggler", json!(late.map(|late| late.rank))),
            ("straggler_cause", json!(late.map(|late| late.cause.name()))),
            ("complete", json!(one.complete)),
        ]),
    }
}

/// From when the others could have continued to when they did: up to the rank's first data if it sent
/// late, else from the start of the collective.
fn straggler(one: &CollectiveReport, late: &StragglerReport) -> Slice {
    let lag_ns = i64::try_from(late.lag_ns).unwrap_or(i64::MAX);
    let sent_late = late.cause.is_own();
    let part = one.ranks.iter().find(|part| part.rank == late.rank);
    let first_send = part.and_then(|part| part.first_send_ns).filter(|_| sent_late);
    let start_ns = first_send.map_or(one.start_ns, |sent| sent.saturating_sub(lag_ns));
    Slice {
        start_ns,
        end_ns: start_ns.saturating_add(lag_ns),
        name: format!("rank {} ({})", late.rank, late.cause.name()),
        category: "straggler",
        arguments: details(one, late),
    }
}

fn details(one: &CollectiveReport, late: &StragglerReport) -> Arguments {
    arguments([
        ("collective", json!(one.id)),
        ("lag_us", microseconds(late.lag_ns)),
        ("port", json!(late.port)),
        ("flow", json!(late.flow)),
        ("grade", json!(late.grade)),
        ("evidence", json!(late.evidence.first().map(|reason| &reason.text))),
    ])
}

fn microseconds(nanos: u64) -> serde_json::Value {
    json!(nanos as f64 / 1000.0)
}
