//! Real dumps of PyTorch 2.8.0 over gloo (`tests/fixtures/flight_recorder/make.py`).

use std::path::Path;

use serde_json::Value;

use super::{analysed, first, text};
use crate::cli::railscope;
use crate::support::fixture;

fn of(scenario: &str) -> Value {
    analysed(&["--flight-recorder", &format!("flight_recorder/{scenario}/trace_*")])
}

#[test]
fn each_scenario_has_its_cause() {
    for (scenario, class, rank, severity) in [
        ("not_called", "rank_not_called", Some(2), "critical"),
        ("groups", "rank_not_called", Some(1), "critical"),
        ("other_call", "ranks_disagree", Some(3), "critical"),
        ("other_size", "ranks_disagree", Some(1), "critical"),
        ("killed", "process_gone", Some(1), "critical"),
        ("healthy", "not_enough_seen", None, "info"),
    ] {
        let report = of(scenario);
        assert_eq!(first(&report), (class, rank), "{scenario}");
        assert_eq!(report["verdicts"][0]["severity"], severity, "{scenario}");
    }
}

#[test]
fn text_names_the_call_and_who_waits() {
    let text = text(&["--flight-recorder", "flight_recorder/not_called/trace_*"]);
    assert!(
        text.starts_with(
            "● rank 2 never called all_reduce 4 of group 0 (default_pg); 3 ranks wait"
        )
    );
    assert!(text.contains("rank 2: all_reduce 3, ended"), "{text}");
    assert!(text.contains("rank 0: all_reduce 4, called, not ended"), "{text}");
    assert!(text.contains("4 flight recorder dumps, 15 calls"), "{text}");
}

#[test]
fn one_dump_proves_nothing_of_others() {
    let report = analysed(&["--flight-recorder", "flight_recorder/not_called/trace_0"]);
    // Its group may have other ranks, which gloo does not list.
    assert_ne!(first(&report).0, "rank_not_called");
    assert_ne!(report["verdicts"][0]["severity"], "critical");
}

#[test]
fn the_dumps_that_are_missing_come_first() {
    let dumps = ["0", "1"].map(|rank| format!("flight_recorder/not_called/trace_{rank}"));
    let report = analysed(&["--flight-recorder", &dumps[0], "--flight-recorder", &dumps[1]]);
    let remedy = report["verdicts"][0]["remedy"].as_str().unwrap();
    assert!(remedy.starts_with("Collect the dumps of all ranks first"), "{remedy}");
}

#[test]
fn a_rank_that_waits_elsewhere_is_not_the_cause() {
    let folder = tempfile::tempdir().unwrap();
    // Rank 1 waits in group 2 for rank 2, which has not called; rank 0 waits in group 1 for rank 1.
    let dump = |calls: &[(&str, u64, bool)]| {
        let entries: Vec<Value> = calls
            .iter()
            .map(|(group, number, is_over)| {
                serde_json::json!({
                    "record_id": 0, "process_group": [group, ""], "is_p2p": false,
                    "collective_seq_id": number, "p2p_seq_id": 0, "profiling_name": "nccl:all_reduce",
                    "time_created_ns": 1_700_000_000_000_000_000_u64 + number,
                    "input_sizes": [[8]], "input_dtypes": ["Float"], "output_sizes": [[8]],
                    "output_dtypes": ["Float"], "state": if *is_over { "completed" } else { "started" },
                    "retired": is_over, "timeout_ms": 600_000,
                })
            })
            .collect();
        let groups = serde_json::json!({
            "1": {"name": "1", "desc": "", "ranks": "[0, 1]"},
            "2": {"name": "2", "desc": "", "ranks": "[1, 2]"},
        });
        serde_json::json!({"version": "2.4", "pg_config": groups, "entries": entries}).to_string()
    };
    let write = |rank: u32, calls: &[(&str, u64, bool)]| {
        std::fs::write(folder.path().join(format!("trace_{rank}")), dump(calls)).unwrap();
    };
    write(0, &[("1", 1, true), ("1", 2, false)]);
    write(1, &[("1", 1, true), ("2", 1, true), ("2", 2, false)]);
    write(2, &[("2", 1, true)]);
    let pattern = folder.path().join("trace_*");
    let options = ["--flight-recorder", pattern.to_str().unwrap()];
    let report = analysed(&options);
    assert_eq!(first(&report), ("rank_not_called", Some(2)));
    assert_eq!(report["findings"].as_array().unwrap().len(), 1);
    // If it waited for rank 0, they would wait for each other.
    write(2, &[("2", 1, true), ("3", 1, false)]);
    assert_eq!(first(&analysed(&options)).0, "ranks_disagree");
    // All have called: none is the cause.
    write(2, &[("2", 1, true), ("2", 2, false)]);
    write(1, &[("1", 1, true), ("1", 2, false), ("2", 1, true), ("2", 2, false)]);
    let inside = analysed(&options);
    assert_eq!(first(&inside).0, "inside_collective");
    assert_eq!(inside["verdicts"][0]["severity"], "warning");
}

/// What a dump claims costs no more than the dump.
#[test]
fn ranks_that_no_job_has_cost_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace_4294967295");
    let entry = serde_json::json!({
        "record_id": 0, "process_group": ["0", "default_pg"], "is_p2p": false,
        "collective_seq_id": 1, "profiling_name": "nccl:all_reduce", "time_created_ns": 1,
        "state": "started", "retired": false,
    });
    let groups = serde_json::json!({"0": {"ranks": "[0, 4294967294]"}});
    let dump = serde_json::json!({"pg_config": groups, "entries": [entry]});
    std::fs::write(&path, dump.to_string()).unwrap();
    let report = analysed(&["--flight-recorder", path.to_str().unwrap()]);
    // Of the two ranks that the group names, nobody has collected the dumps.
    assert_eq!(first(&report).0, "inside_collective");
}

