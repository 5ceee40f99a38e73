//! Timelines of recorded jobs, checked by a script that shares nothing with railscope.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::cli::{railscope, railscope_on};
use crate::support::recording::Recording;
use crate::support::require;

/// Events of each phase of the format, after the script found nothing wrong.
fn checked(trace: &str) -> BTreeMap<String, u64> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/trace_events.py");
    let mut python = Command::new("python3");
    python.arg(script).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = python.spawn().unwrap();
    child.stdin.take().unwrap().write_all(trace.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let lines = String::from_utf8(output.stdout).unwrap();
    let counts = lines.lines().map(|line| line.split_once(' ').unwrap());
    counts.map(|(phase, count)| (phase.to_owned(), count.parse().unwrap())).collect()
}

#[test]
fn every_message_and_signal_is_on_the_timeline() {
    if !require::has("every_message_and_signal_is_on_the_timeline", "python3") {
        return;
    }
    for run in ["loss1pct-2.27.5", "midjob-2.27.5", "split-2.27.5"] {
        let job = Recording::unpack(run);
        let analyze = |format| railscope_on(&job, &["analyze", "--format", format]).succeeds();
        let counts = checked(&analyze("perfetto"));
        let report: Value = serde_json::from_str(&analyze("json")).unwrap();
        let communicators = report["communicators"].as_array().unwrap().iter();
        let connections = communicators.flat_map(|one| one["connections"].as_array().unwrap());
        let messages: u64 = connections.map(|one| one["messages"].as_u64().unwrap()).sum();
        assert_eq!((counts["b"], counts["e"]), (messages, messages), "{run}");
        let flows = report["flows"].as_array().unwrap().iter();
        let naks: u64 =
            flows.map(|flow| flow["naks"]["psn_sequence_error"].as_u64().unwrap()).sum();
        let shown = counts.get("i").copied().unwrap_or(0);
        // Two taps see each, and each is shown once.
        assert!(shown <= naks && shown * 2 >= naks, "{run}: {shown} of {naks}");
    }
}

#[test]
fn a_slice_stands_where_kineto_would_put_it() {
    let job = Recording::unpack("split-2.27.5");
    let analyze = |format| {
        let text = railscope_on(&job, &["analyze", "--format", format]).succeeds();
        serde_json::from_str::<Value>(&text).unwrap()
    };
    let (report, trace) = (analyze("json"), analyze("perfetto"));
    let origin: i128 = report["capture"]["origin_ns"].as_str().unwrap().parse().unwrap();
    let start = origin + i128::from(report["collectives"][0]["start_ns"].as_i64().unwrap());
    let base = i128::from(trace["baseTimeNanoseconds"].as_u64().unwrap());
    let events = trace["traceEvents"].as_array().unwrap();
    let slice = events
        .iter()
        .find(|event| event["cat"] == "collective" && event["args"]["collective"] == 0);
    let microseconds = slice.unwrap()["ts"].as_f64().unwrap();
    assert_eq!(base + (microseconds * 1000.0).round() as i128, start);
}

#[test]
fn training_steps_and_stragglers_are_on_the_timeline() {
    let job = Recording::unpack("async-straggler-2.27.5");
    let analyze = |format| railscope_on(&job, &["analyze", "--format", format]).succeeds();
    let trace = analyze("perfetto");
    if require::has("training_steps_and_stragglers_are_on_the_timeline", "python3") {
        checked(&trace);
    }
    let trace: Value = serde_json::from_str(&trace).unwrap();
    let report: Value = serde_json::from_str(&analyze("json")).unwrap();
    let of = |category: &str| {
        let events = trace["traceEvents"].as_array().unwrap().iter();
        events.filter(|event| event["cat"] == category).count()
    };
    let all = |section: &str| report[section].as_array().unwrap().clone();
    assert_eq!(of("training_step"), all("iterations").len());
    let late = all("collectives").iter().filter(|one| !one["straggler"].is_null()).count();
    assert!(late > 0, "a rank is late in five training steps");
    assert_eq!(of("straggler"), late);
    assert!(of("wait") > 0);
}

#[test]
fn captures_without_nccl_make_an_empty_timeline() {
    let trace = railscope(["analyze", "--format", "perfetto", "write_lat.pcap.gz"]).succeeds();
    let trace: Value = serde_json::from_str(&trace).unwrap();
    assert_eq!(trace["traceEvents"].as_array().unwrap().len(), 0);
    let said = railscope(["analyze", "--format", "perfetto", "--qpn", "1", "x.pcap"]).fails();
    assert!(said.contains("leave out --host, --qpn and --opcode"), "{said}");
}
