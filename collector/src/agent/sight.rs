//! What this process may see of the host, source by source: a list to read before anything is opened, and
//! what the settings ask for in vain.

use super::interfaces;
use crate::config::{Config, SourceConfig};
use crate::ingest::capability::{Host, Source, Verdict};

/// Whether each source that the settings ask for can run here, and if not why.
#[must_use]
pub fn verdicts(sources: SourceConfig) -> Vec<Verdict> {
    let host = Host::read("/proc".as_ref(), "/sys".as_ref());
    let is_wanted = |source: &Source| match source {
        Source::TrafficControl | Source::PacketSocket => sources.packets,
        Source::LibraryCalls => sources.calls,
        Source::Counters => sources.counters,
        Source::TcpStates | Source::RdmaNetlink | Source::Processes => sources.processes,
    };
    Source::ALL.into_iter().filter(is_wanted).map(|source| source.can_run(&host)).collect()
}

/// What the settings ask for and cannot have here, in words: sources that are switched on and may not run
/// (of the two that see packets, one is enough), and patterns that no interface matches.
#[must_use]
pub fn in_vain(config: &Config, verdicts: &[Verdict]) -> Vec<String> {
    let cannot =
        |source: Source| verdicts.iter().any(|verdict| verdict.source == source && !verdict.runs());
    let mut sentences = Vec::new();
    if cannot(Source::TrafficControl) && cannot(Source::PacketSocket) {
        sentences
            .push("sources.packets: neither BPF programs nor packet sockets may run".to_owned());
    }
    for (source, key) in [
        (Source::TcpStates, "sources.processes"),
        (Source::LibraryCalls, "sources.calls"),
        (Source::RdmaNetlink, "sources.processes"),
        (Source::Counters, "sources.counters"),
        (Source::Processes, "sources.processes"),
    ] {
        if cannot(source) {
            sentences.push(format!("{key}: cannot see {}", source.sees()));
        }
    }
    if config.sources.packets {
        sentences.extend(unmatched(config));
    }
    sentences
}

/// Patterns that no interface matches, and why.
fn unmatched(config: &Config) -> Vec<String> {
    let names = match interfaces::ethernet() {
        Ok(names) => names,
        Err(error) => return vec![format!("taps.interfaces: they cannot be listed: {error}")],
    };
    let exclude = &config.taps.exclude;
    let sentence = |pattern: &glob::Pattern| {
        if !interfaces::matching(pattern, exclude, &names).is_empty() {
            return None;
        }
        if !interfaces::matching(pattern, &[], &names).is_empty() {
            return Some(format!(
                "taps.interfaces: all that `{pattern}` matches is in taps.exclude"
            ));
        }
        let there = names.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        let there = if there.is_empty() { "no Ethernet interface" } else { &there };
        Some(format!("taps.interfaces: no interface matches `{pattern}`; this host has {there}"))
    };
    config.taps.interfaces.iter().filter_map(sentence).collect()
}
