//! Pause by station and priority.

use std::collections::BTreeMap;

use super::attribute;
use super::catalog;
use super::growth::{Growth, Sums};
use super::point::Attributes;
use super::series::SeriesTable;
use crate::report::Report;

/// How far pauses were told, by station, priority and source: frames, time, storms.
pub(super) type PausesTold = Growth<(String, Option<u8>, &'static str), 3>;

/// Adds the pauses since the last report.
pub(super) fn add(series: &mut SeriesTable, told: &mut PausesTold, report: &Report) {
    let mut pauses = BTreeMap::new();
    for pause in &report.pfc {
        let sums = [Some(pause.pause_frames), pause.paused_ns, pause.storms];
        let sums = Sums::timeless(sums);
        // Several taps on one link see the same pause.
        let key = (pause.station.clone(), pause.priority, pause.source);
        pauses.entry(key).or_insert(sums).join(sums);
    }
    told.read(pauses, |(station, priority, source), grown| {
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
