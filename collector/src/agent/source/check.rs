//! `agent --check`: what the sources could see here, before anything is opened, and what the settings
//! ask for that cannot work.

use super::SOURCES;
use crate::config::{Config, SourceConfig};
use crate::ingest::capability::{Host, Verdict};

/// Whether each source that is switched on can run on this host, and if not why.
#[must_use]
pub fn verdicts(on: SourceConfig, host: &Host) -> Vec<Verdict> {
    let wanted = SOURCES.iter().filter(|source| source.is_on(on));
    wanted.flat_map(|source| source.needs(host)).collect()
}

/// What the settings ask for and cannot have here: sources that are switched on and cannot run, and
/// patterns that no interface matches.
#[must_use]
pub fn problems(config: &Config, host: &Host) -> Vec<String> {
    let wanted = SOURCES.iter().filter(|source| source.is_on(config.sources));
    wanted.flat_map(|source| source.problems(config, &source.needs(host))).collect()
}
