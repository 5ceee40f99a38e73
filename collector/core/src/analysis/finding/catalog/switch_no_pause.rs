//! A switch drops lossless packets and sends no pause.

use super::switch_counters::{self, each, of_period};
use crate::analysis::finding::Finding;
use crate::analysis::finding::claim::node::Period;
use crate::analysis::finding::claim::switch::SwitchClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::link::tool::switch::Switch;
use crate::model::switch::{LaneKind, Measure, Place};

/// Lossless drops without pause.
pub const KIND: Kind = Kind {
    id: "switch_no_pause",
    about: "A switch dropped packets of a priority with PFC and sent no pause frame where they came in. PFC \
            does not work there: what sends to it is never told to stop, and RoCE loses packets on a fabric that \
            looks lossless in every setting.",
    threshold: "A priority group with PFC dropped packets, and its port sent no pause frame on that priority meanwhile; or a \
                queue did, and no port whose pause frames were counted sent one. Nothing if the PFC watchdog saw storms, for then it \
                drops on purpose. A warning between two readings, information if only one is known: counters count \
                since they were cleared.",
    remedy: "Settings first, at the ports where the packets come in: a lossless buffer profile with xoff on the \
             priority group (`show buffer configuration`), PFC on at this port and not only at the others (`show pfc \
             priority`), DSCP to traffic class to priority group (the QoS maps of the port): what lands in a lossy group is \
             dropped without pause. If they are right, the switch's software does not send it: compare the vendor SAI \
             of `show version` with the release notes of newer images, and ask the vendor. Known: ports with MACsec on \
             Broadcom DNX (Q3D) sent no PFC; SONiC 202511 has it corrected from DNX SAI 14.1.0.1.0.0.35.0 on, \
             completely with the update after it. Until then, no MACsec on ports that carry RoCE.",
    needs: &[Need::NodeOutputs],
    detect,
};

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    each(facts, finding)
}

fn finding(switch: &Switch, period: Period) -> Option<Finding> {
    let storms = [Measure::StormsDetected, Measure::StormDrops, Measure::InStorm];
    if storms.iter().any(|measure| switch.moved(*measure).next().is_some()) {
        return None;
    }
    let dropped = of_period(switch.moved(Measure::QueueDrops), period);
    let mut places: Vec<(Place, u64)> =
        dropped.into_iter().filter(|(place, _)| silent(switch, place, period).is_some()).collect();
    places.sort_by_key(|(_, dropped)| std::cmp::Reverse(*dropped));
    let (first, _) = places.first()?;
    let (priority, ports) = silent(switch, first, period)?;
    let claim = SwitchClaim::NoPause { host: switch.host.clone(), period, places, priority, ports };
    let finding = KIND.finding(period.severity(), claim);
    let finding = switch_counters::because(finding, switch, &[Measure::QueueDrops]);
    Some(switch_counters::because(finding, switch, &[Measure::PauseSent]))
}

/// The lossless priority that a queue or priority group is for, and how many ports, which all should have
/// paused it, sent no pause in `period`. A priority group fills at the ingress: then it is its own port;
/// what fills a queue may come from any. Usual configurations give the three the same number.
fn silent(switch: &Switch, place: &Place, period: Period) -> Option<(u8, u64)> {
    let lane = place.lane.filter(|lane| lane.kind != LaneKind::MulticastQueue)?;
    let is_own = |port: &str| lane.kind != LaneKind::PriorityGroup || port == place.port;
    let is_on = |pfc: [bool; 8]| pfc.get(usize::from(lane.number)) == Some(&true);
    let mut ports = switch.ports.values().filter(|port| is_own(&port.name));
    if !ports.any(|port| port.lossless.is_some_and(is_on)) {
        return None;
    }
    let is_twice = period == Period::BetweenReadings;
    let own = switch.counters.iter().filter(|((at, measure), counted)| {
        *measure == Measure::PauseSent
            && at.lane.is_some_and(|of| of.number == lane.number)
            && is_own(&at.port)
            && counted.before.is_some() == is_twice
    });
    let sent: Vec<u64> = own.map(|(_, counted)| counted.counted()).collect();
    let is_silent = !sent.is_empty() && sent.iter().all(|sent| *sent == 0);
    is_silent.then_some((lane.number, sent.len() as u64))
}
