//! Pauses that a station requested from its link partner, as slices of the job.

use serde_json::json;

use super::event::{Track, arguments};
use super::processes::{Process, Processes};
use super::slices::{Slice, place};
use railscope_core::report::Report;
use railscope_core::report::pfc::PfcReport;

/// A track for each station and priority with pause frames.
pub(super) fn tracks(report: &Report, processes: &mut Processes) -> Vec<Track> {
    let mut tracks = Vec::new();
    for pause in &report.pfc {
        let slices = pause.pauses.iter().flatten().map(|one| Slice {
            start_ns: one.start_ns,
            end_ns: one.end_ns.max(one.start_ns),
            name: "pause".to_owned(),
            category: "pause",
            arguments: arguments([("station", json!(pause.station))]),
        });
        tracks.extend(place(slices.collect(), &Process::Job, &thread(pause), processes));
    }
    tracks
}

/// `pause by 02:00:00:00:00:01 priority 3, tap 0`.
fn thread(pause: &PfcReport) -> String {
    let priority = pause.priority.map(|priority| format!(" priority {priority}"));
    let tap = pause.tap.map(|tap| format!(", tap {tap}"));
    format!("pause by {}{}{}", pause.station, priority.unwrap_or_default(), tap.unwrap_or_default())
}
