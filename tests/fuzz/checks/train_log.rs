//! Lines of training logs: any bytes, as one log.

use railscope_core::analysis::iteration::train_log::TrainLog;

/// Panics if an invariant does not hold.
pub fn check(data: &[u8]) {
    let mut log = TrainLog::new("log");
    let mut lines = 0;
    for (number, line) in (1..).zip(data.split(|byte| *byte == b'\n')) {
        log.observe(number, line);
        lines = number;
    }
    assert_eq!(log.lines, lines);
    let counted = log.counted();
    for one in &counted {
        assert_eq!(one.says.dialect, counted[0].says.dialect, "only one framework is used");
        assert!((1..=lines).contains(&one.line));
        assert!(one.says.stamp.is_none_or(|stamp| stamp.resolution_ns > 0));
    }
    let mut numbers: Vec<u64> = counted.iter().map(|one| one.says.number).collect();
    let count = numbers.len();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), count, "each number counts once");
}
