//! Calls of NCCL: count and bytes.

use std::collections::BTreeMap;

use super::Settings;
use super::attribute;
use super::catalog;
use super::point::Attributes;
use super::series::{SeriesTable, owner_attributes};
use crate::link::process::{CallCount, ProcessTracker};

/// Sets the totals of all calls.
pub(super) fn set(series: &mut SeriesTable, settings: &Settings, processes: &ProcessTracker) {
    let mut sums: BTreeMap<Attributes, CallCount> = BTreeMap::new();
    for (function, rank, count) in processes.counts() {
        let owner = owner_attributes(settings, None, rank, None, None);
        let call = (attribute::CALL.name, function.name().to_owned());
        let sum = sums.entry(Attributes::new(owner.into_iter().chain([call]))).or_default();
        sum.calls += count.calls;
        sum.bytes = sum.bytes.saturating_add(count.bytes);
    }
    for (attributes, sum) in sums {
        series.set(&catalog::CALL_COUNT, attributes.clone(), sum.calls);
        series.set(&catalog::CALL_IO, attributes, sum.bytes);
    }
}
