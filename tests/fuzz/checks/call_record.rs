//! Dumps of the flight recorder and answers of RAS, and what they show together.

use railscope_core::analysis::roll_call::{RankDump, flight, ras};
use railscope_core::decode::flight_recorder::Dump;
use railscope_core::decode::ras::RasStatus;

/// Any bytes are refused or read; what is read is judged. Parts between bytes 0xff are the files of
/// several ranks.
pub fn check(bytes: &[u8]) {
    let parts: Vec<&[u8]> = bytes.split(|byte| *byte == 0xff).collect();
    let dumps = (0..).zip(&parts).filter_map(|(rank, part)| {
        let dump = Dump::parse(part).ok()?;
        Some(RankDump { file: format!("trace_{rank}"), rank, written: None, dump })
    });
    for roll in flight::rolls(&dumps.collect::<Vec<_>>()) {
        assert!(!roll.waiting.is_empty(), "{roll:?}");
    }
    let statuses = parts.iter().filter_map(|part| RasStatus::parse(part).ok());
    let statuses: Vec<(String, RasStatus)> = statuses.map(|one| (String::new(), one)).collect();
    for roll in ras::rolls(&statuses) {
        if let ras::RasOutcome::Behind(behind) = roll.outcome {
            assert!(behind.launched < behind.foremost);
        }
    }
}
