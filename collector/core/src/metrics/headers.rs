//! What hosts of one job should have alike in their packets: DSCP, IP version, path MTU.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::attribute;
use super::catalog;
use super::flow_sums;
use super::growth::Growth;
use super::point::Attributes;
use super::port_names::PortNames;
use super::series::SeriesTable;
use crate::analysis::state::State;
use crate::flow::key::FlowIdentity;
use crate::flow::state::Flow;
use crate::link::clock::timeline::aligned_span;
use crate::model::ecn::Dscp;

/// Packets as of the last export, by flow and DSCP.
pub(super) type HeaderGrowth = Growth<(FlowIdentity, Dscp), 1>;

/// Adds the packets since the last export.
pub(super) fn add(
    series: &mut SeriesTable,
    counted: &mut HeaderGrowth,
    names: &PortNames,
    state: &State,
) {
    let mut packets = BTreeMap::new();
    for flow in state.tracker.flows().flows() {
        let identity = flow.identity();
        if names.name(identity.source.to_ip()).is_none() {
            continue;
        }
        let span = aligned_span(flow.span, flow.key.tap, &state.clocks);
        for (dscp, count) in flow.headers.dscp().iter() {
            flow_sums::join(&mut packets, (identity, dscp), span, [Some(count)]);
        }
    }
    counted.read(packets, |(identity, dscp), [count]| {
        let source = identity.source.to_ip();
        let Some(port) = names.name(source) else { return };
        let version = if source.is_ipv4() { "ipv4" } else { "ipv6" };
        let attributes = Attributes::new([
            (attribute::PORT.name, port),
            (attribute::DSCP.name, dscp.value().to_string()),
            (attribute::IP_VERSION.name, version.to_owned()),
        ]);
        series.add(&catalog::PORT_DSCP, attributes, count.unwrap_or(0));
    });
}

/// Sets the path MTU of each port that sends messages of several packets: the smallest of its flows.
pub(super) fn set_path_mtus(series: &mut SeriesTable, names: &PortNames, state: &State) {
    let mut smallest: BTreeMap<IpAddr, u32> = BTreeMap::new();
    let known =
        |flow: &Flow| Some((flow.key.source.to_ip(), flow.requester().messages.path_mtu()?));
    for (port, mtu) in state.tracker.flows().flows().iter().filter_map(known) {
        smallest.entry(port).and_modify(|least| *least = mtu.min(*least)).or_insert(mtu);
    }
    for (port, mtu) in smallest {
        let Some(port) = names.name(port) else { continue };
        let attributes = Attributes::new([(attribute::PORT.name, port)]);
        series.set(&catalog::PORT_PATH_MTU, attributes, u64::from(mtu));
    }
}
