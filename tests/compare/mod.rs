//! `railscope compare`: reports, windows, what cannot be compared, exit codes; simulated jobs in
//! `simulated`.

#[cfg(all(target_os = "linux", feature = "drive"))]
mod simulated;

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::cli::railscope;

/// A folder with made-up reports.
struct Reports {
    folder: tempfile::TempDir,
}

impl Reports {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn add(&self, name: &str, report: &Value) -> String {
        self.add_text(name, &report.to_string())
    }

    fn add_text(&self, name: &str, text: &str) -> String {
        let path: PathBuf = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

/// Training steps of 10 ms that vary a little, `extra` ns longer than that. The keys are those of 0.1.
fn report(count: u32, extra: i64, seed: i64) -> Value {
    let mut start = 0;
    let iterations: Vec<Value> = (0..count)
        .map(|at| {
            let length = 10_000_000 + extra + (i64::from(at) * 7919 + seed * 104_729) % 200_000;
            let end = start + length;
            let one = json!({
                "iteration": at, "start_ns": start, "end_ns": end, "communicator": "c0ffee",
                "communication_ns": 2_000_000, "idle_ns": length - 2_000_000,
                "retransmitted_packets": 0, "bytes": 1000, "collectives": 2,
            });
            start = end;
            one
        })
        .collect();
    json!({
        "schema": "railscope.report/1", "tool": {"version": "0.1.0", "options": {}, "qpns": []},
        "capture": {"origin_ns": "122400000000000", "duration_ns": start, "frames": 1},
        "communicators": [{"id": "c0ffee", "nranks": 4, "nccl_version": "2.27.5", "transport": "ib"}],
        "iterations": iterations,
    })
}

/// The text of a comparison, in one line.
fn text_of(before: &str, after: &str) -> String {
    unwrapped(&railscope(["compare", before, after]).succeeds())
}

fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn compared(before: &str, after: &str) -> Value {
    let text = railscope(["compare", "--format", "json", before, after]).succeeds();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn a_slower_job_is_slower_and_the_first_line_says_by_how_much() {
    let reports = Reports::new();
    let before = reports.add("before.json", &report(32, 0, 1));
    let after = reports.add("after.json", &report(32, 500_000, 2));
    let text = text_of(&before, &after);
    assert!(text.starts_with("Training steps are 4.8"), "{text}");
    assert!(text.contains(" % slower (95 %: "), "{text}");
    assert!(text.contains("time without a collective in flight: compute, data loading"), "{text}");
    let said = compared(&before, &after);
    assert_eq!(said["answer"]["outcome"], "higher");
    assert_eq!(said["answer"]["before"]["values"], 30, "neither the first step nor the last");
    assert_eq!(said["explained_by"], json!(["idle_time"]));
    // The other way round it is faster.
    let text = text_of(&after, &before);
    assert!(text.contains(" % faster (95 %: "), "{text}");
}

#[test]
fn equal_jobs_have_no_difference_and_the_size_that_would_show_is_said() {
    let reports = Reports::new();
    let one = reports.add("one.json", &report(32, 0, 1));
    let other = reports.add("other.json", &report(32, 0, 5));
    for after in [&one, &other] {
        let text = text_of(&one, after);
        assert!(
            text.starts_with("Training steps: no difference that this much data can show"),
            "{text}"
        );
        assert!(text.contains("four times in five"), "{text}");
        assert_eq!(compared(&one, after)["explained_by"], json!([]));
    }
    let json = |seed: &str| {
        railscope(["compare", "--format", "json", "--seed", seed, &one, &other]).succeeds()
    };
    assert_eq!(json("1"), json("1"), "the same seed, the same output");
}

#[test]
fn jobs_that_do_other_work_are_said_to_before_anything_else() {
    let reports = Reports::new();
    let before = reports.add("before.json", &report(32, 0, 1));
    let mut more = report(32, 0, 2);
    more["communicators"][0]["nranks"] = json!(8);
    let more = reports.add("more.json", &more);
    let text = text_of(&before, &more);
    assert!(
        text.starts_with("These jobs do not do the same work: 4 ranks before, 8 after."),
        "{text}"
    );
    let run = railscope(["compare", "--fail-on", "slower", &before, &more]);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    assert!(run.stderr.contains("cannot be judged"), "{}", run.stderr);
}

#[test]
fn jobs_seen_from_other_points_are_not_compared() {
    let reports = Reports::new();
    let [mut one, mut other] = [report(32, 0, 1), report(32, 0, 2)];
    one["taps"] = json!([{}]);
    other["taps"] = json!([{}, {}]);
    let [before, after] = [reports.add("one.json", &one), reports.add("two.json", &other)];
    let text = text_of(&before, &after);
    let first = "The jobs were captured at different points: 1 before, 2 after.";
    assert!(text.starts_with(first), "{text}");
    let run = railscope(["compare", "--fail-on", "slower", &before, &after]);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
}

#[test]
fn too_little_is_said_to_be_too_little() {
    let reports = Reports::new();
    let short = reports.add("short.json", &report(5, 0, 1));
    let long = reports.add("long.json", &report(32, 0, 2));
    let text = text_of(&short, &long);
    assert!(
        text.starts_with("Too little to compare: 3 training steps before, 30 after; 5 "),
        "{text}"
    );
    let empty = reports.add("empty.json", &json!({"schema": "railscope.report/1"}));
    let text = text_of(&empty, &empty);
    assert!(text.starts_with("Nothing to compare: "), "{text}");
}

#[test]
fn versions_and_settings_that_differ_are_listed() {
    let reports = Reports::new();
    let mut one = report(32, 0, 1);
    let mut other = report(32, 0, 2);
    other["communicators"][0]["nccl_version"] = json!("2.28.3");
    let logs = |variables: Value| json!({"processes": [{"environment": variables}]});
    one["logs"] = logs(json!({"NCCL_IB_TC": "106", "NCCL_ALGO": "Ring"}));
    other["logs"] = logs(json!({"NCCL_IB_TC": "0", "NCCL_ALGO": "Ring", "NCCL_IB_SL": "3"}));
    let (one, other) = (reports.add("one.json", &one), reports.add("other.json", &other));
    let said = compared(&one, &other);
    let expected = json!([
        {"name": "NCCL", "before": ["2.27.5"], "after": ["2.28.3"]},
        {"name": "NCCL_IB_SL", "before": [], "after": ["3"]},
        {"name": "NCCL_IB_TC", "before": ["106"], "after": ["0"]},
    ]);
    assert_eq!(said["settings"], expected);
    let text = text_of(&one, &other);
    assert!(text.contains("NCCL_IB_SL not set"), "{text}");
}

#[test]
fn two_windows_of_one_report_are_two_sides() {
    let reports = Reports::new();
    let mut job = report(64, 0, 1);
    // The second half takes longer.
    let mut start = 0;
    for one in job["iterations"].as_array_mut().unwrap() {
        let slow = if one["iteration"].as_i64().unwrap() < 32 { 0 } else { 800_000 };
        let length = one["end_ns"].as_i64().unwrap() - one["start_ns"].as_i64().unwrap() + slow;
        (one["start_ns"], one["end_ns"]) = (json!(start), json!(start + length));
        start += length;
    }
    let job = reports.add("job.json", &job);
    let compare = |before: &str, after: &str| {
        railscope(["compare", "--before-window", before, "--after-window", after, &job])
    };
    let text = unwrapped(&compare("0s..320ms", "330ms..").succeeds());
    assert!(text.starts_with("Training steps are 7."), "{text}");
    assert!(text.contains("outside the window"), "{text}");
    // The first frame is at 10:00 of its day.
    let text = unwrapped(&compare("10:00:00..10:00:00.3", "10:00:00.35..10:01").succeeds());
    assert!(text.starts_with("Training steps are 7."), "{text}");
    let said = compare("5s..1s", "1s..2s").fails();
    assert!(said.contains("window 5s..1s is empty"), "{said}");
    let said = compare("5s", "1s..2s").fails();
    assert!(said.contains("FROM..TO"), "{said}");
    let text = unwrapped(&compare("100s..200s", "1ms..").succeeds());
    assert!(text.starts_with("Nothing to compare: no training step is in a window."), "{text}");
}

#[test]
fn exit_codes_serve_acceptance_tests() {
    let reports = Reports::new();
    let before = reports.add("before.json", &report(32, 0, 1));
    let slower = reports.add("slower.json", &report(32, 500_000, 2));
    let code = |wanted: &str, after: &str| {
        railscope(["compare", "--fail-on", wanted, &before, after]).code.unwrap()
    };
    assert_eq!(code("slower", &slower), 1);
    assert_eq!(code("different", &slower), 1);
    assert_eq!(code("step_time=+3%", &slower), 1);
    assert_eq!(code("step_time=+8%", &slower), 0);
    assert_eq!(code("step_time=-3%", &slower), 0);
    assert_eq!(code("retransmitted=+50%", &slower), 0);
    assert_eq!(code("slower", &before), 0);
    assert_eq!(code("step_time=+0.001%", &before), 2, "so little cannot be shown");
    assert_eq!(code("step_time=+3%,slower", &slower), 1);
    let run = railscope(["compare", "--fail-on", "steps=+3%", &before, &slower]);
    assert!(run.code == Some(2) && run.stderr.contains("no row `steps`"), "{}", run.stderr);
    let said = railscope(["compare", "--fail-on", "worse", &before, &slower]).fails();
    assert!(said.contains("neither slower nor different"), "{said}");
}

#[test]
fn what_is_no_report_is_refused_with_a_reason() {
    let reports = Reports::new();
    let good = reports.add("good.json", &report(32, 0, 1));
    let doctor =
        reports.add("doctor.json", &json!({"schema": "railscope.doctor/1", "outcomes": []}));
    let later = reports.add("later.json", &json!({"schema": "railscope.report/99"}));
    let cut = reports.add_text("cut.json", "{\"schema\":\"railscope.report/1\",\"iterations\":[{");
    let odd = reports.add_text("odd.json", "{\"schema\":\"railscope.report/1\",\"iterations\":7}");
    for (arguments, expected) in [
        (vec![good.as_str()], "one input: name BEFORE and AFTER"),
        (vec![], "no input: name BEFORE and AFTER"),
        (vec![&good, &good, &good], "write --before FILE... --after FILE..."),
        (vec![&good, "missing.json"], "missing.json"),
        (vec![&good, &doctor], "is a `railscope.doctor/1`, not a report"),
        (
            vec![&good, &later],
            "of another release of railscope: this one reads `railscope.report/1`",
        ),
        (vec![&good, &cut], "is not a whole report of railscope"),
        (vec![&good, &odd], "is not a whole report of railscope"),
        (vec![&good, "-"], "standard input cannot be compared"),
        (vec!["--before", &good, &good, "--after", &good], "BEFORE has 2 reports: name one"),
        (vec!["--before", &good], "--after"),
    ] {
        let said = railscope(["compare"].iter().copied().chain(arguments.clone())).fails();
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
}

#[test]
fn comparisons_keep_their_contract() {
    let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/schema/railscope.compare-1.schema.json");
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(schema).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let reports = Reports::new();
    let one = reports.add("one.json", &report(32, 0, 1));
    let empty = reports.add("empty.json", &json!({"schema": "railscope.report/1"}));
    for (before, after) in [(&one, &one), (&one, &empty), (&empty, &empty)] {
        let said = compared(before, after);
        let broken: Vec<String> = validator.iter_errors(&said).map(|one| one.to_string()).collect();
        assert!(broken.is_empty(), "{broken:?}");
        assert_eq!(said["schema"], "railscope.compare/1");
    }
}
