//! Turns a scenario into the plan of a network.

use super::network::id::{LinkId, NicId, NodeId, PortId, PrioritySet, SwitchId};
use super::network::packet::Ecn;
use super::network::plan::{
    BackgroundFlow, Dcqcn, DscpMap, EcnMarking, LinkEnd, LinkPlan, NetworkPlan, NicPlan, Pfc,
    QueuePlan, ReceivePlan, SwitchPlan, TapPlan,
};
use super::network::trouble::{LossFilter, LossKind, Trouble};
use super::scenario::Scenario;
use super::scenario::fabric::Fabric;
use super::scenario::map::{Map, Node};
use super::scenario::quantity::Time;
use super::scenario::trouble;
use super::time::{Span, VirtualTime};

/// DSCP of CNPs; its priority is strict.
const CNP_DSCP: u8 = 48;
const CNP_PRIORITY: usize = 6;

/// A NIC's receive buffer and its pause thresholds, in bytes.
const RECEIVE: ReceivePlan = ReceivePlan {
    buffer_bytes: 512 << 10,
    xoff_bytes: 96 << 10,
    xon_bytes: 64 << 10,
    drain_bps: None,
};

/// Packets between ACK requests of a requester.
const ACK_EVERY: u32 = 16;

/// How long NICs that place packets out of order wait for a missing one: longer than the delays of
/// paths differ.
const REORDER_NS: u64 = 500_000;

/// Time that routing protocols take to bypass a link that is down, or to use it again.
const CONVERGENCE_NS: u64 = 5_000_000;

/// Payload of background datagrams, and their destination port, which nobody uses.
const BACKGROUND_BYTES: u16 = 1400;
const BACKGROUND_PORT: u16 = 9999;
const BACKGROUND_SOURCE_PORT: u16 = 40_000;

/// The plan of a scenario whose places were checked.
#[must_use]
pub fn plan(scenario: &Scenario, map: &Map) -> NetworkPlan {
    let fabric = &scenario.fabric;
    let node = |node: Node| match node {
        Node::Nic(place) => NodeId::Nic(NicId(place as u32)),
        Node::Switch(place) => NodeId::Switch(SwitchId(place as u32)),
    };
    NetworkPlan {
        nics: map.nics.iter().map(|nic| nic_plan(nic, fabric)).collect(),
        switches: (0..)
            .zip(&map.switches)
            .map(|(place, name)| switch(place, name, fabric))
            .collect(),
        links: map
            .links
            .iter()
            .map(|link| LinkPlan {
                ends: link.ends.clone().map(|end| LinkEnd { node: node(end.node), port: end.name }),
                rate_bps: if link.spine.is_some() { fabric.uplink_rate.0 } else { fabric.rate.0 },
                delay_ns: link
                    .spine
                    .and_then(|spine| fabric.uplink_delays.get(spine))
                    .unwrap_or(&fabric.delay)
                    .0,
            })
            .collect(),
        troubles: troubles(scenario, map),
        background: background(scenario, map),
        taps: taps(scenario, map),
        convergence_ns: CONVERGENCE_NS,
        sprays: fabric.spray,
    }
}

/// The port that scenarios call `name` (`host1`, `leaf0:uplink1`); `None` if there is none.
#[must_use]
pub fn port(map: &Map, name: &str) -> Option<PortId> {
    let end = map.port(name)?;
    let link = LinkId(end.link as u32);
    Some(if end.end == 0 { PortId::first(link) } else { PortId::second(link) })
}

fn nic_plan(nic: &super::scenario::map::Nic, fabric: &Fabric) -> NicPlan {
    let lossless =
        if fabric.pfc.enabled { PrioritySet::only(fabric.priority) } else { PrioritySet(0) };
    NicPlan {
        name: nic.name.clone(),
        mac: nic.mac,
        address: nic.address,
        dcqcn: fabric.dcqcn.then(|| rate_control(fabric)),
        cnp_dscp: CNP_DSCP,
        receive: RECEIVE,
        lossless,
        priorities: priorities(fabric),
        ack_every: ACK_EVERY,
        reorder_ns: fabric.spray.then_some(REORDER_NS),
    }
}

/// The published parameters; rates scale with the link, 40 Gb/s in the paper.
fn rate_control(fabric: &Fabric) -> Dcqcn {
    let published = Dcqcn::published();
    let scale = fabric.rate.0 as f64 / 40e9;
    Dcqcn {
        additive_bps: published.additive_bps * scale,
        hyper_bps: published.hyper_bps * scale,
        minimum_bps: published.minimum_bps * scale,
        ..published
    }
}

fn priorities(fabric: &Fabric) -> DscpMap {
    let mut map = DscpMap::by_class();
    map.0[26] = fabric.priority;
    map
}

