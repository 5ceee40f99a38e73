//! Is priority flow control on, for one priority, and alike on all rails?

use std::collections::BTreeMap;

use super::{Check, by_kind, list, rails};
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

/// RoCE interfaces whose priorities are known.
pub(super) fn known(facts: &Facts) -> Vec<(&str, &Dcb)> {
    let rails = rails(facts).into_iter();
    rails
        .filter_map(|rail| Some((rail.interface.name.as_str(), rail.interface.dcb.as_ref().ok()?)))
        .collect()
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
    for by_pfc in by_kind(&rails(facts), |interface| interface.dcb.as_ref().ok()?.pfc) {
        outcomes.extend(judge_kind(&by_pfc));
    }
    outcomes
}

/// NICs of one kind, by the priorities that they pause.
fn judge_kind(by_pfc: &BTreeMap<[bool; 8], Vec<String>>) -> Option<Outcome> {
    if by_pfc.len() > 1 {
        let each = by_pfc.iter().map(|(pfc, names)| format!("{} on {}", spelt(*pfc), list(names)));
        let says =
            format!("Rails pause different priorities: {}.", each.collect::<Vec<_>>().join("; "));
        return Some(Outcome::warning(says).seen(SEEN).fix(FIX));
    }
    let (pfc, names) = by_pfc.first_key_value()?;
    let (names, on) = (list(names), pfc.iter().filter(|is_on| **is_on).count());
    let outcome = match on {
        0 => Outcome::note(format!(
            "No priority can be paused on {names}: a full buffer drops RoCE packets. Right only on a fabric that is built for loss."
        ))
        .fix(FIX),
        1 => Outcome::right(format!("Priority {} can be paused on {names}.", spelt(*pfc))),
        8 => Outcome::warning(format!(
            "All priorities can be paused on {names}: one slow receiver stops everything, and switches have buffers for two or three."
        ))
        .fix(FIX),
        _ => Outcome::note(format!("Priorities {} can be paused on {names}. RoCE needs one.", spelt(*pfc))),
    };
    Some(outcome.seen(SEEN))
}

/// Why priorities are not known: the first reason stands for all.
fn unknown(facts: &Facts) -> Vec<Outcome> {
    let rails = rails(facts).into_iter();
    let interfaces = rails.map(|rail| rail.interface);
    // Software devices send through interfaces that have no hardware to set up.
    let mut missing =
        interfaces.filter(|one| one.function.is_some()).filter_map(|one| one.dcb.as_ref().err());
    missing
        .next()
        .map(|missing| Outcome::unknown(missing).fix("`dcb pfc show dev DEV`, `mlnx_qos -i DEV`"))
        .into_iter()
        .collect()
}
