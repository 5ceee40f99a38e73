//! Timelines of recorded jobs, checked by an independent script.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::cli::{railscope, railscope_on};
use crate::support::recording::Recording;
use crate::support::require;

/// Events by the format's phase, after the script found no errors.
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
        // Two taps see each NAK, and each is shown once.
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
    assert!(late > 0, "no stragglers");
    assert_eq!(of("straggler"), late);
    assert!(of("wait") > 0);
}

#[test]
fn a_stall_and_its_recoveries_are_on_the_timeline() {
    let job = Recording::unpack("blackhole-2.27.5");
    let analyze = |format| railscope_on(&job, &["analyze", "--format", format]).warns();
    let trace = analyze("perfetto");
    if require::has("a_stall_and_its_recoveries_are_on_the_timeline", "python3") {
        checked(&trace);
    }
    let trace: Value = serde_json::from_str(&trace).unwrap();
    let report: Value = serde_json::from_str(&analyze("json")).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let of = |category: &str| -> Vec<&Value> {
        events.iter().filter(|event| event["cat"] == category).collect()
    };
    let verdict = &report["verdicts"][0];
    let stall = of("verdict")[0];
    assert_eq!(stall["args"]["title"], verdict["title"]);
    assert!(stall["dur"].as_f64().unwrap() > 5e5, "more than half a second: {stall}");
    assert!(of("recovery").iter().any(|event| event["name"] == "timeout"));
    let ranks = report["communicators"][0]["nranks"].as_u64().unwrap();
    let is_row = |event: &&&Value| {
        event["name"] == "thread_name"
            && event["args"]["name"].as_str().unwrap().ends_with(" waits")
            && event["args"]["name"].as_str().unwrap().starts_with("rank ")
    };
    assert_eq!(events.iter().collect::<Vec<_>>().iter().filter(is_row).count() as u64, ranks);
    let depths = events.iter().filter(|event| {
        event["name"].as_str().is_some_and(|name| name.ends_with("TX queue depth"))
    });
    let depths: Vec<i64> = depths.map(|one| one["args"]["messages"].as_i64().unwrap()).collect();
    assert!(depths.iter().all(|depth| *depth >= 0) && depths.iter().any(|depth| *depth > 0));
}

#[test]
fn counters_of_nics_stand_on_the_hosts_of_their_ranks() {
    let job = Recording::unpack("async-straggler-2.27.5");
    let analyze = |format, more: &[&str]| {
        let all = [&["analyze", "--format", format], more].concat();
        railscope_on(&job, &all).succeeds()
    };
    let report: Value = serde_json::from_str(&analyze("json", &[])).unwrap();
    let origin: u64 = report["capture"]["origin_ns"].as_str().unwrap().parse().unwrap();
    // Every 100 ms; pause in microseconds, which the NIC reports for the last 200 ms only at their
    // end.
    let samples = [(0, 5), (50_000, 5), (50_000, 15), (50_000, 15), (250_000, 15)];
    let lines = (0..).zip(samples).map(|(at, (paused_us, cnps)): (u64, _)| {
        format!(
            "{{\"time_ns\":{},\"address\":\"10.0.0.3\",\"device\":\"mlx5_0\",\"counters\":{{\
             \"rx_prio3_pause_duration\":{paused_us},\"np_cnp_sent\":{cnps},\
             \"out_of_sequence\":7}}}}\n",
            origin + at * 100_000_000
        )
    });
    std::fs::write(job.folder().join("nics.jsonl"), lines.collect::<String>()).unwrap();
    let trace = analyze("perfetto", &["--counters", "nics.jsonl"]);
    if require::has("counters_of_nics_stand_on_the_hosts_of_their_ranks", "python3") {
        checked(&trace);
    }
    let trace: Value = serde_json::from_str(&trace).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let base = trace["baseTimeNanoseconds"].as_u64().unwrap();
    let points = |name: &str, unit: &str| -> Vec<(i64, f64)> {
        let of_name = events.iter().filter(|event| event["name"] == name);
        let point = |event: &Value| {
            let time = base as i64 + (event["ts"].as_f64().unwrap() * 1e3).round() as i64;
            let ms = (time - origin as i64) as f64 / 1e6;
            (ms.round() as i64, event["args"][unit].as_f64().unwrap())
        };
        of_name.map(point).collect()
    };
    assert_eq!(points("mlx5_0 10.0.0.3 np_cnp_sent", "per second"), [(100, 100.0), (200, 0.0)]);
    let paused = points("mlx5_0 10.0.0.3 rx_prio3_pause_duration", "% of the time");
    assert_eq!(paused, [(0, 50.0), (100, 0.0), (200, 100.0), (400, 0.0)]);
    assert!(
        points("mlx5_0 10.0.0.3 out_of_sequence", "per second").is_empty(),
        "a counter that did not change"
    );
    // In the same process as the payload of that port.
    let process = |name: &str| &events.iter().find(|event| event["name"] == name).unwrap()["pid"];
    assert_eq!(process("mlx5_0 10.0.0.3 np_cnp_sent"), process("10.0.0.3 RX payload"));
}

#[test]
fn captures_without_nccl_make_an_empty_timeline() {
    let trace = railscope(["analyze", "--format", "perfetto", "write_lat.pcap.gz"]).succeeds();
    let trace: Value = serde_json::from_str(&trace).unwrap();
    assert_eq!(trace["traceEvents"].as_array().unwrap().len(), 0);
    let said = railscope(["analyze", "--format", "perfetto", "--qpn", "1", "x.pcap"]).fails();
    assert!(said.contains("remove --host, --qpn, --opcode and --filter"), "{said}");
}
