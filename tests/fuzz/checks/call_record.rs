//! Dumps of the flight recorder and answers of RAS, and what they show together.

use std::collections::BTreeSet;

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
    let dumps: Vec<RankDump> = dumps.collect();
    let unread = BTreeSet::from([0, dumps.len() as u32]);
    for roll in flight::rolls(&dumps, &unread) {
        assert!(!roll.waiting.is_empty(), "{roll:?}");
        assert!(roll.turnout.of.is_none_or(|of| roll.turnout.read <= of), "{roll:?}");
    }
    let statuses = parts.iter().filter_map(|part| RasStatus::parse(part).ok());
    let statuses: Vec<(String, RasStatus)> = statuses.map(|one| (String::new(), one)).collect();
    for roll in ras::rolls(&statuses) {
        match roll.outcome {
            ras::RasOutcome::Behind(behind) => assert!(behind.launched < behind.foremost),
            ras::RasOutcome::Unlike(unlike) => {
                let ([more, less], [others_more, others_less]) = (unlike.few.1, unlike.others.1);
                assert!(more > others_more && less < others_less);
            }
            _ => {}
        }
    }
}
