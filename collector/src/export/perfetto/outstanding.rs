//! Queue depth: messages for which a port has been given room and that are not complete, as a counter of the
//! sending port.

use std::collections::BTreeMap;

use serde_json::json;

use super::event::{Event, Phase, Track, arguments};
use super::ports::hosts;
use super::processes::{Process, Processes};
use railscope_core::report::Report;
use railscope_core::report::communicators::ConnectionReport;

/// A counter for each sending port.
pub(super) fn tracks(report: &Report, processes: &mut Processes) -> Vec<Track> {
    let all = report.communicators.iter().flat_map(|one| &one.connections);
    let connections: BTreeMap<u32, &ConnectionReport> = all.map(|one| (one.id, one)).collect();
    let mut changes: BTreeMap<&str, BTreeMap<i64, i64>> = BTreeMap::new();
    for transfer in report.transfers.iter().flatten() {
        let pair = connections.get(&transfer.connection).and_then(|one| one.queue_pairs.first());
        let asked = transfer.cts_arrived_ns.or(transfer.cts_posted_ns);
        let (Some(pair), Some(asked)) = (pair, asked) else { continue };
        let of_port = changes.entry(&pair.src).or_default();
        *of_port.entry(asked).or_insert(0) += 1;
        if let Some(done) = transfer.last_ns {
            *of_port.entry(done.max(asked)).or_insert(0) -= 1;
        }
    }
    let hosts = hosts(report);
    let mut tracks = Vec::new();
    for (address, changes) in changes {
        let process = hosts.get(address).cloned().unwrap_or_else(|| address.to_owned());
        let place = processes.process(Process::Host(process));
        let mut depth = 0;
        let event = |(time_ns, change): (i64, i64)| {
            depth += change;
            Event {
                name: format!("{address} TX queue depth"),
                category: "port",
                phase: Phase::Counter,
                time_ns,
                place,
                arguments: arguments([("messages", json!(depth))]),
            }
        };
        tracks.push(changes.into_iter().map(event).collect());
    }
    tracks
}
