//! A switch dropped packets.

use std::collections::BTreeSet;

use super::switch_counters::{self, each, of_period};
use crate::analysis::finding::Finding;
use crate::analysis::finding::claim::node::Period;
use crate::analysis::finding::claim::switch::SwitchClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::severity::Severity;
use crate::link::tool::switch::{Counted, Switch};
use crate::model::switch::{LaneKind, Measure, Place};

/// Drops in a switch.
pub const KIND: Kind = Kind {
    id: "switch_drops",
    about: "A switch dropped packets at a port, in a queue or in a priority group. In a queue with PFC it should \
            drop none: then the buffer of the priority group or its headroom is too small, or the packets \
            came on another priority than the one that is lossless.",
    threshold: "A counter of drops is above 0. A warning if drops of a queue, a priority group or at the egress rose \
                between two readings, or if more than 0.01 % of what a port received was dropped between them; \
                information else: counters count since they were cleared, switches drop some received packets on \
                purpose (a VLAN that is not allowed, for example), and queues for multicast are lossy.",
    remedy: "Look which queue it is (`show queue counters`, `show interfaces counters queue`) and whether RoCE is mapped to \
             it: DSCP to traffic class to queue. Compare headroom and thresholds (`show priority-group watermark \
             headroom`, `show buffer_pool watermark`) with cable length, rate and MTU.",
    needs: &[Need::NodeOutputs],
    detect,
};

/// One of so many received packets is dropped before drops at the ingress are a warning.
const SHARE: u64 = 10_000;

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    each(facts, finding)
}

fn finding(switch: &Switch, period: Period) -> Option<Finding> {
    let of_queues = switch.moved(Measure::QueueDrops).chain(switch.moved(Measure::WredDrops));
    // What a queue dropped is also counted as dropped at the egress of its port.
    let of_egress = switch.counters.keys().filter(|(place, measure)| {
        *measure == Measure::QueueDrops
            && place.lane.is_some_and(|lane| lane.kind != LaneKind::PriorityGroup)
    });
    let with_queues: BTreeSet<&str> = of_egress.map(|(place, _)| place.port.as_str()).collect();
    let has_queues = |port: &str| with_queues.contains(port);
    let of_ports = switch.moved(Measure::SendDrops).filter(|(place, _)| !has_queues(&place.port));
    let mut hard: Vec<(Place, u64)> = of_period(of_queues.chain(of_ports), period);
    hard.sort_by_key(|(place, dropped)| (is_multicast(place), std::cmp::Reverse(*dropped)));
    let mut received = of_period(switch.moved(Measure::ReceiveDrops), period);
    received.sort_by_key(|(_, dropped)| std::cmp::Reverse(*dropped));
    let is_serious = hard.iter().any(|(place, _)| !is_multicast(place))
        || received.iter().any(|(place, dropped)| is_large(switch, place, *dropped));
    let severity = match period {
        Period::BetweenReadings if is_serious => Severity::Warning,
        _ => Severity::Info,
    };
    let measure = if hard.is_empty() { Measure::ReceiveDrops } else { Measure::QueueDrops };
    let places: Vec<(Place, u64)> = hard.into_iter().chain(received).collect();
    let (first, _) = places.first()?;
    let is_lossless = is_lossless(switch, first);
    let claim = SwitchClaim::Drops { host: switch.host.clone(), period, places, is_lossless };
    let finding = KIND.finding(severity, claim);
    Some(switch_counters::because(
        finding,
        switch,
        &[measure, Measure::SendDrops, Measure::WredDrops],
    ))
}

fn is_multicast(place: &Place) -> bool {
    place.lane.is_some_and(|lane| lane.kind == LaneKind::MulticastQueue)
}

/// Whether a port dropped a notable share of what it received meanwhile.
fn is_large(switch: &Switch, place: &Place, dropped: u64) -> bool {
    let received = switch.counters.get(&(place.clone(), Measure::Received)).copied();
    received.map(Counted::counted).is_some_and(|received| dropped.saturating_mul(SHARE) > received)
}

/// Whether PFC is on for the priority with the number of a queue or priority group, which all usual
/// configurations map to each other.
fn is_lossless(switch: &Switch, place: &Place) -> bool {
    let port = switch.ports.get(&place.port);
    let known = port.and_then(|port| port.lossless).zip(place.lane);
    known.is_some_and(|(pfc, lane)| {
        lane.kind != LaneKind::MulticastQueue && pfc.get(usize::from(lane.number)) == Some(&true)
    })
}
