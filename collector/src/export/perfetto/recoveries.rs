//! Recoveries of queue pairs: from the lost, late or refused packet until data flows again, on the host that
//! sends again. Their name is what began them.

use std::collections::BTreeMap;

use serde_json::json;

use super::collectives::host;
use super::event::{Track, arguments};
use super::processes::{Process, Processes};
use super::slices::{Slice, place};
use railscope_core::report::Report;
use railscope_core::report::flows::FlowReport;

/// A track for each pair of ranks.
pub(super) fn tracks(report: &Report, processes: &mut Processes) -> Vec<Track> {
    let mut rows: BTreeMap<(String, String), Vec<Slice>> = BTreeMap::new();
    for flow in best_views(report) {
        let Some((process, thread)) = row(report, flow) else { continue };
        rows.entry((process, thread)).or_default().extend(slices(flow));
    }
    let mut tracks = Vec::new();
    for ((process, thread), slices) in rows {
        tracks.extend(place(slices, &Process::Host(process), &thread, processes));
    }
    tracks
}

/// Of a flow captured at several taps, the view with the most recoveries.
fn best_views(report: &Report) -> impl Iterator<Item = &FlowReport> {
    let mut best: BTreeMap<_, &FlowReport> = BTreeMap::new();
    for flow in report.flows.iter().filter(|flow| !flow.episodes.is_empty()) {
        let name = (&flow.src, &flow.dst, flow.dest_qpn, flow.epoch);
        let known = best.entry(name).or_insert(flow);
        if flow.episodes.len() > known.episodes.len() {
            *known = flow;
        }
    }
    best.into_values()
}

/// The host of the sending rank, and the name of the track.
fn row(report: &Report, flow: &FlowReport) -> Option<(String, String)> {
    let owner = flow.owner.as_ref()?;
    let (id, rank, peer) = (owner.communicator.as_ref()?, owner.rank?, owner.peer_rank?);
    let communicator = report.communicators.iter().find(|one| one.id == *id)?;
    let sender = communicator.ranks.iter().find(|one| one.rank == rank)?;
    let of = if report.communicators.len() > 1 { format!(" of {id}") } else { String::new() };
    Some((host(sender), format!("recoveries rank {rank} to rank {peer}{of}")))
}

fn slices(flow: &FlowReport) -> impl Iterator<Item = Slice> {
    flow.episodes.iter().map(|episode| {
        let length_ns = i64::try_from(episode.recovery_ns).unwrap_or(i64::MAX);
        Slice {
            start_ns: episode.start_ns,
            end_ns: episode.start_ns.saturating_add(length_ns),
            name: episode.trigger.replace('_', " "),
            category: "recovery",
            arguments: arguments([
                ("flow", json!(flow.id)),
                ("count", json!(episode.count)),
                ("resent_packets", json!(episode.resent_packets)),
            ]),
        }
    })
}
