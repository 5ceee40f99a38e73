//! Time of each collective on each connection, as two consecutive slices: the wait for its first packet,
//! and the rest. The parts of the rest are scattered between messages, so their sums are given as
//! arguments.

use std::collections::BTreeMap;

use serde_json::json;

use super::collectives::host;
use super::event::{Track, arguments};
use super::messages::connection_name;
use super::processes::{Process, Processes};
use super::slices::{Slice, place};
use railscope_core::report::Report;
use railscope_core::report::collectives::CollectiveReport;
use railscope_core::report::communicators::{CommunicatorReport, ConnectionReport};
use railscope_core::report::waits::WaitsReport;

/// A track for each connection, on the sending host.
pub(super) fn tracks(report: &Report, processes: &mut Processes) -> Vec<Track> {
    let mut waits: BTreeMap<u32, Vec<(&CollectiveReport, &WaitsReport)>> = BTreeMap::new();
    for one in &report.collectives {
        for part in &one.connections {
            if let Some(edge) = &part.waits {
                waits.entry(part.connection).or_default().push((one, edge));
            }
        }
    }
    let mut tracks = Vec::new();
    for communicator in &report.communicators {
        for connection in &communicator.connections {
            let own = waits.remove(&connection.id).unwrap_or_default();
            let slices: Vec<Slice> = own.iter().flat_map(|(one, edge)| slices(one, edge)).collect();
            let Some(process) = sender(communicator, connection) else { continue };
            let thread = format!("waits {}", connection_name(report, communicator, connection));
            tracks.extend(place(slices, &process, &thread, processes));
        }
    }
    tracks
}

fn sender(communicator: &CommunicatorReport, connection: &ConnectionReport) -> Option<Process> {
    let sender = communicator.ranks.iter().find(|rank| Some(rank.rank) == connection.sender);
    Some(Process::Host(host(sender?)))
}

fn slices(one: &CollectiveReport, edge: &WaitsReport) -> Vec<Slice> {
    let microseconds = |nanos: u64| json!(nanos as f64 / 1000.0);
    let end_ns = edge.end_ns.max(edge.start_ns);
    let start_wait = i64::try_from(edge.start_wait_ns.unwrap_or(0)).unwrap_or(i64::MAX);
    let first_ns = edge.start_ns.saturating_add(start_wait).min(end_ns);
    let slice = |span: (i64, i64), name, arguments| Slice {
        start_ns: span.0,
        end_ns: span.1,
        name,
        category: "wait",
        arguments,
    };
    let rest = arguments([
        ("collective", json!(one.id)),
        ("sender_wait_us", microseconds(edge.sender_wait_ns)),
        ("receiver_wait_us", microseconds(edge.receiver_wait_ns)),
        ("input_wait_us", microseconds(edge.input_wait_ns)),
        ("transfer_us", microseconds(edge.transfer_ns)),
        ("recovery_us", microseconds(edge.recovery_ns)),
        ("paused_us", edge.paused_ns.map_or(json!(null), microseconds)),
    ]);
    let wait = arguments([("collective", json!(one.id))]);
    let wait = slice((edge.start_ns, first_ns), "start wait".to_owned(), wait);
    let rest = slice((first_ns, end_ns), format!("{} {}", one.kind, one.id), rest);
    [wait, rest].into_iter().filter(|slice| slice.start_ns < slice.end_ns).collect()
}
