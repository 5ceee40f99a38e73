//! Names that no release reads, and values that are no numbers.

use super::quoted;
use crate::doctor::fact::Facts;
use crate::doctor::fact::environment::Variable;
use crate::doctor::outcome::Outcome;
use crate::doctor::variable::{self, Kind};

pub(super) fn judge(facts: &Facts, all: &[&Variable]) -> Vec<Outcome> {
    let releases: Vec<(u32, u32)> =
        facts.software.nccl_versions().into_iter().filter_map(release).collect();
    let nccl = all.iter().filter(|set| set.name.starts_with("NCCL_"));
    nccl.filter_map(|set| judge_one(set, &releases)).collect()
}

fn release(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

fn judge_one(set: &Variable, releases: &[(u32, u32)]) -> Option<Outcome> {
    let Variable { name, value, source } = set;
    let Some(known) = variable::of(name) else {
        if variable::reader(name).is_some() {
            return None;
        }
        return Some(
            match variable::nearest(name) {
                Some(meant) => {
                    Outcome::warning(format!("{name} is not read by NCCL. Did you mean {meant}?"))
                        .fix(format!("{meant}={value}", value = quoted(value)))
                }
                None => Outcome::note(format!(
                    "{name} is not read by any release of NCCL up to 2.30; a plugin may read it."
                )),
            }
            .seen(source),
        );
    };
    if let Some((major, minor)) = known.until {
        let says = format!("{name} has no effect: NCCL read it up to {major}.{minor}.");
        let is_older = releases.iter().any(|release| *release <= (major, minor));
        return (!is_older).then(|| Outcome::note(says).seen(source).fix("remove it"));
    }
    if let Some((major, minor)) = releases.iter().find(|release| **release < known.since) {
        let (since, since_minor) = known.since;
        let says = format!(
            "{name} has no effect with NCCL {major}.{minor}: it is read from {since}.{since_minor} on."
        );
        return Some(Outcome::note(says).seen(source));
    }
    if known.kind == Kind::Number && !takes_words(name) && !set.is_number() {
        let says =
            format!("{name}={} is no number: NCCL reads it as {}.", quoted(value), set.number());
        return Some(
            Outcome::warning(says)
                .seen(source)
                .fix(format!("{name}=1 or {name}=0, or another number")),
        );
    }
    None
}

/// Numbers in some releases and words in others.
fn takes_words(name: &str) -> bool {
    name.ends_with("_LEVEL") || name.ends_with("_ENABLE") && name.contains("RAS")
}
