//! `--detail full`: every message in a second file.

use serde_json::Value;

use super::{analyze, railscope, text};
use crate::support::fixture;

#[test]
fn the_messages_of_the_file_are_those_that_flows_count() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("messages.jsonl");
    for fixture in fixture::all() {
        let arguments = ["--detail", "full", "--detail-file", text(&path), &fixture.file];
        let report = analyze(&arguments);
        let lines = std::fs::read_to_string(&path).unwrap();
        let messages: Vec<Value> =
            lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let flows = report["flows"].as_array().unwrap();
        for kind in ["send", "write", "write_with_immediate", "read", "atomic"] {
            let counted: u64 =
                flows.iter().map(|flow| flow["messages"][kind].as_u64().unwrap()).sum();
            let listed = messages.iter().filter(|message| message["kind"] == kind).count();
            assert_eq!(listed as u64, counted, "{}: {kind}", fixture.file);
        }
        let end = report["capture"]["duration_ns"].as_i64().unwrap();
        for message in &messages {
            let last = message["last_ns"].as_i64().unwrap();
            assert!((0..=end).contains(&last), "{}: {message}", fixture.file);
        }
    }
}

#[test]
fn episodes_are_listed_one_by_one() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("messages.jsonl");
    let full = ["--detail", "full", "--detail-file", text(&path), "loss1_send_bw_post.pcap.gz"];
    let episodes = |report: &Value| report["flows"][0]["episodes"].as_array().unwrap().clone();
    let listed = episodes(&analyze(&full));
    let summary = episodes(&analyze(&["loss1_send_bw_post.pcap.gz"]));
    let count = |episode: &Value| episode["count"].as_u64().unwrap();
    assert_eq!(listed.iter().map(count).sum::<u64>(), summary.iter().map(count).sum::<u64>());
    assert!(listed.iter().all(|episode| episode["count"] == 1));
    assert!(listed.len() > summary.len());
}

#[test]
fn a_file_that_cannot_be_written_is_named() {
    let file = "rdmacm_rping.pcap.gz";
    let said = |path: &str| {
        railscope(["analyze", "--detail", "full", "--detail-file", path, file]).fails()
    };
    let missing = said("no_such_folder/messages.jsonl");
    assert!(missing.starts_with("error: create no_such_folder/messages.jsonl: "), "{missing}");
    assert_eq!(
        said("/dev/full"),
        "error: write /dev/full: No space left on device (os error 28)\n"
    );
    assert_eq!(
        said(file),
        format!("error: {file} is one of the captures to read: choose another --detail-file\n")
    );
    let alone = railscope(["analyze", "--detail-file", "x", file]).fails();
    assert_eq!(alone, "error: --detail-file needs --detail full: add it\n");
}
