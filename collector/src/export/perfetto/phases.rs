//! Phases of the job as slices, on their communicator.

use std::collections::BTreeMap;

use super::event::{Arguments, Event, Phase, Track};
use super::lanes;
use super::processes::{Process, Processes};
use railscope_core::report::Report;
use railscope_core::report::phases::PhaseReport;

/// A track for the phases of each communicator, more if they overlap.
pub(super) fn tracks(report: &Report, processes: &mut Processes) -> Vec<Track> {
    let mut by_communicator: BTreeMap<Option<&str>, Vec<&PhaseReport>> = BTreeMap::new();
    for phase in &report.phases {
        by_communicator.entry(phase.communicator.as_deref()).or_default().push(phase);
    }
    let mut tracks: BTreeMap<_, Track> = BTreeMap::new();
    for (communicator, mut phases) in by_communicator {
        phases.sort_by_key(|phase| (phase.start_ns, phase.end_ns));
        let spans = phases.iter().map(|phase| (phase.start_ns, phase.end_ns));
        for (phase, lane) in phases.iter().zip(lanes::assign(spans)) {
            let process =
                communicator.map_or(Process::Job, |id| Process::Communicator(id.to_owned()));
            let place = processes.lane(process, "phases", lane);
            let duration_ns = phase.end_ns.saturating_sub(phase.start_ns);
            tracks.entry(place).or_default().push(Event {
                name: phase.phase.replace('_', " "),
                category: "phase",
                phase: Phase::Complete { duration_ns: u64::try_from(duration_ns).unwrap_or(0) },
                time_ns: phase.start_ns,
                place,
                arguments: Arguments::new(),
            });
        }
    }
    tracks.into_values().collect()
}
