//! Pause by station and priority.

use std::collections::BTreeMap;

use super::attribute;
use super::catalog;
use super::growth::{Growth, Sums};
use super::point::Attributes;
use super::series::SeriesTable;
use crate::analysis::state::State;
use crate::link::counter::NicCounters;
use crate::report::pfc::counted_station;

/// Frames, paused time and storms as of the last export, by station, priority and source.
pub(super) type PauseGrowth = Growth<(String, Option<u8>, &'static str), 3>;

/// Adds the pauses since the last export.
pub(super) fn add(series: &mut SeriesTable, counted: &mut PauseGrowth, state: &State) {
    let mut pauses = BTreeMap::new();
    let frames = state.tracker.pauses().iter().map(|(key, pause)| {
        let storms = pause.paused_ns.map(|_| pause.storms);
        let sums = [Some(pause.pause_frames), pause.paused_ns, storms];
        ((key.station.to_string(), key.priority, "frames"), sums)
    });
    let counters = state.counters.nics.iter().flat_map(NicCounters::pauses).map(|pause| {
        let sums = [Some(pause.frames), Some(pause.paused_ns), None];
        ((counted_station(&pause), pause.priority, "counters"), sums)
    });
    for (key, sums) in frames.chain(counters) {
        let sums = Sums::timeless(sums);
        // Several taps on one link see the same pause.
        pauses.entry(key).or_insert(sums).join(sums);
    }
    counted.read(pauses, |(station, priority, source), grown| {
        let priority = priority.map_or_else(|| "all".to_owned(), |priority| priority.to_string());
        let attributes = Attributes::new([
            (attribute::STATION.name, station.clone()),
            (attribute::PRIORITY.name, priority),
            (attribute::PAUSE_SOURCE.name, (*source).to_owned()),
        ]);
        let metrics = [&catalog::PFC_PAUSE_FRAMES, &catalog::PFC_PAUSED_TIME, &catalog::PFC_STORMS];
        for (metric, amount) in metrics.into_iter().zip(grown) {
            if let Some(amount) = amount {
                series.add(metric, attributes.clone(), amount);
            }
        }
    });
}
