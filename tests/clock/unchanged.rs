//! Collectives, ranks' times, phases and ranks' addresses do not change with several clocks.

use serde_json::Value;

use super::{AHEAD, BEHIND, Clock, Job, Report};

/// Times may differ by the uncertainty of the clocks, over at most three hops.
const TOLERANCE_NS: u64 = 20_000;

/// Rates follow from times. The tap cited as evidence and the numbers of flows depend on whose
/// clock is ahead.
const BESIDES: &[&str] = &["algbw_bytes_per_s", "busbw_bytes_per_s", "evidence", "flow"];

/// Keys with points in time; other `_ns` keys are durations.
const TIMES: &[&str] = &[
    "start_ns",
    "end_ns",
    "first_cts_ns",
    "first_send_ns",
    "last_receive_ns",
    "first_ns",
    "last_ns",
];

/// A wait is a sum over the messages of a collective.
const SUM_TOLERANCE_NS: u64 = 20 * TOLERANCE_NS;

/// Sections that need several taps.
const SECTIONS: &[&str] = &["communicators", "collectives", "phases", "conflicts"];

/// Both reports describe the same job.
fn assert_same(one: &Report, other: &Report) {
    for section in SECTIONS {
        let reports = [one, other].map(|report| (report, &report.0[*section]));
        compare(reports, section);
    }
    let owners = |report: &Report| -> Vec<Value> {
        let flows = report.0["flows"].as_array().unwrap();
        let owner = |flow: &Value| {
            let owner = &flow["owner"];
            let place =
                ["communicator", "rank", "peer_rank", "channel", "role"].map(|key| &owner[key]);
            serde_json::json!([flow["tap"], flow["dest_qpn"], flow["src"], place])
        };
        let mut owners: Vec<Value> = flows.iter().map(owner).collect();
        owners.sort_by_key(Value::to_string);
        owners
    };
    assert_eq!(owners(one), owners(other));
    for counter in
        ["collectives.unknown", "collectives.unexplained_messages", "link.unmatched_messages"]
    {
        assert_eq!(one.0["health"][counter], other.0["health"][counter], "{counter}");
    }
}

fn compare([(one, a), (other, b)]: [(&Report, &Value); 2], path: &str) {
    let key = path.rsplit('.').next().unwrap_or(path);
    let is_time = TIMES.contains(&key);
    match (a, b) {
        (Value::Object(a_keys), Value::Object(b_keys)) => {
            assert!(a_keys.keys().eq(b_keys.keys()), "{path}");
            for key in a_keys.keys().filter(|key| !BESIDES.contains(&key.as_str())) {
                compare([(one, &a[key]), (other, &b[key])], &format!("{path}.{key}"));
            }
        }
        (Value::Array(a_items), Value::Array(b_items)) => {
            assert_eq!(a_items.len(), b_items.len(), "{path}");
            for (a, b) in a_items.iter().zip(b_items) {
                compare([(one, a), (other, b)], path);
            }
        }
        (Value::Number(_), Value::Number(_)) if is_time => {
            let [a, b] =
                [(one, a), (other, b)].map(|(report, time)| report.absolute(time).unwrap());
            assert!(a.abs_diff(b) <= TOLERANCE_NS, "{path}: {a} {b}");
        }
        (Value::Number(a), Value::Number(b)) if key.ends_with("_ns") => {
            let difference = a.as_i64().unwrap().abs_diff(b.as_i64().unwrap());
            assert!(difference <= SUM_TOLERANCE_NS, "{path}: {a} {b}");
        }
        _ => assert_eq!(a, b, "{path}"),
    }
}

/// The report must not change when some hosts have clocks of their own.
fn check(run: &str, clocks: &[(&str, Clock)]) {
    let job = Job::new(run, &[]);
    let one_clock = job.analyze();
    assert!(!one_clock.0["collectives"].as_array().unwrap().is_empty());
    clocks.iter().for_each(|(host, clock)| job.skew(host, *clock));
    assert_same(&one_clock, &job.analyze());
}

#[test]
fn two_hosts() {
    check("ranks2-2.27.5", &[("node02", AHEAD)]);
    check("ranks2-2.27.5", &[("node02", BEHIND)]);
}

#[test]
fn seconds_apart() {
    check("ring-2.27.5", &[("node02", |_| 5_000_000_000), ("node04", |_| -3_000_000_000)]);
}

#[test]
fn several_queue_pairs_a_connection() {
    check("qps2-2.27.5", &[("node02", AHEAD), ("node03", BEHIND)]);
}

#[test]
fn lost_packets_and_long_silence() {
    check("loss1pct-2.27.5", &[("node03", BEHIND)]);
    check("blackhole-2.27.5", &[("node02", AHEAD), ("node03", BEHIND)]);
}

#[test]
fn a_capture_that_begins_in_the_middle() {
    check("midjob-2.27.5", &[("node02", |since| 1_000_000_000 + since / 20_000)]);
}

#[test]
fn two_jobs_that_share_no_fabric_tap() {
    check("twopairs-2.27.5", &[("node03", |_| 2_000_000_000), ("node04", |_| -1_000_000_000)]);
}
