//! What is connected to a switch asked it to pause.

use super::switch_counters::{self, each, of_period};
use crate::analysis::finding::Finding;
use crate::analysis::finding::claim::node::Period;
use crate::analysis::finding::claim::switch::SwitchClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::link::tool::switch::{Counted, Switch};
use crate::model::switch::{Measure, Place};

/// Pause received by a switch.
pub const KIND: Kind = Kind {
    id: "switch_paused",
    about: "What is connected to a switch's port asked it to stop more often than it was asked: a host that cannot \
            take what arrives, or the next switch that is congested. The pause spreads to all ports that send \
            there.",
    threshold: "At least 100 pause frames were received on a priority, and more than were sent. \
                A warning if they were counted between two readings, information if only one is known: counters \
                count since they were cleared.",
    remedy: "If a host is connected: what slows it (PCIe width and speed, a GPU behind another socket, a slow \
             receiver). If a switch is: look at its ports in turn.",
    needs: &[Need::NodeOutputs],
    detect,
};

/// Pauses received below which nothing is said.
const FEW: u64 = 100;

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    each(facts, finding)
}

fn finding(switch: &Switch, period: Period) -> Option<Finding> {
    let sent = |place: &Place| {
        let sent = switch.counters.get(&(place.clone(), Measure::PauseSent)).copied();
        sent.map_or(0, Counted::counted)
    };
    let received = of_period(switch.moved(Measure::PauseReceived), period).into_iter();
    let mut places: Vec<(Place, u64, u64)> = received
        .map(|(place, received)| (place.clone(), received, sent(&place)))
        .filter(|(_, received, sent)| *received >= FEW && received > sent)
        .collect();
    places.sort_by_key(|(_, received, _)| std::cmp::Reverse(*received));
    if places.is_empty() {
        return None;
    }
    let claim = SwitchClaim::Paused { host: switch.host.clone(), period, places };
    let finding = KIND.finding(period.severity(), claim);
    Some(switch_counters::because(finding, switch, &[Measure::PauseReceived]))
}