fn switch(place: u32, name: &str, fabric: &Fabric) -> SwitchPlan {
    let mut queues = [QueuePlan::default(); 8];
    let Fabric { ecn, pfc, .. } = fabric;
    if let Some(queue) = queues.get_mut(usize::from(fabric.priority)) {
        queue.marking = ecn.enabled.then_some(EcnMarking {
            kmin_bytes: ecn.kmin.0,
            kmax_bytes: ecn.kmax.0,
            pmax: ecn.pmax.0,
        });
        queue.pfc = pfc.enabled.then_some(Pfc {
            xoff_bytes: pfc.xoff.0,
            xon_bytes: pfc.xon.0,
            headroom_bytes: pfc.headroom.0,
        });
    }
    queues[CNP_PRIORITY].strict = true;
    let [_, _, high, low] = place.to_be_bytes();
    SwitchPlan {
        name: name.to_owned(),
        mac: [0x02, 1, 0, 0, high, low],
        buffer_bytes: fabric.buffer.0,
        queues,
        priorities: priorities(fabric),
    }
}

fn span(from: Option<Time>, until: Option<Time>) -> Span {
    Span {
        from: from.map_or(VirtualTime::START, |time| VirtualTime(time.0)),
        until: until.map_or(VirtualTime::NEVER, |time| VirtualTime(time.0)),
    }
}

fn troubles(scenario: &Scenario, map: &Map) -> Vec<Trouble> {
    let port = |name: &String| port(map, name);
    let nic = |name: &String| map.nic(name).map(|nic| NicId(nic as u32));
    let mut troubles = Vec::new();
    troubles.extend(scenario.loss.iter().filter_map(|loss| {
        let span = span(loss.from, loss.until);
        let destination = match &loss.to {
            Some(name) => Some(nic(name)?),
            None => None,
        };
        let kind = loss.only.map(|kind| match kind {
            trouble::LossKind::Data => LossKind::Data,
            trouble::LossKind::Acks => LossKind::Acks,
        });
        let of = LossFilter { destination, kind };
        Some(Trouble::Loss { from: port(&loss.port)?, of, share: loss.share.0, span })
    }));
    troubles.extend(scenario.reorder.iter().filter_map(|reorder| {
        let span = span(reorder.from, reorder.until);
        let (share, by_ns) = (reorder.share.0, reorder.delay.0);
        Some(Trouble::Delay { from: port(&reorder.port)?, share, by_ns, span })
    }));
    troubles.extend(scenario.flap.iter().filter_map(|flap| {
        let span = span(Some(flap.from), Some(flap.until));
        Some(Trouble::Down { link: port(&flap.port)?.link(), span })
    }));
    troubles.extend(
        scenario.not_ect.iter().filter_map(|leg| {
            Some(Trouble::ClearEct { from: port(&leg.port)?, span: Span::ALWAYS })
        }),
    );
    troubles.extend(scenario.slow_nic.iter().filter_map(|slow| {
        let span = span(slow.from, slow.until);
        Some(Trouble::SlowReceive { nic: nic(&slow.nic)?, rate_bps: slow.rate.0, span })
    }));
    let priority = scenario.fabric.priority;
    troubles.extend(scenario.pause_storm.iter().filter_map(|storm| {
        let span = span(Some(storm.from), Some(storm.until));
        Some(Trouble::PauseStorm { nic: nic(&storm.nic)?, priority, span })
    }));
    for wrong in &scenario.wrong_dscp {
        let ports = map.nics_of_host(&wrong.host);
        let ports = ports.iter().filter_map(|nic| port(&map.nics.get(*nic)?.name));
        troubles.extend(ports.map(|from| Trouble::RewriteDscp {
            from,
            dscp: wrong.dscp,
            span: Span::ALWAYS,
        }));
    }
    troubles
}

fn background(scenario: &Scenario, map: &Map) -> Vec<BackgroundFlow> {
    let nic = |name: &String| map.nic(name).map(|nic| NicId(nic as u32));
    let flow = |(place, flow): (u16, &trouble::Background)| {
        Some(BackgroundFlow {
            from: nic(&flow.sender)?,
            to: nic(&flow.receiver)?,
            rate_bps: flow.rate.0,
            payload_bytes: BACKGROUND_BYTES,
            udp_source_port: BACKGROUND_SOURCE_PORT.wrapping_add(place),
            udp_destination_port: BACKGROUND_PORT,
            dscp: flow.dscp,
            ecn: Ecn::NotEct,
            span: span(flow.from, flow.until),
        })
    };
    (0..).zip(&scenario.background).filter_map(flow).collect()
}

/// The ports of the requested taps: a host has one per NIC.
fn taps(scenario: &Scenario, map: &Map) -> Vec<TapPlan> {
    let names = scenario.taps(map).into_iter().flat_map(|tap| tap.ports);
    names.filter_map(|name| Some(TapPlan { port: port(map, &name)?, name })).collect()
}
