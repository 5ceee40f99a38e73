//! Messages as asynchronous slices, one row per connection: concurrent ones are stacked.

use std::collections::BTreeMap;

use serde_json::json;

use super::collectives::host;
use super::event::{Arguments, Event, Phase, Track, arguments};
use super::processes::{Process, Processes};
use railscope_core::report::Report;
use railscope_core::report::communicators::{CommunicatorReport, ConnectionReport};
use railscope_core::report::transfers::TransferReport;

/// A track for each connection, on the sending host.
pub(super) fn tracks(report: &Report, processes: &mut Processes) -> Vec<Track> {
    let mut transfers: BTreeMap<u32, Vec<&TransferReport>> = BTreeMap::new();
    for transfer in report.transfers.iter().flatten() {
        transfers.entry(transfer.connection).or_default().push(transfer);
    }
    let mut next_id = 1;
    let mut tracks = Vec::new();
    for communicator in &report.communicators {
        for connection in &communicator.connections {
            let of_connection = transfers.remove(&connection.id).unwrap_or_default();
            let place = processes.process(sender(communicator, connection));
            let name = format!("messages {}", connection_name(report, communicator, connection));
            let mut track = Track::new();
            for transfer in of_connection {
                let Some((start_ns, end_ns)) = transfer.first_ns.zip(transfer.last_ns) else {
                    continue;
                };
                let event = |phase, time_ns, arguments| Event {
                    name: name.clone(),
                    category: "message",
                    phase,
                    time_ns,
                    place,
                    arguments,
                };
                let id = next_id;
                next_id += 1;
                track.push(event(Phase::AsyncBegin { id }, start_ns, details(transfer)));
                // Clocks of two taps may differ.
                let end_ns = end_ns.max(start_ns);
                track.push(event(Phase::AsyncEnd { id }, end_ns, Arguments::new()));
            }
            track.sort_by_key(|event| event.time_ns);
            tracks.push(track);
        }
    }
    tracks
}

fn sender(communicator: &CommunicatorReport, connection: &ConnectionReport) -> Process {
    let sender = communicator.ranks.iter().find(|rank| Some(rank.rank) == connection.sender);
    let address = || connection.queue_pairs.first().map(|pair| pair.src.clone());
    Process::Host(sender.map(host).or_else(address).unwrap_or_default())
}

/// `2 → 3 ch0`, with the communicator if there are several.
pub(super) fn connection_name(
    report: &Report,
    communicator: &CommunicatorReport,
    connection: &ConnectionReport,
) -> String {
    let rank = |rank: Option<u32>| rank.map_or_else(|| "?".to_owned(), |rank| rank.to_string());
    let which = match connection.channel {
        Some(channel) => format!(" ch{channel}"),
        None => format!(" connection {}", connection.id),
    };
    let of = match report.communicators.len() {
        1 => String::new(),
        _ => format!(" of {}", communicator.id),
    };
    format!("{} → {}{which}{of}", rank(connection.sender), rank(connection.receiver))
}

fn details(transfer: &TransferReport) -> Arguments {
    let waited_us = transfer.cts_posted_ns.or(transfer.cts_arrived_ns).zip(transfer.first_ns);
    arguments([
        ("number", json!(transfer.number)),
        ("collective", json!(transfer.collective)),
        ("bytes", json!(transfer.bytes)),
        ("ce_packets", json!(transfer.ce_packets)),
        (
            "after_clear_to_send_us",
            json!(waited_us.map(|(cts, first)| first.saturating_sub(cts) as f64 / 1000.0)),
        ),
    ])
}
