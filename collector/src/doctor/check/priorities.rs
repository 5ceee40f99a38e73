//! Is priority flow control on, for one priority, and alike on all rails?

use std::collections::BTreeMap;

use super::{Check, list};
use crate::doctor::fact::Facts;
use crate::doctor::fact::dcb::Dcb;
use crate::doctor::outcome::Outcome;

/// Priorities with flow control.
pub(super) const CHECK: Check = Check {
    name: "priorities",
    asks: "Is priority flow control on, and alike on all rails?",
    judge,
};

const SEEN: &str = "DCB netlink (as `dcb pfc show`, `mlnx_qos`)";
const FIX: &str = "`mlnx_qos -i DEV --trust dscp --pfc 0,0,0,1,0,0,0,0`, or `dcb pfc set dev DEV prio-pfc 3:on`; the same on the switches";

/// RoCE interfaces whose priorities are known, each once.
pub(super) fn known(facts: &Facts) -> Vec<(&str, &Dcb)> {
    let mut known: Vec<(&str, &Dcb)> = facts
        .active_ports()
        .filter(|(_, port)| port.is_roce())
        .filter_map(|(_, port)| facts.interface(port.netdev.as_deref()?))
        .filter_map(|interface| Some((interface.name.as_str(), interface.dcb.as_ref().ok()?)))
        .collect();
    known.sort_unstable_by_key(|(name, _)| *name);
    known.dedup_by_key(|(name, _)| *name);
    known
}

/// Priorities that can be paused: `3`, `3 and 4`, `none`.
fn spelt(pfc: [bool; 8]) -> String {
    let on: Vec<String> = (0..8)
        .zip(pfc)
        .filter(|(_, is_on)| *is_on)
        .map(|(priority, _)| priority.to_string())
        .collect();
    if on.is_empty() { "none".to_owned() } else { list(&on) }
}

fn judge(facts: &Facts) -> Vec<Outcome> {
    let mut outcomes = unknown(facts);
    let mut by_pfc: BTreeMap<[bool; 8], Vec<String>> = BTreeMap::new();
    for (name, dcb) in known(facts) {
        if let Some(pfc) = dcb.pfc {
            by_pfc.entry(pfc).or_default().push(name.to_owned());
        }
    }
    if by_pfc.len() > 1 {
        let each = by_pfc.iter().map(|(pfc, names)| format!("{} on {}", spelt(*pfc), list(names)));
        let says =
            format!("Rails pause different priorities: {}.", each.collect::<Vec<_>>().join("; "));
        outcomes.push(Outcome::warning(says).seen(SEEN).fix(FIX));
        return outcomes;
    }
    let Some((pfc, names)) = by_pfc.first_key_value() else { return outcomes };
    let on = pfc.iter().filter(|is_on| **is_on).count();
    outcomes.push(match on {
        0 => Outcome::note(format!(
            "No priority can be paused on {}: a full buffer drops RoCE packets. Right only on a fabric that is built for loss.",
            list(names)
        ))
        .fix(FIX),
        1 => Outcome::right(format!("Priority {} can be paused on {}.", spelt(*pfc), list(names))),
        8 => Outcome::warning(format!("All priorities can be paused on {}: one slow receiver stops everything, and switches have buffers for two or three.", list(names))).fix(FIX),
        _ => Outcome::note(format!("Priorities {} can be paused on {}. RoCE needs one.", spelt(*pfc), list(names))),
    }
    .seen(SEEN));
    outcomes
}

/// Why priorities are not known: the first reason stands for all.
fn unknown(facts: &Facts) -> Vec<Outcome> {
    let ports = facts.active_ports().filter(|(_, port)| port.is_roce());
    let interfaces = ports.filter_map(|(_, port)| facts.interface(port.netdev.as_deref()?));
    // Software devices send through interfaces that have no hardware to set up.
    let mut missing =
        interfaces.filter(|one| one.function.is_some()).filter_map(|one| one.dcb.as_ref().err());
    missing
        .next()
        .map(|missing| Outcome::unknown(missing).fix("`dcb pfc show dev DEV`, `mlnx_qos -i DEV`"))
        .into_iter()
        .collect()
}
