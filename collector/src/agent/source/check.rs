//! `agent --check`: what the sources could see here, before anything is opened, and which settings
//! cannot work.

use super::SOURCES;
use crate::config::{Config, SourceConfig};
use crate::ingest::capability::{Host, Verdict};

/// Whether each enabled source can run on this host, and if not, why.
#[must_use]
pub fn verdicts(on: SourceConfig, host: &Host) -> Vec<Verdict> {
    let wanted = SOURCES.iter().filter(|source| source.is_on(on));
    wanted.flat_map(|source| source.needs(host)).collect()
}

/// Settings that cannot work here: enabled sources that cannot run, and patterns that no interface
/// matches.
#[must_use]
pub fn problems(config: &Config, host: &Host) -> Vec<String> {
    let wanted = SOURCES.iter().filter(|source| source.is_on(config.sources));
    wanted.flat_map(|source| source.problems(config, &source.needs(host))).collect()
}
