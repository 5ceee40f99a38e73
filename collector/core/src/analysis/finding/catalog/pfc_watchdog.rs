//! The PFC watchdog of a switch detected storms.

use super::switch_counters::{self, each, of_period};
use crate::analysis::finding::Finding;
use crate::analysis::finding::claim::node::Period;
use crate::analysis::finding::claim::switch::SwitchClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::analysis::severity::Severity;
use crate::link::tool::switch::{Counted, Switch};
use crate::model::switch::{Measure, Place};

/// Storms of pause.
pub const KIND: Kind = Kind {
    id: "pfc_watchdog",
    about: "The PFC watchdog of a switch detected that a queue was paused without end, and dropped or forwarded its \
            packets until the pause ended. RDMA loses packets meanwhile; the device at that port is \
            usually the cause.",
    threshold: "A warning if a queue is in a storm now, or if storms were counted between two readings; information if \
                they were counted at any time since the counters were cleared.",
    remedy: "Look at the device at that port: a hung host or NIC (driver, firmware, PCIe), or the next switch. Take the \
             port down if it does not stop.",
    needs: &[Need::NodeOutputs],
    detect,
};

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    each(facts, finding)
}

fn finding(switch: &Switch, period: Period) -> Option<Finding> {
    let mut places = of_period(switch.moved(Measure::StormsDetected), period);
    places.sort_by_key(|(_, storms)| std::cmp::Reverse(*storms));
    let (first, _) = places.first()?;
    let of = |place: &Place, measure| switch.counters.get(&(place.clone(), measure)).copied();
    let is_now = |place: &&Place| of(place, Measure::InStorm).is_some_and(|one| one.value > 0);
    let now: Vec<Place> = places.iter().map(|(place, _)| place).filter(is_now).cloned().collect();
    let dropped = of(now.first().unwrap_or(first), Measure::StormDrops).map_or(0, Counted::counted);
    let severity = if now.is_empty() { period.severity() } else { Severity::Warning };
    let claim = SwitchClaim::Storms { host: switch.host.clone(), period, places, now, dropped };
    let finding = KIND.finding(severity, claim).proven();
    Some(switch_counters::because(finding, switch, &[Measure::StormsDetected]))
}
