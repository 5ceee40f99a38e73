//! The JSON contract: the committed schema is generated from the types, and every report matches
//! it.

use serde_json::Value;

use crate::cli::railscope;
use crate::support::fixture;

/// The sections of `railscope.report/1`, filled or not.
const SECTIONS: [&str; 37] = [
    "benchmarks",
    "bursts",
    "call_records",
    "capture",
    "collective_groups",
    "collectives",
    "communicators",
    "conflicts",
    "congestion",
    "counters",
    "findings",
    "findings_not_checked",
    "flows",
    "health",
    "hosts",
    "inputs",
    "inspector",
    "iterations",
    "labels",
    "late_ranks",
    "logs",
    "nodes",
    "pfc",
    "phases",
    "ports",
    "queue_pairs",
    "sampled",
    "schema",
    "signals",
    "switches",
    "taps",
    "tcp_streams",
    "tool",
    "training_jobs",
    "transfers",
    "unlinked",
    "verdicts",
];

fn committed(document: &str) -> String {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(folder.join(format!("schema/railscope.{document}-1.schema.json")))
        .unwrap()
}

fn is_committed(document: &str) {
    let printed = railscope(["schema", document]).succeeds();
    let bless = format!(
        "cargo run -p railscope -- schema {document} > \
         collector/schema/railscope.{document}-1.schema.json"
    );
    assert!(
        printed == committed(document),
        "the contract changed; if that is intended:\n  {bless}"
    );
}

#[test]
fn the_committed_schema_is_the_printed_one() {
    is_committed("report");
    is_committed("compare");
}

#[test]
#[cfg(target_os = "linux")]
fn the_committed_schema_of_truths_is_the_printed_one() {
    is_committed("truth");
}

#[test]
#[cfg(all(target_os = "linux", feature = "live"))]
fn the_committed_schemas_of_nodes_are_the_printed_ones() {
    is_committed("doctor");
    is_committed("doctor-merge");
}

/// Analyzes the fixture twice with the options; returns its report, which matches the schema.
fn check(validator: &jsonschema::Validator, file: &str, options: &[&str]) -> Value {
    let arguments = ["analyze", "--format", "json"].iter().chain(options).chain([&file]);
    let run = || railscope(arguments.clone()).succeeds();
    let text = run();
    assert!(text == run(), "{file} {options:?}: two runs differ");
    let report: Value = serde_json::from_str(&text).unwrap();
    let broken: Vec<String> = validator
        .iter_errors(&report)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(broken.is_empty(), "{file} {options:?}:\n{}", broken.join("\n"));
    report
}

#[test]
fn every_report_keeps_the_contract() {
    let schema: Value = serde_json::from_str(&committed("report")).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let messages = directory.path().join("messages.jsonl");
    let messages = messages.to_str().unwrap();
    for fixture in fixture::all() {
        let report = check(&validator, &fixture.file, &["--line-rate", "10G"]);
        let sections: Vec<&str> = report.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(sections, SECTIONS);
        check(&validator, &fixture.file, &["--detail", "full", "--detail-file", messages]);
    }
}

#[test]
fn traffic_of_other_programs_is_linked_to_no_rank() {
    let text = railscope(["analyze", "--format", "json", "rc_pingpong.pcap.gz"]).succeeds();
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["schema"], "railscope.report/1");
    for section in
        ["tcp_streams", "communicators", "phases", "collectives", "iterations", "counters", "pfc"]
    {
        assert_eq!(report[section], Value::Array(Vec::new()), "{section}");
    }
    assert_eq!(report["bursts"], Value::Null, "the line rate is unknown");
    for flow in report["flows"].as_array().unwrap() {
        let owner = &flow["owner"];
        assert_eq!((&owner["grade"], &owner["rank"]), (&Value::from("unknown"), &Value::Null));
        assert!(owner["why_unknown"].as_str().unwrap().contains("do not look like NCCL's"));
    }
}

#[test]
fn a_wrong_report_is_noticed() {
    let schema: Value = serde_json::from_str(&committed("report")).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let text = railscope(["analyze", "--format", "json", "rdmacm_rping.pcap.gz"]).succeeds();
    let report: Value = serde_json::from_str(&text).unwrap();
    assert!(validator.is_valid(&report));
    for path in ["/flows/0/frames", "/capture/origin_ns", "/taps/0/position", "/flows/0/owner"] {
        let mut broken = report.clone();
        *broken.pointer_mut(path).unwrap() = Value::Array(Vec::new());
        assert!(!validator.is_valid(&broken), "{path}");
    }
}
