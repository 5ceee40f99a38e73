//! What processes of this host do: calls of NCCL, and queue pairs.

use std::collections::BTreeMap;

use super::Settings;
use super::attribute;
use super::catalog;
use super::point::Attributes;
use super::port_names;
use super::series::{SeriesTable, owner_attributes};
use crate::link::process::{CallCount, ProcessTracker};
use crate::model::queue_pair::QueuePairUser;

/// Sets the totals of all calls, and who uses queue pairs.
pub(super) fn set(series: &mut SeriesTable, settings: &Settings, processes: &ProcessTracker) {
    let mut sums: BTreeMap<Attributes, CallCount> = BTreeMap::new();
    for (function, rank, count) in processes.counts() {
        let owner = owner_attributes(settings, None, rank, None, None);
        let call = (attribute::CALL.name, function.name().to_owned());
        let sum = sums.entry(Attributes::new(owner.into_iter().chain([call]))).or_default();
        sum.calls += count.calls;
        sum.bytes = sum.bytes.saturating_add(count.bytes);
    }
    set_users(series, processes);
    for (attributes, sum) in sums {
        series.set(&catalog::CALL_COUNT, attributes.clone(), sum.calls);
        series.set(&catalog::CALL_IO, attributes, sum.bytes);
    }
}

/// Sets the number of queue pairs by user.
fn set_users(series: &mut SeriesTable, processes: &ProcessTracker) {
    series.clear(&[&catalog::QUEUE_PAIRS]);
    for (user, count) in processes.users() {
        let QueuePairUser { device, port, process, pod, slurm_job } = user;
        let port = port_names::of_device(processes.host(), device, *port);
        let known = [
            (attribute::PORT.name, Some(port)),
            (attribute::EXECUTABLE.name, Some(process.clone())),
            (attribute::POD.name, pod.clone()),
            (attribute::SLURM_JOB.name, slurm_job.map(|job| job.to_string())),
        ];
        let known = known.into_iter().filter_map(|(name, value)| Some((name, value?)));
        series.add(&catalog::QUEUE_PAIRS, Attributes::new(known), *count);
    }
}
