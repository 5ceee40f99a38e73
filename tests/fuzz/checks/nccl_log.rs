//! Lines of NCCL's log: any bytes, as one log.

use railscope_core::decode::nccl_log::{clean, entries};
use railscope_core::link::log::LogTracker;

/// Panics if an invariant does not hold.
pub fn check(data: &[u8]) {
    let mut tracker = LogTracker::default();
    let log = tracker.add_log("log");
    let mut found = 0;
    for (number, line) in (1..).zip(data.split(|byte| *byte == b'\n')) {
        let text = clean(line);
        for entry in entries(&text) {
            let kept = text.as_bytes().as_ptr_range();
            let part = entry.text.as_bytes().as_ptr_range();
            assert!(entry.text.is_empty() || (kept.start <= part.start && part.end <= kept.end));
            found += 1;
        }
        tracker.observe(log, number, line);
    }
    let facts = tracker.finish();
    assert_eq!(facts.files[0].entries, found, "every entry is counted");
    let linked = facts.link();
    let members: usize = facts.processes.iter().map(|process| process.memberships.len()).sum();
    assert_eq!(linked.memberships.len(), members, "every rank has a communicator");
    for communicator in &linked.job.communicators {
        assert!(communicator.ranks.is_sorted_by(|a, b| a.rank < b.rank));
        for channel in &communicator.channels {
            let len = channel.ring.len();
            assert!(len == 0 || Some(len as u32) == communicator.nranks, "rings are complete");
        }
    }
}
