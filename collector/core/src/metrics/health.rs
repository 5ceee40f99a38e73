//! What was missed, refused or could not be known.

use std::collections::BTreeMap;

use super::attribute;
use super::catalog;
use super::growth::{Growth, Sums};
use super::point::Attributes;
use super::series::SeriesTable;
use crate::decode::error::{Layer, Limit};
use crate::flow::tracker::FlowTracker;
use crate::model::health::Health;
use crate::model::tap::{Tap, TapId};

/// Refusals and tap frames as of the last export.
#[derive(Clone, Debug, Default)]
pub(super) struct HealthGrowth {
    refusals: Growth<(Layer, Limit), 1>,
    /// Frames and lost frames, by file and interface.
    taps: Growth<String, 2>,
}

/// Adds what grew since the last export.
pub(super) fn add(series: &mut SeriesTable, counted: &mut HealthGrowth, tracker: &FlowTracker) {
    let mut refusals: BTreeMap<(Layer, Limit), u64> = BTreeMap::new();
    // Two taps with one name, such as two files of one interface, share a series.
    let mut taps: BTreeMap<String, [u64; 2]> = BTreeMap::new();
    for (id, tap) in (0..).map(TapId).zip(tracker.taps()) {
        for (layer, limit, count) in tap.refused() {
            *refusals.entry((layer, limit)).or_default() += count;
        }
        let [frames, lost] = taps.entry(name(&tap.tap)).or_default();
        *frames += tap.frames;
        *lost += tracker.lost_frames(id);
    }
    let refusals = refusals.into_iter().map(|(what, count)| (what, Sums::timeless([Some(count)])));
    counted.refusals.read(refusals.collect(), |(layer, limit), [count]| {
        let refusal = format!("{}.{}", layer.name(), limit.name());
        let attributes = Attributes::new([(attribute::REFUSAL.name, refusal)]);
        series.add(&catalog::DECODE_REFUSED, attributes, count.unwrap_or(0));
    });
    let taps = taps.into_iter().map(|(name, sums)| (name, Sums::timeless(sums.map(Some))));
    counted.taps.read(taps.collect(), |tap, [frames, lost]| {
        let attributes = Attributes::new([(attribute::TAP.name, tap.clone())]);
        series.add(&catalog::TAP_FRAMES, attributes.clone(), frames.unwrap_or(0));
        series.add(&catalog::TAP_LOST, attributes, lost.unwrap_or(0));
    });
}

/// Sets the counters of the last analysis: gauges, since some count what is still open, and fall.
pub(super) fn set(series: &mut SeriesTable, health: &Health) {
    for (event, count) in health.iter() {
        let attributes = Attributes::new([(attribute::HEALTH.name, event.name().to_owned())]);
        series.set(&catalog::HEALTH_EVENTS, attributes, count);
    }
}

/// File and interface, if known.
fn name(tap: &Tap) -> String {
    match tap.interface.as_deref() {
        Some(interface) if tap.file.is_empty() || tap.file == interface => interface.to_owned(),
        Some(interface) => format!("{} {interface}", tap.file),
        None => tap.file.clone(),
    }
}
