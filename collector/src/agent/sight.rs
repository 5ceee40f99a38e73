//! What this process may see of the host, source by source: a list to read before anything is opened.

use crate::config::SourceConfig;
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
