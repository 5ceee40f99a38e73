//! A window on a job: training steps inside it have the same values as in a report on everything,
//! whenever reports are made and however much is evicted.

use std::collections::BTreeMap;

use proptest::prelude::*;
use railscope_core::report::iterations::IterationReport;
use railscope_core::report::stragglers::StragglerReport;
use railscope_core::report::{Report, ReportContext};

use super::recorded::{captures, pipeline, read, report};
use crate::support::recording::Recording;

/// A straggler that costs less than this may or may not be named: the jobs' intended stragglers
/// cost at least 20 ms, and the others wait for a part of it.
const DOUBTFUL_NS: u64 = 12_000_000;

/// A training step's values, without numbers of collectives and flows, which count only what is in
/// memory, and without its straggler, which depends on what is usual in the window and on how well
/// clocks are known by then.
fn values(one: &IterationReport) -> String {
    format!(
        "{} {:?} {}..{} comm {} idle {} of {} bytes {:?} peak {:?} ce {:?} {:?} cnp {:?} resent {:?}",
        one.iteration,
        one.complete,
        one.start_ns,
        one.end_ns,
        one.communication_ns,
        one.idle_ns,
        one.collectives,
        one.bytes,
        one.peak_bps,
        one.ce_packets,
        one.ce_share,
        one.cnps,
        one.retransmitted_packets,
    )
}

/// The training steps inside a report's window, without the first and the last, which may be cut.
fn inner(report: &Report) -> impl Iterator<Item = &IterationReport> {
    let all = &report.iterations;
    all.get(2..all.len().saturating_sub(1)).unwrap_or_default().iter()
}

/// Whether two verdicts on the straggler agree: same rank, delay and cause. A straggler of low
/// cost, or one confirmed by other training steps, may be missing from one report.
fn agree(one: Option<&StragglerReport>, whole: Option<&StragglerReport>) -> bool {
    let (Some(one), Some(whole)) = (one, whole) else {
        let by_others = |late: &StragglerReport| {
            late.evidence.iter().any(|evidence| evidence.kind == "persistent")
        };
        let may_miss = |late: &StragglerReport| late.lag_ns < DOUBTFUL_NS || by_others(late);
        return [one, whole].into_iter().flatten().all(may_miss);
    };
    (one.rank, one.cause) == (whole.rank, whole.cause)
        && one.lag_ns.abs_diff(whole.lag_ns) <= whole.lag_ns / 10
}

/// Reads `job` with a report every `every_ns` and a window of `window_ns`. Every training step in
/// the window must equal that of the report on everything; with `judges`, its straggler too.
/// Returns the training steps compared and the messages dropped.
fn check(job: &str, window_ns: u64, every_ns: u64, judges: bool) -> (usize, u64) {
    let recording = Recording::unpack(job);
    let files = captures(&recording);
    let whole = report(&files);
    let whole: BTreeMap<i64, &IterationReport> =
        whole.iterations.iter().map(|one| (one.start_ns, one)).collect();
    let mut watched = pipeline(1 << 20);
    let (mut next, mut seen, mut forgotten) = (0, 0, 0);
    read(&files, &mut watched, |pipeline, origin, time| {
        let passed = time.nanos_since(origin);
        if passed < next {
            return;
        }
        next = passed + every_ns;
        let context = ReportContext { origin: Some(origin), ..ReportContext::default() };
        let understanding = pipeline.clone().understand();
        let report = Report::new(&understanding, &context);
        for one in inner(&report) {
            let expected = whole.get(&one.start_ns);
            let known = expected.map(|expected| values(expected));
            assert_eq!(Some(values(one)), known, "{job}, {passed} ns");
            let late = expected.and_then(|expected| expected.straggler.as_ref());
            assert!(
                !judges || agree(one.straggler.as_ref(), late),
                "{passed} ns: {one:#?}, not {late:#?}"
            );
            seen += 1;
        }
        forgotten = report.health.get("link.messages_forgotten").copied().unwrap_or(0);
        assert_eq!(report.health.get("link.messages_dropped"), None);
        pipeline.slide(window_ns, &understanding);
    });
    (seen, forgotten)
}

#[test]
fn a_window_has_what_a_report_of_everything_has() {
    let second = 1_000_000_000;
    let (seen, forgotten) = check("long-straggler-2.28.9", 3 * second, second / 2, true);
    assert!(seen > 20 && forgotten > 1000, "{seen} {forgotten}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    #[test]
    fn whatever_the_window(window_ms in 1_000_u64..6_000, every_ms in 300_u64..2_000) {
        check("straggler-2.27.5", window_ms * 1_000_000, every_ms * 1_000_000, false);
    }
}