/// Dumps of these ranks of eight, which all wait in the same call, written as files.
fn waiting(folder: &Path, ranks: std::ops::Range<u32>) -> String {
    for rank in ranks {
        let entry = serde_json::json!({
            "record_id": 0, "process_group": ["0", "default_pg"], "is_p2p": false,
            "collective_seq_id": 1, "profiling_name": "nccl:all_reduce",
            "time_created_ns": 1_700_000_000_000_000_000_u64, "input_sizes": [[8]],
            "state": "started", "retired": false,
        });
        let group = serde_json::json!({"desc": "default_pg", "ranks": "[0, 1, 2, 3, 4, 5, 6, 7]"});
        let dump = serde_json::json!({"pg_config": {"0": group}, "entries": [entry]});
        std::fs::write(folder.join(format!("trace_{rank}")), dump.to_string()).unwrap();
    }
    folder.join("trace_*").to_str().unwrap().to_owned()
}

/// Title and grade of the first verdict.
fn said(report: &Value) -> (&str, &str) {
    let verdict = &report["verdicts"][0];
    (verdict["title"].as_str().unwrap(), verdict["grade"].as_str().unwrap())
}

#[test]
fn a_few_of_many_dumps_prove_nothing_of_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let few = analysed(&["--flight-recorder", &waiting(folder.path(), 0..2)]);
    assert_eq!(first(&few), ("inside_collective", None));
    let title = "ranks 0 and 1 called all_reduce 1 of group 0 (default_pg), begun on all GPUs, and it \
                 does not end; dumps of 2 of its 8 ranks were read";
    assert_eq!(said(&few), (title, "inferred"));
    let most = analysed(&["--flight-recorder", &waiting(folder.path(), 0..7)]);
    assert_eq!(first(&most), ("process_gone", Some(7)));
    assert!(said(&most).0.ends_with("; dumps of 7 of its 8 ranks were read"), "{most}");
    let all = analysed(&["--flight-recorder", &waiting(folder.path(), 0..8)]);
    let (title, grade) = said(&all);
    assert!(title.starts_with("all of ranks 0, 1"), "{title}");
    assert_eq!(grade, "proven");
}

#[test]
fn a_dump_that_cannot_be_read_is_not_missing() {
    let folder = tempfile::tempdir().unwrap();
    let pattern = waiting(folder.path(), 0..7);
    let broken = folder.path().join("trace_7");
    std::fs::write(&broken, b"\x80\x02}q").unwrap();
    let run = railscope(["analyze", "--format", "json", "--flight-recorder", &pattern]);
    let report: Value = serde_json::from_str(&run.warns()).unwrap();
    assert_eq!(first(&report), ("inside_collective", None));
    assert_eq!(said(&report).1, "inferred");
    let unused = &report["call_records"]["unused"][0];
    assert_eq!((&unused["rank"], &unused["is_misfit"]), (&Value::from(7), &Value::from(false)));
    assert!(unused["why"].as_str().unwrap().contains("cut off"), "{unused}");
    let text = railscope(["explain", "--hang", "--flight-recorder", &pattern]).warns();
    assert!(text.contains("● Not used: ") && text.contains("trace_7: "), "{text}");
}

#[test]
fn a_dump_that_an_earlier_run_left_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let pattern = waiting(folder.path(), 0..8);
    let path = folder.path().join("trace_3");
    let old = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, old.replace("1700000000000000000", "1699900000000000000")).unwrap();
    let report = analysed(&["--flight-recorder", &pattern]);
    assert_eq!(first(&report), ("process_gone", Some(3)));
    let unused = &report["call_records"]["unused"][0];
    assert_eq!(unused["is_misfit"], true);
    let why = "of another time: 27 h before the other dumps";
    assert_eq!(unused["why"], why);
}

#[test]
fn what_is_no_dump_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace_1");
    let good = fixture::path("flight_recorder/not_called/trace_2");
    let bomb = b"\x80\x02cposix\nsystem\n(X\x02\x00\x00\x00lstR.";
    for (bytes, said) in [
        (&b"[Rank 0] Watchdog caught"[..], "neither a pickle nor JSON"),
        (&b"{\"a\": 1}"[..], "neither `entries` nor `pg_config`"),
        (&bomb[..], "would run code"),
        (&b"\x80\x02}q"[..], "cut off"),
    ] {
        std::fs::write(&path, bytes).unwrap();
        let files = ["--flight-recorder", path.to_str().unwrap(), "--flight-recorder"];
        let all = ["analyze", "--format", "json"].iter().chain(&files).copied();
        let run = railscope(all.chain([good.to_str().unwrap()]));
        assert!(run.stderr.contains(said), "{}", run.stderr);
        let report: Value = serde_json::from_str(&run.warns()).unwrap();
        assert_eq!(report["health"]["call_record.file_problems"], 1);
    }
    let unnamed = folder.path().join("trace");
    std::fs::write(&unnamed, b"{}").unwrap();
    let error = railscope(["analyze", "--flight-recorder", unnamed.to_str().unwrap()]).fails();
    assert!(error.contains("does not end in a rank"), "{error}");
    let error = railscope(["analyze", "--flight-recorder", "missing_0"]).fails();
    assert!(error.contains("no such file"), "{error}");
}
