//! NCCL logs: lines, facts, and text output.

mod causes;
mod healthy;
mod interleaving;
mod lines;
mod old_releases;
mod prefixes;
mod program;
mod truth;

use std::io::Read;

use railscope_core::link::log::{LogFacts, LogTracker};

use crate::support::fixture;

/// The text of a log in `tests/fixtures/logs`.
pub fn log(name: &str) -> Vec<u8> {
    let bytes = std::fs::read(fixture::path(&format!("logs/{name}"))).unwrap();
    if !name.ends_with(".gz") {
        return bytes;
    }
    let mut text = Vec::new();
    flate2::read::GzDecoder::new(bytes.as_slice()).read_to_end(&mut text).unwrap();
    text
}

pub fn facts<'a>(lines: impl IntoIterator<Item = &'a [u8]>) -> LogFacts {
    let mut tracker = LogTracker::default();
    let id = tracker.add_log("log");
    for (number, line) in (1..).zip(lines) {
        tracker.observe(id, number, line);
    }
    tracker.finish()
}

/// The logs that have a truth file.
pub const RUNS: [&str; 6] = [
    "alltoall-2.27.5",
    "qps2-2.21.5",
    "rails-2n2g2nic-2.27.5",
    "ring-2.18.6",
    "ring-2.30.7",
    "split-2.27.5",
];
