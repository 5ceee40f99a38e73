//! When ports and ranks were last active: who is silent, and since when.

use std::collections::BTreeMap;

use super::Settings;
use super::attribute;
use super::catalog;
use super::point::Attributes;
use super::port_names::PortNames;
use super::series::{SeriesTable, owner_attributes};
use crate::analysis::state::State;
use crate::link::clock::timeline::aligned_span;
use crate::link::job::{Job, NetConnection};
use crate::model::time::Timestamp;

/// A rank that was silent for this long has ended: it is no longer exported.
const ENDED_NS: u64 = 3_600_000_000_000;

/// Latest activities of ranks, by communicator, rank and activity. They outlast the messages, which
/// are dropped when the window has passed.
pub(super) type RankActivity = BTreeMap<(Option<String>, u32, &'static str), Timestamp>;

/// Sets when each port last sent and received data.
pub(super) fn set_ports(series: &mut SeriesTable, names: &PortNames, state: &State) {
    for flow in state.tracker.flows().flows().iter().filter(|flow| flow.payload_bytes > 0) {
        let last = aligned_span(flow.span, flow.key.tap, &state.clocks).last;
        let ends = [("transmit", flow.key.source), ("receive", flow.key.destination)];
        for (direction, address) in ends {
            let Some(port) = names.name(address.to_ip()) else { continue };
            let attributes = Attributes::new([
                (attribute::PORT.name, port),
                (attribute::DIRECTION.name, direction.to_owned()),
            ]);
            series.raise(&catalog::PORT_LAST_DATA, attributes, in_milliseconds(last));
        }
    }
}

/// Sets when each rank was last active, if ranks are exported; only those of exported ports.
pub(super) fn set_ranks(
    series: &mut SeriesTable,
    known: &mut RankActivity,
    settings: &Settings,
    names: &PortNames,
    job: Option<&Job>,
) {
    let Some(job) = job.filter(|_| settings.ranks) else { return };
    for connection in &job.connections {
        for (rank, activity, time) in activities(names, connection) {
            let key = (job.name_of(connection.communicator), rank, activity);
            let latest = known.entry(key).or_insert(time);
            *latest = time.max(*latest);
        }
    }
    let Some(now) = known.values().copied().max() else { return };
    known.retain(|_, time| now.nanos_since(*time) < ENDED_NS);
    for ((communicator, rank, activity), time) in known {
        let owner = owner_attributes(settings, communicator.as_deref(), Some(*rank), None, None);
        let activity = (attribute::ACTIVITY.name, (*activity).to_owned());
        let attributes = Attributes::new(owner.into_iter().chain([activity]));
        series.set(&catalog::RANK_LAST_ACTIVITY, attributes, in_milliseconds(*time));
    }
}

/// Nanoseconds since 1970, in whole milliseconds: databases keep 15 digits of seconds.
fn in_milliseconds(time: Timestamp) -> u64 {
    time.as_nanos() / 1_000_000 * 1_000_000
}

/// What the ends of a connection did last, of those with an exported port.
fn activities(
    names: &PortNames,
    connection: &NetConnection,
) -> impl Iterator<Item = (u32, &'static str, Timestamp)> {
    let (sender, receiver) = connection.addresses().unzip();
    let sender = sender.and_then(|port| names.name(port)).and(connection.sender);
    let receiver = receiver.and_then(|port| names.name(port)).and(connection.receiver);
    let last = connection.transfers.last();
    let sent = last.and_then(|last| last.sent).map(|span| span.last);
    let received = last.and_then(|last| last.received).map(|span| span.last);
    let answered = last.and_then(|last| last.cts?.posted);
    let unanswered = connection.unanswered.map(|unanswered| unanswered.time);
    let all = [
        (sender, "data_sent", sent),
        (receiver, "data_received", received),
        (receiver, "clear_to_send_sent", answered.max(unanswered)),
    ];
    all.into_iter().filter_map(|(rank, activity, time)| Some((rank?, activity, time?)))
}
