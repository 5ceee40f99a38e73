//! What was missed, refused or could not be known.

use std::collections::BTreeMap;

use super::attribute;
use super::catalog;
use super::growth::{Growth, Sums};
use super::point::Attributes;
use super::series::SeriesTable;
use crate::report::Report;
use crate::report::taps::TapReport;

/// How far they were told.
#[derive(Clone, Debug, Default)]
pub(super) struct HealthTold {
    refusals: Growth<String, 1>,
    /// Frames, then lost frames.
    taps: Growth<String, 2>,
}

/// Adds what came since the last report.
pub(super) fn add(series: &mut SeriesTable, told: &mut HealthTold, report: &Report) {
    let refused = report.capture.refused.iter();
    let refused = refused.map(|(name, count)| (name.clone(), Sums::timeless([Some(*count)])));
    told.refusals.read(refused.collect(), |name, [count]| {
        let attributes = Attributes::new([(attribute::REFUSAL.name, name.clone())]);
        series.add(&catalog::DECODE_REFUSED, attributes, count.unwrap_or(0));
    });
    // Two of one name, as two files of one, are told together.
    let mut taps: BTreeMap<String, [u64; 2]> = BTreeMap::new();
    for tap in &report.taps {
        let [frames, lost] = taps.entry(name(tap)).or_default();
        *frames += tap.frames;
        *lost += tap.lost_frames;
    }
    let taps = taps.into_iter().map(|(name, sums)| (name, Sums::timeless(sums.map(Some))));
    told.taps.read(taps.collect(), |tap, [frames, lost]| {
        let attributes = Attributes::new([(attribute::TAP.name, tap.clone())]);
        series.add(&catalog::TAP_FRAMES, attributes.clone(), frames.unwrap_or(0));
        series.add(&catalog::TAP_LOST, attributes, lost.unwrap_or(0));
    });
}

/// Sets what the report's own counters say: some are of what is not known yet, and fall.
pub(super) fn set(series: &mut SeriesTable, report: &Report) {
    for (name, count) in &report.health {
        let attributes = Attributes::new([(attribute::HEALTH.name, name.clone())]);
        series.set(&catalog::HEALTH_EVENTS, attributes, *count);
    }
}

/// File and interface, as far as they are told.
fn name(tap: &TapReport) -> String {
    match tap.interface.as_deref() {
        Some(interface) if tap.file.is_empty() || tap.file == interface => interface.to_owned(),
        Some(interface) => format!("{} {interface}", tap.file),
        None => tap.file.clone(),
    }
}
