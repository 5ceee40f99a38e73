//! Where packets do not show how the clocks differ, or not fully, the report says so.

use serde_json::{Value, json};

use super::{AHEAD, Job};

/// A tap's reference, its offset, and the reason why the offset is unknown.
fn clock(tap: &Value) -> [&Value; 3] {
    ["clock_reference", "clock_offset_ns", "clock_why_unknown"].map(|key| &tap[key])
}

#[test]
fn one_direction_gives_the_offset_up_to_the_delay() {
    for source in [[10, 0, 0, 1], [10, 0, 0, 2]] {
        let job = Job::new("ranks2-2.27.5", &["roce0"]);
        job.keep_from(source);
        job.skew("node02", AHEAD);
        let report = job.analyze();
        let tap = report.tap("node02");
        let first = report.absolute(&tap["first_ns"]).unwrap() - job.start as i64;
        let offset_ns = tap["clock_offset_ns"].as_i64().unwrap();
        assert!(offset_ns.abs_diff(AHEAD(first)) < 30_000, "{tap}");
        assert_eq!(tap["clock_uncertainty_ns"], json!(null));
        assert_eq!(tap["clock_why_unknown"], json!("one_way"));
    }
}

#[test]
fn one_direction_without_skew_changes_nothing() {
    let job = Job::new("ranks2-2.27.5", &["roce0"]);
    job.keep_from([10, 0, 0, 1]);
    assert_eq!(clock(job.analyze().tap("node02")), [&json!(0), &json!(0), &json!("one_way")]);
}

#[test]
fn taps_without_a_common_packet_are_left_alone() {
    let job = Job::new("twopairs-2.27.5", &["node01.roce0", "node03.roce0"]);
    job.skew("node03", AHEAD);
    let report = job.analyze();
    for tap in report.0["taps"].as_array().unwrap() {
        let unknown = [&json!(null), &json!(null), &json!("no_common_packets")];
        assert_eq!(clock(tap), unknown, "{tap}");
    }
}

#[test]
fn a_clock_that_is_set_back_is_not_followed() {
    let job = Job::new("ranks2-2.27.5", &["roce0"]);
    job.skew("node02", |since| if since < 700_000_000 { 0 } else { -200_000_000 });
    let report = job.analyze();
    assert_eq!(clock(report.tap("node02")), [&json!(null), &json!(null), &json!("no_line_fits")]);
    assert!(job.text().contains("drifts unevenly"));
}

#[test]
fn one_tap_has_nobody_to_be_compared_with() {
    let report = Job::new("ranks2-2.27.5", &["node01.roce0"]).analyze();
    assert_eq!(clock(report.tap("node01")), [&json!(null); 3]);
}

#[test]
fn a_fabric_tap_follows_its_machines_clock() {
    let job = Job::new("twopairs-2.27.5", &[]);
    job.skew("node03", |_| 2_000_000_000);
    let report = job.analyze();
    let tap = report.tap("node03.roce0");
    assert_eq!(tap["clock_why_unknown"], json!("same_machine"), "{tap}");
    assert_eq!(tap["clock_uncertainty_ns"], json!(null));
    assert!(tap["clock_offset_ns"].as_i64().unwrap().abs_diff(2_000_000_000) < 1_000_000, "{tap}");
}
