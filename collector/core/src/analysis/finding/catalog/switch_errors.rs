//! A switch received packets with errors.

use std::collections::BTreeMap;

use super::switch_counters::{self, each, of_period};
use crate::analysis::finding::Finding;
use crate::analysis::finding::claim::node::Period;
use crate::analysis::finding::claim::switch::SwitchClaim;
use crate::analysis::finding::facts::Facts;
use crate::analysis::finding::kind::{Kind, Need};
use crate::link::tool::switch::Switch;
use crate::model::switch::{Measure, Place};

/// Errors at ports of a switch.
pub const KIND: Kind = Kind {
    id: "switch_errors",
    about: "A switch received packets with errors: the link corrupts what it carries. Each is lost, and RoCE sends a \
            whole window again.",
    threshold: "A counter of received errors (RX_ERR, FCS, FEC_UNCORR) is above 0. \
                A warning if it rose between two readings, information if only one is known: counters count since they \
                were cleared, and links have errors while they come up.",
    remedy: "Clean or replace cable and transceiver at both ends (`show interfaces transceiver`); compare the error \
             rates before FEC (`show interfaces counters fec-stats`).",
    needs: &[Need::NodeOutputs],
    detect,
};

/// Counters of errors, the first that says anything about a port.
const MEASURES: &[Measure] = &[Measure::FcsErrors, Measure::ReceiveErrors, Measure::FecUncorrected];

fn detect(facts: &Facts<'_>) -> Vec<Finding> {
    each(facts, finding)
}

fn finding(switch: &Switch, period: Period) -> Option<Finding> {
    let mut by_place: BTreeMap<Place, u64> = BTreeMap::new();
    for measure in MEASURES {
        for (place, errors) in of_period(switch.moved(*measure), period) {
            by_place.entry(place).or_insert(errors);
        }
    }
    let mut places: Vec<(Place, u64)> = by_place.into_iter().collect();
    places.sort_by_key(|(_, errors)| std::cmp::Reverse(*errors));
    if places.is_empty() {
        return None;
    }
    let claim = SwitchClaim::Errors { host: switch.host.clone(), period, places };
    let finding = KIND.finding(period.severity(), claim);
    Some(switch_counters::because(finding, switch, MEASURES))
}
