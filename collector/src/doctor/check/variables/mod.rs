//! Do settings of NCCL, UCX and libfabric say what their author meant?

mod advice;
mod names;
mod pairs;
mod selection;

use super::{Check, count};
use crate::doctor::fact::Facts;
use crate::doctor::fact::environment::Variable;
use crate::doctor::outcome::Outcome;

/// Settings.
pub(super) const CHECK: Check = Check {
    name: "variables",
    asks: "Do the settings of NCCL, UCX and libfabric say what was meant?",
    judge,
};

fn judge(facts: &Facts) -> Vec<Outcome> {
    let mut outcomes: Vec<Outcome> = facts.unread_settings.iter().map(Outcome::unknown).collect();
    let effective = effective_all(facts);
    outcomes.extend(names::judge(facts, &effective));
    outcomes.extend(selection::judge(facts));
    outcomes.extend(advice::judge(facts, &effective));
    outcomes.extend(pairs::judge(facts));
    outcomes.extend(contradicted(facts));
    if outcomes.is_empty() && !effective.is_empty() {
        let mut sources: Vec<&str> = effective.iter().map(|set| set.source.as_str()).collect();
        sources.dedup();
        let says = format!("{}, nothing odd.", count(effective.len(), "setting"));
        outcomes.push(Outcome::right(says).seen(sources.join(", ")));
    }
    outcomes
}

/// The setting that counts: the first source that has it.
pub(super) fn effective<'a>(facts: &'a Facts, name: &str) -> Option<&'a Variable> {
    facts.variables.iter().find(|set| set.name == name)
}

fn effective_all(facts: &Facts) -> Vec<&Variable> {
    let mut seen = std::collections::BTreeSet::new();
    facts.variables.iter().filter(|set| seen.insert(set.name.as_str())).collect()
}

/// The RDMA devices that NCCL_IB_HCA selects; empty if it selects none or all.
pub(super) fn selected_devices(facts: &Facts) -> Vec<String> {
    selection::devices(facts).unwrap_or_default()
}

/// Ports that NCCL_IB_HCA names whole, with their number if it is given.
pub(super) fn named_ports(facts: &Facts) -> Vec<(String, Option<u32>)> {
    selection::named_ports(facts)
}

/// A variable that two sources set differently.
fn contradicted(facts: &Facts) -> Vec<Outcome> {
    let all = effective_all(facts);
    let pairs = all.iter().filter_map(|first| {
        let other = facts
            .variables
            .iter()
            .find(|set| set.name == first.name && set.value != first.value)?;
        let says = format!(
            "{} is {} in {} and {} in {}: the first counts.",
            first.name,
            quoted(&first.value),
            first.source,
            quoted(&other.value),
            other.source
        );
        Some(Outcome::note(says).seen(format!("{}, {}", first.source, other.source)))
    });
    pairs.collect()
}

/// A value, short and on one line.
fn quoted(value: &str) -> String {
    const SHOWN: usize = 60;
    let value = crate::printable::printable(value);
    let short: String = value.chars().take(SHOWN).collect();
    if short.len() < value.len() { format!("\"{short}...\"") } else { format!("\"{short}\"") }
}
