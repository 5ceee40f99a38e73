//! Slices of any thread, on as many lanes as they need.

use std::collections::BTreeMap;

use super::event::{Arguments, Event, Phase, Track, TrackId};
use super::lanes;
use super::processes::{Process, Processes};

/// A slice before it has a lane.
pub(super) struct Slice {
    pub(super) start_ns: i64,
    pub(super) end_ns: i64,
    pub(super) name: String,
    pub(super) category: &'static str,
    pub(super) arguments: Arguments,
}

/// Slices on the lanes of a thread.
pub(super) fn place(
    mut slices: Vec<Slice>,
    process: &Process,
    thread: &str,
    processes: &mut Processes,
) -> Vec<Track> {
    slices.sort_by_key(|slice| (slice.start_ns, slice.end_ns));
    let spans = slices.iter().map(|slice| (slice.start_ns, slice.end_ns));
    let lanes = lanes::assign(spans);
    let mut tracks: BTreeMap<TrackId, Track> = BTreeMap::new();
    for (slice, lane) in slices.into_iter().zip(lanes) {
        let place = processes.lane(process.clone(), thread, lane);
        let duration_ns = slice.end_ns.saturating_sub(slice.start_ns);
        tracks.entry(place).or_default().push(Event {
            name: slice.name,
            category: slice.category,
            phase: Phase::Complete { duration_ns: u64::try_from(duration_ns).unwrap_or(0) },
            time_ns: slice.start_ns,
            place,
            arguments: slice.arguments,
        });
    }
    tracks.into_values().collect()
}
