//! `railscope explain --hang`: what hangs, by every source.

use serde_json::Value;

use crate::cli::{railscope, railscope_on};
use crate::support::recording::Recording;

fn explained(options: &[&str]) -> String {
    railscope(["explain", "--hang"].iter().chain(options)).succeeds()
}

fn explained_json(options: &[&str]) -> Value {
    let all = ["explain", "--hang", "--format", "json"].iter().chain(options);
    serde_json::from_str(&railscope(all).succeeds()).unwrap()
}

#[test]
fn records_name_class_rank_and_what_would_decide() {
    let options = ["--flight-recorder", "flight_recorder/not_called/trace_*"];
    let text = explained(&options);
    for line in [
        "● rank 2 never called all_reduce 4 of group 0 (default_pg); 3 ranks wait",
        "  class: rank_not_called, proven; see docs/hangs/rank_not_called.md",
        "  where: rank 2",
        "  packets: not read",
        "    rank 2: all_reduce 3, ended (",
        "  first: Look at that rank's process",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    let report = explained_json(&options);
    assert_eq!(report["state"], "hang");
    let hang = &report["hangs"][0];
    assert_eq!(hang["class"], "rank_not_called");
    // It wrote a dump: its process runs.
    assert_eq!(hang["alternative"], Value::Null);
    assert_eq!(hang["page"], "rank_not_called");
    assert_eq!(hang["evidence"][0]["source"], "flight_recorder");
    assert_eq!(hang["subject"]["rank"], 2);
}

#[test]
fn two_classes_come_with_what_would_decide() {
    let options = ["--flight-recorder", "flight_recorder/killed/trace_*"];
    let text = explained(&options);
    for line in [
        "  class: process_gone, inferred; it could also be host_dead; see",
        "  would decide: Does the host answer a ping? If not, look at the BMC. If",
        "  RAS: not read",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    let hang = &explained_json(&options)["hangs"][0];
    assert_eq!(hang["alternative"], "host_dead");
    assert!(hang["would_decide"].as_str().unwrap().contains("ping"));
}

#[test]
fn answers_of_ras_are_another_source() {
    let files = ["--ras", "ras/behind_1.json", "--ras", "ras/behind_2.json"];
    let report = explained_json(&files);
    assert_eq!(report["hangs"][0]["evidence"][0]["source"], "ras");
    let read: Vec<(&str, u64)> = report["sources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["source"].as_str().unwrap(), one["read"].as_u64().unwrap()))
        .collect();
    let expected =
        [("packets", 0), ("counters", 0), ("logs", 0), ("flight_recorder", 0), ("ras", 2)];
    assert_eq!(read, expected);
}

#[test]
fn sources_that_contradict_are_shown_with_each_other() {
    // By the dumps rank 2 never called; by RAS rank 1 is dead. Their times are some hours apart: RAS tells
    // no zone.
    let options =
        ["--flight-recorder", "flight_recorder/not_called/trace_*", "--ras", "ras/dead.json"];
    let report = explained_json(&options);
    let hangs = report["hangs"].as_array().unwrap();
    let dead = hangs.iter().find(|hang| hang["class"] == "process_gone").unwrap();
    let against: Vec<&str> = dead["contradictions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one.as_str().unwrap())
        .collect();
    // Rank 1 wrote a dump, so it ran.
    assert!(against[0].contains("rank 1 wrote a flight recorder dump"), "{against:?}");
}

#[test]
fn nothing_hangs_only_if_enough_was_read() {
    let job = Recording::unpack("async-clean-2.27.5");
    let said = railscope_on(&job, &["explain", "--hang"]).succeeds();
    assert!(said.starts_with("● nothing hangs"), "{said}");
    assert!(said.contains("read: 8 captures"), "{said}");
    let healthy = ["--flight-recorder", "flight_recorder/healthy/trace_*"];
    let said = explained(&healthy);
    assert!(said.starts_with("● not enough was read to say that nothing hangs"), "{said}");
    assert_eq!(explained_json(&healthy)["state"], "unknown");
    let said = explained(&["write_lat.pcap.gz"]);
    assert!(said.starts_with("● not enough was read"), "{said}");
}

#[test]
fn input_of_which_nothing_can_be_read_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let junk = folder.path().join("junk");
    std::fs::write(&junk, "hello\n").unwrap();
    let junk = junk.to_str().unwrap();
    for option in ["--counters", "--nccl-log", "--ras"] {
        let run = railscope(["explain", "--hang", option, junk]);
        assert_eq!(run.code, Some(2), "{option}: {}", run.stdout);
        assert!(run.stdout.starts_with("● not enough was read"), "{option}: {}", run.stdout);
        assert!(run.stderr.contains("junk: no "), "{option}: {}", run.stderr);
    }
}

#[test]
fn it_is_one_subject_of_several() {
    let complaint = railscope(["explain", "--hang", "--rank", "1", "x.pcap"]).fails();
    assert!(complaint.contains("cannot be used with"), "{complaint}");
    let complaint = railscope(["explain", "--hang", "--communicator", "a", "x.pcap"]).fails();
    assert!(complaint.contains("cannot be used with"), "{complaint}");
}
