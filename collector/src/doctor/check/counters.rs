//! Do error counters rise?

use super::{Check, list};
use crate::doctor::fact::Facts;
use crate::doctor::fact::rise::Rise;
use crate::doctor::outcome::Outcome;
use railscope_core::decode::counter::measure::Measure;

/// Counters of errors.
pub(super) const CHECK: Check =
    Check { name: "counters", asks: "Do error counters rise now?", judge };

const SEEN: &str = "hw_counters, counters and ethtool -S, read twice";

fn judge(facts: &Facts) -> Vec<Outcome> {
    if facts.devices().is_empty() {
        return Vec::new();
    }
    let rises = match &facts.rise {
        Err(missing) => return vec![Outcome::unknown(missing)],
        Ok(rises) if rises.is_empty() => {
            return vec![
                Outcome::unseen("Not checked: no RDMA device here has counters of errors.")
                    .seen(SEEN),
            ];
        }
        Ok(rises) => rises,
    };
    let mut outcomes = Vec::new();
    let spelt = |all: &[&Rise], value: fn(&Rise) -> u64| {
        let each = all.iter().map(|one| format!("{} {} {}", one.device, one.counter, value(one)));
        list(&each.collect::<Vec<_>>())
    };
    let rose: Vec<&Rise> = rises.iter().filter(|one| one.rose > 0).collect();
    if !rose.is_empty() {
        let says = format!("Errors rise now: {}.", spelt(&rose, |one| one.rose));
        outcomes.push(Outcome::warning(says).seen(SEEN).fix("`railscope watch`, or `railscope capture` while it happens, shows whose packets they are"));
    }
    // Links that went down and symbols that could not be corrected are rare enough to be worth a look.
    let is_physical = |one: &&Rise| {
        matches!(one.measure, Measure::LinkDown | Measure::StormErrors) && one.total > one.rose
    };
    let before: Vec<&Rise> = rises.iter().filter(is_physical).collect();
    if !before.is_empty() {
        let says = format!(
            "Since boot: {}. One reading does not say when.",
            spelt(&before, |one| one.total)
        );
        outcomes.push(Outcome::note(says).seen(SEEN));
    }
    if rose.is_empty() {
        let says = format!("None of {} error counters rose while they were watched.", rises.len());
        outcomes.push(Outcome::right(says).seen(SEEN));
    }
    outcomes
}
