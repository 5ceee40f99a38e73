//! Where the time of collectives went: what ranks waited for, and what they used themselves.

use super::Settings;
use super::attribute;
use super::catalog;
use super::point::Attributes;
use super::series::{SeriesTable, owner_attributes};
use crate::analysis::judged::JudgedCollective;
use crate::link::job::Job;

/// Adds what each rank of a collective waited for and what it used by itself, for ranks
/// whose own tap saw them send: another host's agent has the others.
pub(super) fn add(
    series: &mut SeriesTable,
    settings: &Settings,
    communicator: Option<&str>,
    job: &Job,
    judged: &JudgedCollective,
) {
    let JudgedCollective { collective, waits, own_times, .. } = judged;
    let owner = |rank, peer| owner_attributes(settings, communicator, Some(rank), peer, None);
    for rank in collective.ranks.iter().map(|times| times.rank) {
        let Some(edge) = waits.last_edge(rank).filter(|edge| edge.is_at_sender) else { continue };
        let receiver = job.connection(edge.connection).and_then(|one| one.receiver);
        let parts = [
            ("start", None, edge.start_wait_ns),
            ("sender", None, Some(edge.sender_wait_ns)),
            ("receiver", receiver, Some(edge.receiver_wait_ns)),
            ("input", edge.input_from, Some(edge.input_wait_ns)),
            ("transfer", None, Some(edge.transfer_ns)),
            ("recovery", receiver, Some(edge.recovery_ns)),
            ("pause", None, edge.paused_ns),
        ];
        for (part, peer, amount) in parts {
            let Some(amount) = amount else { continue };
            let wait = (attribute::WAIT.name, part.to_owned());
            let attributes = Attributes::new(owner(rank, peer).into_iter().chain([wait]));
            series.add(&catalog::WAIT_TIME, attributes, amount);
        }
    }
    for own in own_times {
        let attributes = Attributes::new(owner(own.rank, None));
        series.add(&catalog::OBSERVED_TIME, attributes, own.observed_ns);
        for (cause, amount) in own.by_cause() {
            let cause = (attribute::CAUSE.name, cause.name().to_owned());
            let attributes = Attributes::new(owner(own.rank, None).into_iter().chain([cause]));
            series.add(&catalog::OWN_TIME, attributes, amount);
        }
    }
}
