//! Traffic and trouble of flows, by port.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use super::Settings;
use super::attribute;
use super::catalog;
use super::flow_sums::{self, ECN, NAKS, TRAFFIC, join};
use super::growth::Growth;
use super::metric::Metric;
use super::point::Attributes;
use super::port_names::PortNames;
use super::series::{SeriesTable, owner_attributes};
use crate::analysis::queue_pair::{self, FlowOwner};
use crate::analysis::state::State;
use crate::flow::key::FlowIdentity;
use crate::flow::tracker::FlowTracker;
use crate::link::clock::timeline::aligned_span;
use crate::link::job::Job;
use crate::link::position::Position;
use crate::model::tap::TapId;

/// Counters of flows as of the last export.
#[derive(Clone, Debug, Default)]
pub(super) struct FlowGrowth {
    traffic: Growth<FlowIdentity, TRAFFIC>,
    /// Frames, then NAKs by code.
    naks: Growth<FlowIdentity, { 1 + NAKS.len() }>,
    /// Frames, episodes and their time, by trigger.
    recoveries: Growth<(FlowIdentity, &'static str), 3>,
    /// Owners of the last analysis's flows, if owners are exported.
    owners: BTreeMap<FlowIdentity, Owners>,
    /// Flows of the last analysis at taps next to their sender, where CE marks may not be visible.
    next_to_sender: BTreeSet<(TapId, FlowIdentity)>,
}

/// Attributes of a flow's owner as seen from one end.
type Owner = Arc<[(&'static str, String)]>;
/// The same from the sending and from the receiving end.
type Owners = [Owner; 2];
/// A port, with the owner of a flow.
type OwnedPort = (IpAddr, Owner);
/// Sums over the flows of one port and owner.
type Traffic = BTreeMap<OwnedPort, [Option<u64>; TRAFFIC]>;

/// Adds the growth of all flows since the last export.
pub(super) fn add(
    series: &mut SeriesTable,
    counted: &mut FlowGrowth,
    settings: &Settings,
    names: &PortNames,
    state: &State,
) {
    counted.owners.clear();
    counted.next_to_sender.clear();
    let mut traffic = BTreeMap::new();
    let mut naks = BTreeMap::new();
    let mut recoveries = BTreeMap::new();
    let flows = state.tracker.flows();
    for at in flows.in_order() {
        let flow = flows.at(at);
        let identity = flow.identity();
        if let Some(owners) = state.job.as_ref().and_then(|job| owners(settings, job, at)) {
            counted.owners.entry(identity).or_insert(owners);
        }
        let is_next_to_sender = state.position(flow) == Position::Sender;
        if flow.marks().visible_ce(is_next_to_sender).is_none() {
            counted.next_to_sender.insert((flow.key.tap, identity));
        }
        let span = aligned_span(flow.span, flow.key.tap, &state.clocks);
        join(&mut traffic, identity, span, flow_sums::traffic(flow, is_next_to_sender));
        let codes = flow_sums::naks(flow);
        if codes.iter().skip(1).any(|code| *code != Some(0)) {
            join(&mut naks, identity, span, codes);
        }
        for (trigger, sums) in flow_sums::recoveries(flow) {
            join(&mut recoveries, (identity, trigger), span, sums);
        }
    }
    let mut moved = Moved::default();
    counted.traffic.read(traffic, |flow, grown| moved.gather(flow, &counted.owners, grown));
    moved.add_to(series, names);
    counted.naks.read(naks, |flow, grown| {
        let Some(port) = names.name(flow.destination.to_ip()) else { return };
        for (code, count) in NAKS.iter().zip(grown.into_iter().skip(1)) {
            let nak = (attribute::NAK.name, (*code).to_owned());
            let attributes = Attributes::new([(attribute::PORT.name, port.clone()), nak]);
            add_known(series, &catalog::NAK_PACKETS, attributes, count.filter(|count| *count > 0));
        }
    });
    counted.recoveries.read(recoveries, |(flow, trigger), [_, episodes, time]| {
        let Some(port) = names.name(flow.source.to_ip()) else { return };
        let trigger = (attribute::TRIGGER.name, (*trigger).to_owned());
        let attributes = Attributes::new([(attribute::PORT.name, port), trigger]);
        add_known(series, &catalog::RECOVERY_EPISODES, attributes.clone(), episodes);
        add_known(series, &catalog::RECOVERY_TIME, attributes, time);
    });
}

/// Adds the growth of flows that the last analysis had.
pub(super) fn add_between(
    series: &mut SeriesTable,
    counted: &mut FlowGrowth,
    names: &PortNames,
    tracker: &FlowTracker,
) {
    let mut traffic = BTreeMap::new();
    for flow in tracker.flows().flows() {
        let identity = flow.identity();
        let is_next_to_sender = counted.next_to_sender.contains(&(flow.key.tap, identity));
        join(&mut traffic, identity, flow.span, flow_sums::traffic(flow, is_next_to_sender));
    }
    let mut moved = Moved::default();
    counted.traffic.read_known(traffic, |flow, grown| {
        if grown.iter().flatten().any(|grown| *grown > 0) {
            moved.gather(flow, &counted.owners, grown);
        }
    });
    moved.add_to(series, names);
}

/// `None` if no attribute of the owner is known and exported.
fn owners(settings: &Settings, job: &Job, at: u32) -> Option<Owners> {
    let FlowOwner { communicator, sender, receiver, channel, .. } = queue_pair::owner(job, at)?;
    let communicator = job.name_of(communicator);
    let owners = [(sender, receiver), (receiver, sender)].map(|(rank, peer)| {
        owner_attributes(settings, communicator.as_deref(), rank, peer, channel).into()
    });
    let is_empty = owners.iter().all(|owner: &Owner| owner.is_empty());
    (!is_empty).then_some(owners)
}

/// Growth of traffic, by the end that sent it and by the end that received it.
#[derive(Default)]
struct Moved {
    sent: Traffic,
    received: Traffic,
}

impl Moved {
    fn gather(
        &mut self,
        flow: &FlowIdentity,
        owners: &BTreeMap<FlowIdentity, Owners>,
        grown: [Option<u64>; TRAFFIC],
    ) {
        let [sender, receiver] = owners.get(flow).cloned().unwrap_or_default();
        add_to_place(&mut self.sent, (flow.source.to_ip(), sender), grown);
        add_to_place(&mut self.received, (flow.destination.to_ip(), receiver), grown);
    }

    fn add_to(self, series: &mut SeriesTable, names: &PortNames) {
        add_sent(series, names, self.sent);
        add_received(series, names, self.received);
    }
}

fn add_to_place(traffic: &mut Traffic, place: OwnedPort, grown: [Option<u64>; TRAFFIC]) {
    let sums = traffic.entry(place).or_default();
    for (sum, grown) in sums.iter_mut().zip(grown) {
        *sum = match (*sum, grown) {
            (Some(sum), Some(grown)) => Some(sum.saturating_add(grown)),
            (known, None) | (None, known) => known,
        };
    }
}

fn add_sent(series: &mut SeriesTable, names: &PortNames, sent: Traffic) {
    for ((address, owner), [frames, bytes, _, _, _, _, retransmits, gaps, late, _]) in sent {
        let Some(port) = names.name(address) else { continue };
        let owned = owned_by(port, owner);
        let moved = owned([(attribute::DIRECTION.name, "transmit".to_owned())].to_vec());
        add_known(series, &catalog::FLOW_PACKETS, moved.clone(), frames);
        add_known(series, &catalog::FLOW_IO, moved, bytes);
        add_known(series, &catalog::FLOW_RETRANSMITS, owned(Vec::new()), retransmits);
        add_known(series, &catalog::FLOW_GAPS, owned(Vec::new()), gaps);
        add_known(series, &catalog::FLOW_OUT_OF_ORDER, owned(Vec::new()), late);
    }
}

fn add_received(series: &mut SeriesTable, names: &PortNames, received: Traffic) {
    for ((address, owner), grown) in received {
        let Some(port) = names.name(address) else { continue };
        let owned = owned_by(port, owner);
        let moved = owned([(attribute::DIRECTION.name, "receive".to_owned())].to_vec());
        let [frames, bytes, .., cnps] = grown;
        add_known(series, &catalog::FLOW_PACKETS, moved.clone(), frames);
        add_known(series, &catalog::FLOW_IO, moved, bytes);
        add_known(series, &catalog::CNP_PACKETS, owned(Vec::new()), cnps);
        for (codepoint, at) in ECN {
            let attributes = owned([(attribute::ECN.name, codepoint.to_owned())].to_vec());
            add_known(series, &catalog::FLOW_ECN, attributes, grown.get(at).copied().flatten());
        }
    }
}

/// A function that adds `port` and `owner` to other attributes.
fn owned_by(port: String, owner: Owner) -> impl Fn(Vec<(&'static str, String)>) -> Attributes {
    move |more| {
        let port = (attribute::PORT.name, port.clone());
        Attributes::new(owner.iter().cloned().chain([port]).chain(more))
    }
}

fn add_known(
    series: &mut SeriesTable,
    metric: &'static Metric,
    attributes: Attributes,
    amount: Option<u64>,
) {
    if let Some(amount) = amount {
        series.add(metric, attributes, amount);
    }
}
