//! The agent's sources, one file each: what it needs on made-up hosts, and what it shows where it
//! runs.

mod calls;
mod connections;
mod counters;
pub(super) mod host;
mod packets;
mod processes;
mod profiles;
mod queue_pairs;
#[cfg(feature = "drive")]
mod ras;
mod sflow;

use railscope::agent::source::check::verdicts;
use railscope::config::SourceConfig;
use railscope::ingest::capability::{Host, Verdict};

/// The verdict about the source that sees this, on this host.
#[track_caller]
fn verdict(sees: &str, host: &Host) -> Verdict {
    let all = verdicts(SourceConfig::default(), host);
    let found = all.iter().find(|verdict| verdict.sees == sees);
    found.unwrap_or_else(|| panic!("no {sees} in {all:?}")).clone()
}

/// The value of `railscope_source_visible` for a device of a source; `None` if it has none.
fn visible(metrics: &str, source: &str, device: &str) -> Option<String> {
    let words =
        [format!("railscope_source=\"{source}\""), format!("railscope_device=\"{device}\"")];
    let is_it = |line: &&str| {
        line.starts_with("railscope_source_visible{")
            && words.iter().all(|word| line.contains(word))
    };
    metrics.lines().find(is_it)?.split(' ').next_back().map(str::to_owned)
}
