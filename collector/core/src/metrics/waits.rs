//! Where the time of collectives went.

use super::Settings;
use super::attribute;
use super::catalog;
use super::point::Attributes;
use super::series::{SeriesTable, owner_attributes};
use crate::analysis::judged::JudgedCollective;

/// Adds the known waits of each rank of a collective.
pub(super) fn add(
    series: &mut SeriesTable,
    settings: &Settings,
    communicator: Option<&str>,
    judged: &JudgedCollective,
) {
    let JudgedCollective { collective, waits, .. } = judged;
    for rank in collective.ranks.iter().map(|times| times.rank) {
        let Some(edge) = waits.last_edge(rank) else { continue };
        let parts = [
            ("start", edge.start_wait_ns),
            ("sender", Some(edge.sender_wait_ns)),
            ("receiver", Some(edge.receiver_wait_ns)),
            ("input", Some(edge.input_wait_ns)),
            ("transfer", Some(edge.transfer_ns)),
            ("recovery", Some(edge.recovery_ns)),
        ];
        for (part, amount) in parts.into_iter().filter_map(|(part, ns)| Some((part, ns?))) {
            let owner = owner_attributes(settings, communicator, Some(rank), None, None);
            let wait = (attribute::WAIT.name, part.to_owned());
            let attributes = Attributes::new(owner.into_iter().chain([wait]));
            series.add(&catalog::WAIT_TIME, attributes, amount);
        }
    }
}
