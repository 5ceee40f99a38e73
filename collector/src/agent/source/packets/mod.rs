//! Packets of the interfaces that the settings name.

pub(in crate::agent) mod interfaces;

mod needs;
mod taps;

use glob::Pattern;

use self::taps::Taps;
use super::contract::{Context, Opened, Opening, Source};
use crate::config::{Config, SourceConfig};
use crate::ingest::capability::{Host, Verdict};

/// The source.
pub(super) struct Packets;

impl Source for Packets {
    fn key(&self) -> &'static str {
        "sources.packets"
    }

    fn is_on(&self, on: SourceConfig) -> bool {
        on.packets
    }

    fn needs(&self, host: &Host) -> Vec<Verdict> {
        needs::needs(host).into()
    }

    fn problems(&self, config: &Config, verdicts: &[Verdict]) -> Vec<String> {
        let is_blind = !verdicts.iter().any(Verdict::runs);
        let blind = is_blind
            .then(|| format!("{}: neither BPF programs nor packet sockets may run", self.key()));
        blind.into_iter().chain(unmatched(config)).collect()
    }

    fn open(&self, opening: &Opening<'_>, context: &mut Context<'_>) -> Opened {
        Opened::Between(Box::new(Taps::open(opening.config, context)))
    }
}

/// Patterns that no interface matches, and why.
fn unmatched(config: &Config) -> Vec<String> {
    let names = match interfaces::ethernet() {
        Ok(names) => names,
        Err(error) => return vec![format!("taps.interfaces: cannot list interfaces: {error}")],
    };
    let exclude = &config.taps.exclude;
    let sentence = |pattern: &Pattern| {
        if !interfaces::matching(pattern, exclude, &names).is_empty() {
            return None;
        }
        if !interfaces::matching(pattern, &[], &names).is_empty() {
            return Some(format!(
                "taps.interfaces: every interface that `{pattern}` matches is in taps.exclude"
            ));
        }
        let other = interfaces::others().unwrap_or_default();
        if let Some(other) = interfaces::matching(pattern, &[], &other).first() {
            return Some(format!(
                "taps.interfaces: `{pattern}` matches only `{other}`, which has no Ethernet frames (a loopback \
                 interface, a tunnel or IPoIB): the agent takes Ethernet interfaces; `railscope watch -i {other}` \
                 may take it"
            ));
        }
        let there = names.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        let there = if there.is_empty() { "no Ethernet interface" } else { &there };
        Some(format!("taps.interfaces: no interface matches `{pattern}`; this host has {there}"))
    };
    let unmatched = config.taps.interfaces.iter().filter_map(sentence);
    let of_interfaces = |pattern| interfaces::matching(pattern, exclude, &names);
    let followed: Vec<String> = config.taps.interfaces.iter().flat_map(of_interfaces).collect();
    let no_mirror = config.taps.mirrors.iter().filter_map(|pattern| {
        let is_one = followed.iter().any(|name| pattern.matches(name));
        (!is_one).then(|| {
            format!("taps.mirrors: `{pattern}` matches none of the interfaces that taps.interfaces matches")
        })
    });
    unmatched.chain(no_mirror).collect()
}
