//! Offset and drift of shifted taps.

use serde_json::json;

use super::{AHEAD, BEHIND, Clock, Job, Report};

/// The offset that was found, less the one that the tap has: at its first frame.
fn error_ns(report: &Report, job: &Job, tap: &str, clock: Clock) -> i64 {
    let tap = report.tap(tap);
    // Aligned: by the clock of the recording.
    let first = report.absolute(&tap["first_ns"]).unwrap();
    tap["clock_offset_ns"].as_i64().unwrap() - clock(first - job.start as i64)
}

/// All of this must hold of the tap.
fn check(report: &Report, job: &Job, tap: &str, clock: Clock, ppb: i64) {
    let error = error_ns(report, job, tap, clock).unsigned_abs();
    let tap = report.tap(tap);
    let uncertainty = tap["clock_uncertainty_ns"].as_u64().unwrap();
    println!("{tap:?} error {error}");
    assert!(error <= 20_000, "{error} ns off: {tap:?}");
    assert!(error <= uncertainty, "{error} ns off: {tap:?}");
    let drift_error = (tap["clock_drift_ppb"].as_i64().unwrap() - ppb).unsigned_abs();
    let drift_uncertainty = tap["clock_drift_uncertainty_ppb"].as_u64().unwrap();
    assert!(drift_error <= drift_uncertainty + 1, "drift {drift_error} ppb off: {tap:?}");
    assert!(drift_error <= 5_000, "drift {drift_error} ppb off: {tap:?}");
    assert_eq!(tap["clock_jumps"], json!([]));
    assert_eq!(tap["clock_why_unknown"], json!(null));
}

#[test]
fn two_hosts() {
    for (clock, ppb) in [(AHEAD, 40_000), (BEHIND, -40_000)] {
        let job = Job::new("ranks2-2.27.5", &[]);
        job.skew("node02", clock);
        let report = job.analyze();
        check(&report, &job, "node02.roce0", clock, ppb);
        check(&report, &job, "node02.eth0", clock, ppb);
    }
}
