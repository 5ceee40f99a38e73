//! Collectives: how long they took, how fast they were, and who held them up.

use super::Settings;
use super::attribute;
use super::catalog;
use super::point::Attributes;
use super::series::{SeriesTable, owner_attributes};
use super::waits;
use crate::report::Report;
use crate::report::collectives::CollectiveReport;

/// Adds a collective that was not told before.
pub(super) fn add(series: &mut SeriesTable, settings: &Settings, one: &CollectiveReport) {
    let kind = || Attributes::new([(attribute::KIND.name, one.kind.to_owned())]);
    let duration_ns = one.end_ns.saturating_sub(one.start_ns).max(0).unsigned_abs();
    series.record(&catalog::COLLECTIVE_DURATION, kind(), duration_ns);
    if let Some(bytes) = one.bytes {
        series.add(&catalog::COLLECTIVE_IO, kind(), bytes);
    }
    if let Some(rate) = one.busbw_bytes_per_s {
        series.record(&catalog::COLLECTIVE_BUS_BANDWIDTH, kind(), rate);
    }
    if let Some(late) = &one.straggler {
        let rank = Some(late.rank);
        let owner = owner_attributes(settings, Some(&one.communicator), rank, None, None);
        let cause = (attribute::CAUSE.name, late.cause.to_owned());
        let attributes = Attributes::new(owner.into_iter().chain([cause]));
        series.record(&catalog::STRAGGLER_LAG, attributes, late.lag_ns);
    }
    waits::add(series, settings, one);
}

/// Sets how many communicators there are of each transport.
pub(super) fn set_communicators(series: &mut SeriesTable, report: &Report) {
    for communicator in &report.communicators {
        let transport = (attribute::TRANSPORT.name, communicator.transport.to_owned());
        series.add(&catalog::COMMUNICATOR_COUNT, Attributes::new([transport]), 1);
    }
}
