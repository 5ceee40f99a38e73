//! A window on a job: training steps that lie in it have the values that they have in a report of
//! everything, whenever reports are made and however much is forgotten.

use std::collections::BTreeMap;

use proptest::prelude::*;
use railscope_core::report::iterations::IterationReport;
use railscope_core::report::stragglers::StragglerReport;
use railscope_core::report::{Report, ReportContext};

use super::recorded::{captures, pipeline, read, report};
use crate::support::recording::Recording;

/// Who costs less than this may be named or not: the made stragglers of the jobs cost 20 ms and more,
/// of which the others wait a part.
const DOUBTFUL_NS: u64 = 12_000_000;

/// What a training step is, apart from the numbers of collectives and flows, which count what is
/// kept, and from who was late: that is judged by what is usual in the window, with the clocks as
/// they are known by then.
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

/// The training steps of a report that lie in its window, without its first and its last, which may
/// be cut.
fn inner(report: &Report) -> impl Iterator<Item = &IterationReport> {
    let all = &report.iterations;
    all.get(2..all.len().saturating_sub(1)).unwrap_or_default().iter()
}

/// Whether two verdicts on who was late go together: the same rank was as late for the same cause;
/// one that is named for little, or because other training steps bear it out, may be named in one
/// report only.
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

/// Reads `job` with reports every `every_ns` and a window of `window_ns`; every training step in it
/// must be as in the report of everything, and if it `judges` also who was late. How many were
/// compared, and how many messages forgotten.
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
