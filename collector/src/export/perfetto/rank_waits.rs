//! What each rank waited for: one track a rank. In each collective it is the rank's connection that finished
//! last. The name of a slice is what took most of it.

use serde_json::json;

use super::collectives::{host, thread_name};
use super::event::{Track, arguments};
use super::processes::{Process, Processes};
use super::slices::{Slice, place};
use railscope_core::report::Report;
use railscope_core::report::collectives::CollectiveReport;
use railscope_core::report::communicators::CommunicatorReport;
use railscope_core::report::waits::WaitsReport;

/// A track for each rank.
pub(super) fn tracks(report: &Report, processes: &mut Processes) -> Vec<Track> {
    let mut tracks = Vec::new();
    for communicator in &report.communicators {
        for rank in &communicator.ranks {
            let own = report.collectives.iter().filter(|one| one.communicator == communicator.id);
            let waits = own.filter_map(|one| Some((one, last(communicator, one, rank.rank)?)));
            let slices = waits.flat_map(|(one, waits)| slices(one, waits)).collect();
            let process = Process::Host(host(rank));
            let thread = thread_name(report, communicator, rank.rank);
            tracks.extend(place(slices, &process, &format!("{thread} waits"), processes));
        }
    }
    tracks
}

/// The waits of the rank's connection that finished last.
fn last<'a>(
    communicator: &CommunicatorReport,
    one: &'a CollectiveReport,
    rank: u32,
) -> Option<&'a WaitsReport> {
    let sends = |id: u32| {
        communicator.connections.iter().any(|known| known.id == id && known.sender == Some(rank))
    };
    let own = one.connections.iter().filter(|part| sends(part.connection));
    own.filter_map(|part| part.waits.as_ref()).max_by_key(|waits| waits.end_ns)
}

/// The wait for its first packet, and the rest by what took most of it.
fn slices(one: &CollectiveReport, waits: &WaitsReport) -> impl Iterator<Item = Slice> {
    let end_ns = waits.end_ns.max(waits.start_ns);
    let start_wait = i64::try_from(waits.start_wait_ns.unwrap_or(0)).unwrap_or(i64::MAX);
    let first_ns = waits.start_ns.saturating_add(start_wait).min(end_ns);
    let parts = [
        ("transfer", waits.transfer_ns),
        ("sender wait", waits.sender_wait_ns),
        ("receiver wait", waits.receiver_wait_ns),
        ("input wait", waits.input_wait_ns),
        ("recovery", waits.recovery_ns),
        ("paused", waits.paused_ns.unwrap_or(0)),
    ];
    let most = parts.iter().max_by_key(|(_, ns)| *ns).map_or("transfer", |(name, _)| name);
    let slice = |start_ns, end_ns, name: &str| Slice {
        start_ns,
        end_ns,
        name: name.to_owned(),
        category: "rank_wait",
        arguments: arguments([("collective", json!(one.id))]),
    };
    let slices = [slice(waits.start_ns, first_ns, "start wait"), slice(first_ns, end_ns, most)];
    slices.into_iter().filter(|slice| slice.start_ns < slice.end_ns)
}
