//! Offset and drift of wrong tap clocks are measured to within microseconds.

use railscope_core::flow::tracker::FlowConfig;
use railscope_core::model::tap::{LinkType, Tap, TapFormat};
use railscope_core::pipeline::{Pipeline, PipelineConfig};
use railscope_core::report::ReportContext;
use serde_json::json;

use super::{AHEAD, BEHIND, Clock, Job, Report};

/// Checks every tap of the fabric or management network, with the clock of its host.
fn check(report: &Report, job: &Job, network: &str, clocks: &[(&str, Clock, i64)]) {
    for (host, clock, drift_ppb) in clocks {
        let tap = report.tap(&format!("{host}.{network}"));
        let reference = report.tap(&format!("node01.{network}"));
        assert_eq!(tap["clock_reference"], reference["id"], "{tap}");
        // First frames are aligned, so the recording's clock is used.
        let first = report.absolute(&tap["first_ns"]).unwrap() - job.start as i64;
        let offset_ns = tap["clock_offset_ns"].as_i64().unwrap();
        let error = offset_ns.abs_diff(clock(first));
        let drift_error = tap["clock_drift_ppb"].as_i64().unwrap().abs_diff(*drift_ppb);
        assert!(error <= tap["clock_uncertainty_ns"].as_u64().unwrap(), "{error}: {tap}");
        assert!(error <= 20_000, "{error} ns: {tap}");
        let uncertainty = tap["clock_drift_uncertainty_ppb"].as_u64().unwrap();
        assert!(drift_error <= uncertainty + 1, "{drift_error} ppb: {tap}");
        assert!(drift_error <= 5_000, "{drift_error} ppb: {tap}");
        assert_eq!((&tap["clock_jumps"], &tap["clock_why_unknown"]), (&json!([]), &json!(null)));
    }
}

#[test]
fn two_hosts_37_ms_and_40_ppm_apart() {
    for (clock, drift_ppb) in [(AHEAD, 40_000), (BEHIND, -40_000)] {
        let job = Job::new("ranks2-2.27.5", &[]);
        job.skew("node02", clock);
        let report = job.analyze();
        check(&report, &job, "roce0", &[("node02", clock, drift_ppb)]);
        check(&report, &job, "eth0", &[("node02", clock, drift_ppb)]);
    }
}

#[test]
fn four_hosts_each_with_another_clock() {
    let job = Job::new("ring-2.27.5", &[]);
    let clocks: [(&str, Clock, i64); 3] = [
        ("node02", |since| 5_000_000_000 + since / 100_000, 10_000),
        ("node03", |since| -2_000_000_000 - since / 12_500, -80_000),
        ("node04", AHEAD, 40_000),
    ];
    clocks.iter().for_each(|(host, clock, _)| job.skew(host, *clock));
    let report = job.analyze();
    check(&report, &job, "roce0", &clocks);
    check(&report, &job, "eth0", &clocks);
}

#[test]
fn a_host_that_believes_it_is_1970() {
    let job = Job::new("ranks2-2.27.5", &[]);
    let clock: Clock = |_| -1_795_000_000_000_000_000;
    job.skew("node02", clock);
    check(&job.analyze(), &job, "roce0", &[("node02", clock, 0)]);
}

#[test]
fn nothing_is_corrected_where_one_clock_stamped_all() {
    let report = Job::new("ring-2.27.5", &[]).analyze();
    for tap in report.0["taps"].as_array().unwrap() {
        let correction = (&tap["clock_offset_ns"], &tap["clock_drift_ppb"]);
        assert_eq!(correction, (&json!(0), &json!(0)), "{tap}");
    }
    let bounds = |name| report.tap(name)["clock_uncertainty_ns"].as_u64().unwrap();
    assert!(bounds("node02.roce0") < 20_000 && bounds("node02.eth0") < 20_000);
}

#[test]
fn a_clock_that_was_set_while_the_capture_ran() {
    let job = Job::new("ring-2.27.5", &["roce0"]);
    // Counted from the first RoCE frame; training takes 2.9 s.
    job.skew("node02", |since| if since < 1_500_000_000 { 0 } else { 50_000_000 });
    let report = job.analyze();
    let tap = report.tap("node02");
    let jumps = tap["clock_jumps"].as_array().unwrap();
    assert_eq!(jumps.len(), 1, "{tap}");
    assert!(jumps[0]["by_ns"].as_i64().unwrap().abs_diff(50_000_000) < 20_000, "{tap}");
    let at = report.absolute(&jumps[0]["at_ns"]).unwrap() - job.start as i64;
    assert!(at.abs_diff(1_500_000_000) < 150_000_000, "{at}: {tap}");
    assert_eq!(report.0["collectives"].as_array().unwrap().len(), 32);
}

#[test]
fn the_text_lists_clock_corrections() {
    let job = Job::new("ranks2-2.27.5", &["roce0"]);
    assert!(!job.text().contains("clock of"));
    job.skew("node02", AHEAD);
    let text = job.text().replace("\n  ", " ");
    let line = text.lines().find(|line| line.contains("clock of")).unwrap();
    for words in [
        "node02.roce0.pcap is 37.0",
        " ms ahead of ",
        "node01.roce0.pcap's (±",
        " us), drift 40.0 ppm: corrected",
    ] {
        assert!(line.contains(words), "{words}: {line}");
    }
}

#[test]
fn live_taps_share_the_clock_of_their_machine() {
    let flow = FlowConfig { flow_capacity: 16, line_rate_bps: None, keeps_details: false };
    let mut pipeline = Pipeline::new(PipelineConfig { flow, message_capacity: Some(16) });
    for name in ["eth0", "eth1"] {
        pipeline.add_tap(Tap {
            file: name.to_owned(),
            format: TapFormat::Ebpf,
            interface: Some(name.to_owned()),
            link_type: LinkType::Ethernet,
            snap_len: None,
            line_rate_bps: None,
        });
    }
    for tap in pipeline.finish(ReportContext::default()).taps {
        assert_eq!((tap.clock_reference, tap.clock_uncertainty_ns), (Some(0), Some(0)));
        assert_eq!(tap.clock_why_unknown, None);
    }
}
