//! Collectives: duration, bandwidth, stragglers.

use super::Settings;
use super::attribute;
use super::catalog;
use super::point::Attributes;
use super::series::{SeriesTable, owner_attributes};
use super::waits;
use crate::analysis::judged::JudgedCollective;
use crate::analysis::understanding::Understanding;
use crate::link::job::Job;

/// Adds a new collective.
pub(super) fn add(
    series: &mut SeriesTable,
    settings: &Settings,
    understanding: &Understanding,
    judged: &JudgedCollective,
) {
    let JudgedCollective { collective, straggler, .. } = judged;
    let Some(job) = &understanding.state.job else { return };
    let nranks = job.communicator(collective.communicator).and_then(|known| known.nranks);
    let communicator = job.name_of(collective.communicator);
    let kind = || Attributes::new([(attribute::KIND.name, collective.kind.name().to_owned())]);
    series.record(&catalog::COLLECTIVE_DURATION, kind(), collective.duration_ns());
    if let Some(bytes) = collective.bytes {
        series.add(&catalog::COLLECTIVE_IO, kind(), bytes);
    }
    if let Some(rate) = nranks.and_then(|nranks| collective.bus_bandwidth(nranks)) {
        series.record(&catalog::COLLECTIVE_BUS_BANDWIDTH, kind(), rate);
    }
    if let Some(late) = straggler {
        let rank = Some(late.rank);
        let owner = owner_attributes(settings, communicator.as_deref(), rank, None, None);
        let cause = (attribute::CAUSE.name, late.cause.name().to_owned());
        let attributes = Attributes::new(owner.into_iter().chain([cause]));
        series.record(&catalog::STRAGGLER_LAG, attributes, late.lag_ns);
    }
    waits::add(series, settings, communicator.as_deref(), job, judged);
}

/// Sets the number of communicators by transport.
pub(super) fn set_communicators(series: &mut SeriesTable, job: Option<&Job>) {
    for communicator in job.into_iter().flat_map(|job| &job.communicators) {
        let transport = (attribute::TRANSPORT.name, communicator.transport.name().to_owned());
        series.add(&catalog::COMMUNICATOR_COUNT, Attributes::new([transport]), 1);
    }
}
