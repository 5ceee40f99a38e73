//! Where the time of collectives went.

use super::Settings;
use super::attribute;
use super::catalog;
use super::point::Attributes;
use super::series::{SeriesTable, owner_attributes};
use crate::report::collectives::CollectiveReport;

/// Adds the waits of the ranks of `one`, as far as they are known.
pub(super) fn add(series: &mut SeriesTable, settings: &Settings, one: &CollectiveReport) {
    for rank in &one.ranks {
        let parts = [
            ("start", rank.start_wait_ns),
            ("sender", rank.sender_wait_ns),
            ("receiver", rank.receiver_wait_ns),
            ("input", rank.input_wait_ns),
            ("transfer", rank.transfer_ns),
            ("recovery", rank.recovery_ns),
        ];
        for (part, amount) in parts.into_iter().filter_map(|(part, ns)| Some((part, ns?))) {
            let owner =
                owner_attributes(settings, Some(&one.communicator), Some(rank.rank), None, None);
            let wait = (attribute::WAIT.name, part.to_owned());
            let attributes = Attributes::new(owner.into_iter().chain([wait]));
            series.add(&catalog::WAIT_TIME, attributes, amount);
        }
    }
}
