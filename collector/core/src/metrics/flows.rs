//! What flows carried and suffered, by port.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use super::Settings;
use super::attribute;
use super::catalog;
use super::growth::{Growth, Sums};
use super::metric::Metric;
use super::point::Attributes;
use super::port_names::PortNames;
use super::series::{SeriesTable, owner_attributes};
use crate::flow::tracker::FlowTracker;
use crate::report::Report;
use crate::report::flows::{EcnReport, FlowReport, PsnReport};
use crate::report::owner::OwnerReport;

/// How far the flows were told.
#[derive(Clone, Debug, Default)]
pub(super) struct FlowsTold {
    traffic: Growth<FlowName, TRAFFIC>,
    /// Frames, then NAKs by code.
    naks: Growth<FlowName, { 1 + NAKS.len() }>,
    /// Frames, episodes and their time, by trigger.
    recoveries: Growth<(FlowName, &'static str), 3>,
    /// Whose the flows of the last report are, where that is told.
    owners: BTreeMap<FlowName, Owners>,
    /// Flows of the last report at taps that stand before any switch, by the tap's number.
    unmarked: BTreeSet<(u32, FlowName)>,
}

/// Source, destination, destination QPN, epoch.
type FlowName = (IpAddr, IpAddr, u32, u32);
/// The owner of a flow as seen from one end, as far as that is told.
type Owner = Arc<[(&'static str, String)]>;
/// The same from the end that sends and from the one that receives.
type Owners = [Owner; 2];
/// A port, with the owner of a flow.
type Place = (IpAddr, Owner);
/// What flows of a place add up to.
type Traffic = BTreeMap<Place, [Option<u64>; TRAFFIC]>;

/// Sums of a flow's traffic: see [`traffic_of`].
const TRAFFIC: usize = 10;
const NAKS: [&str; 7] = [
    "psn_sequence_error",
    "invalid_request",
    "remote_access_error",
    "remote_operational_error",
    "invalid_rd_request",
    "reserved",
    "rnr",
];
/// Names of ECN codepoints with their places in a flow's traffic.
const ECN: [(&str, usize); 4] = [("not_ect", 2), ("ect0", 3), ("ect1", 4), ("ce", 5)];

/// Adds what came since the last report.
pub(super) fn add(
    series: &mut SeriesTable,
    told: &mut FlowsTold,
    settings: &Settings,
    names: &PortNames,
    report: &Report,
) {
    told.owners.clear();
    told.unmarked.clear();
    let mut traffic = BTreeMap::new();
    let mut naks = BTreeMap::new();
    let mut recoveries = BTreeMap::new();
    for flow in &report.flows {
        let Some(name) = name_of(flow) else { continue };
        if let Some(owner) = &flow.owner {
            let owners = owners_of(settings, owner);
            if !owners.iter().all(|owner| owner.is_empty()) {
                told.owners.entry(name).or_insert(owners);
            }
        }
        if flow.ecn.ce.is_none() {
            told.unmarked.insert((flow.tap, name));
        }
        let span = span(report, flow);
        join(&mut traffic, name, Sums { span, sums: traffic_of(flow) });
        let codes = naks_of(flow);
        if codes.iter().skip(1).any(|code| *code != Some(0)) {
            join(&mut naks, name, Sums { span, sums: codes });
        }
        for (trigger, sums) in recoveries_of(flow) {
            join(&mut recoveries, (name, trigger), Sums { span, sums });
        }
    }
    let mut moved = Moved::default();
    told.traffic.read(traffic, |name, grown| moved.gather(name, &told.owners, grown));
    moved.add_to(series, names);
    told.naks.read(naks, |name, grown| {
        let Some(port) = names.of(name.1) else { return };
        for (code, count) in NAKS.iter().zip(grown.into_iter().skip(1)) {
            let nak = (attribute::NAK.name, (*code).to_owned());
            let attributes = Attributes::new([(attribute::PORT.name, port.clone()), nak]);
            add_known(series, &catalog::NAK_PACKETS, attributes, count.filter(|count| *count > 0));
        }
    });
    told.recoveries.read(recoveries, |((source, ..), trigger), [_, episodes, time]| {
        let Some(port) = names.of(*source) else { return };
        let trigger = (attribute::TRIGGER.name, (*trigger).to_owned());
        let attributes = Attributes::new([(attribute::PORT.name, port), trigger]);
        add_known(series, &catalog::RECOVERY_EPISODES, attributes.clone(), episodes);
        add_known(series, &catalog::RECOVERY_TIME, attributes, time);
    });
}

/// Adds what flows of the last report have carried since.
pub(super) fn add_between(
    series: &mut SeriesTable,
    told: &mut FlowsTold,
    names: &PortNames,
    tracker: &FlowTracker,
) {
    let mut traffic = BTreeMap::new();
    for flow in tracker.flows().flows() {
        let key = &flow.key;
        let name = (key.source.to_ip(), key.destination.to_ip(), key.dest_qpn.value(), flow.epoch);
        let is_unmarked = told.unmarked.contains(&(key.tap.0, name));
        let ecn = EcnReport::new(flow.ecn, is_unmarked);
        let sums =
            traffic_sums([flow.frames, flow.wire_bytes, flow.cnps], &ecn, &PsnReport::new(flow));
        let span = (flow.span.first.as_nanos(), flow.span.last.as_nanos());
        join(&mut traffic, name, Sums { span, sums });
    }
    let mut moved = Moved::default();
    told.traffic.read_known(traffic, |name, grown| {
        if grown.iter().flatten().any(|grown| *grown > 0) {
            moved.gather(name, &told.owners, grown);
        }
    });
    moved.add_to(series, names);
}

fn name_of(flow: &FlowReport) -> Option<FlowName> {
    Some((flow.src.parse().ok()?, flow.dst.parse().ok()?, flow.dest_qpn, flow.epoch))
}

fn span(report: &Report, flow: &FlowReport) -> (u64, u64) {
    let date = |time_ns| report.capture.time(time_ns).as_nanos();
    (date(flow.first_ns), date(flow.last_ns))
}

fn traffic_of(flow: &FlowReport) -> [Option<u64>; TRAFFIC] {
    traffic_sums([flow.frames, flow.wire_bytes, flow.cnps], &flow.ecn, &flow.psn)
}

/// Frames first: they tell whether a flow began anew.
fn traffic_sums(
    [frames, wire_bytes, cnps]: [u64; 3],
    ecn: &EcnReport,
    psn: &PsnReport,
) -> [Option<u64>; TRAFFIC] {
    // Where CE cannot be seen, the others say nothing of its share.
    let beside_ce = |count: u64| ecn.ce.map(|_| count);
    let gaps = psn.gap_packets.map(|gaps| gaps + psn.response_gap_packets.unwrap_or(0));
    [
        Some(frames),
        Some(wire_bytes),
        beside_ce(ecn.not_ect),
        beside_ce(ecn.ect0),
        beside_ce(ecn.ect1),
        ecn.ce,
        psn.retransmitted_packets,
        gaps,
        psn.out_of_order_packets,
        Some(cnps),
    ]
}

fn naks_of(flow: &FlowReport) -> [Option<u64>; 1 + NAKS.len()] {
    let naks = &flow.naks;
    [
        flow.frames,
        naks.psn_sequence_error,
        naks.invalid_request,
        naks.remote_access_error,
        naks.remote_operational_error,
        naks.invalid_rd_request,
        naks.reserved,
        flow.rnr_naks,
    ]
    .map(Some)
}

/// Episodes and their time by trigger: a report of full detail lists them one by one.
fn recoveries_of(flow: &FlowReport) -> BTreeMap<&'static str, [Option<u64>; 3]> {
    let mut sums: BTreeMap<&'static str, [u64; 2]> = BTreeMap::new();
    for episode in &flow.episodes {
        let [episodes, time] = sums.entry(episode.trigger).or_default();
        *episodes = episodes.saturating_add(episode.count);
        *time = time.saturating_add(episode.recovery_ns);
    }
    let with_frames = |[episodes, time]: [u64; 2]| [flow.frames, episodes, time].map(Some);
    sums.into_iter().map(|(trigger, sums)| (trigger, with_frames(sums))).collect()
}

fn owners_of(settings: &Settings, owner: &OwnerReport) -> Owners {
    let (rank, peer) = (owner.rank, owner.peer_rank);
    let communicator = owner.communicator.as_deref();
    [(rank, peer), (peer, rank)].map(|(rank, peer)| {
        owner_attributes(settings, communicator, rank, peer, owner.channel).into()
    })
}

fn join<K: Ord, const N: usize>(all: &mut BTreeMap<K, Sums<N>>, key: K, sums: Sums<N>) {
    all.entry(key).and_modify(|known| known.join(sums)).or_insert(sums);
}

/// What flows moved, by the end that sent it and by the one that received it.
#[derive(Default)]
struct Moved {
    sent: Traffic,
    received: Traffic,
}

impl Moved {
    fn gather(
        &mut self,
        name: &FlowName,
        owners: &BTreeMap<FlowName, Owners>,
        grown: [Option<u64>; TRAFFIC],
    ) {
        let [sender, receiver] = owners.get(name).cloned().unwrap_or_default();
        add_to_place(&mut self.sent, (name.0, sender), grown);
        add_to_place(&mut self.received, (name.1, receiver), grown);
    }

    fn add_to(self, series: &mut SeriesTable, names: &PortNames) {
        add_sent(series, names, self.sent);
        add_received(series, names, self.received);
    }
}

fn add_to_place(traffic: &mut Traffic, place: Place, grown: [Option<u64>; TRAFFIC]) {
    let sums = traffic.entry(place).or_default();
    for (sum, grown) in sums.iter_mut().zip(grown) {
        *sum = match (*sum, grown) {
            (Some(sum), Some(grown)) => Some(sum.saturating_add(grown)),
            (known, None) | (None, known) => known,
        };
    }
}

fn add_sent(series: &mut SeriesTable, names: &PortNames, sent: Traffic) {
    for ((address, owner), [frames, bytes, _, _, _, _, retransmits, gaps, overtaken, _]) in sent {
        let Some(port) = names.of(address) else { continue };
        let owned = owned_by(port, owner);
        let moved = owned([(attribute::DIRECTION.name, "transmit".to_owned())].to_vec());
        add_known(series, &catalog::FLOW_PACKETS, moved.clone(), frames);
        add_known(series, &catalog::FLOW_IO, moved, bytes);
        add_known(series, &catalog::FLOW_RETRANSMITS, owned(Vec::new()), retransmits);
        add_known(series, &catalog::FLOW_GAPS, owned(Vec::new()), gaps);
        add_known(series, &catalog::FLOW_OUT_OF_ORDER, owned(Vec::new()), overtaken);
    }
}

fn add_received(series: &mut SeriesTable, names: &PortNames, received: Traffic) {
    for ((address, owner), grown) in received {
        let Some(port) = names.of(address) else { continue };
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

/// Attributes of a place, with more.
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
