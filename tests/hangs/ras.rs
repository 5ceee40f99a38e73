//! Answers of NCCL's RAS, in its forms of JSON and text.

use super::{analysed, first, text};
use crate::cli::railscope;

#[test]
fn each_answer_has_its_cause() {
    for (files, class, rank, severity) in [
        (&["healthy.json"][..], "not_enough_seen", None, "info"),
        (&["dead.json"], "process_gone", Some(1), "critical"),
        (&["unresponsive.json"], "process_gone", Some(1), "warning"),
        (&["failed.json"], "communicator_failed", Some(0), "critical"),
        (&["behind_1.json", "behind_2.json"], "rank_not_called", Some(1), "critical"),
        // Their times count, not their order.
        (&["behind_2.json", "behind_1.json"], "rank_not_called", Some(1), "critical"),
        // It moves, so it is no hang; one answer alone does not tell.
        (&["behind_1.json", "moving.json"], "not_enough_seen", None, "info"),
        (&["behind_1.json"], "not_enough_seen", None, "info"),
        // The same answer twice shows nothing of time.
        (&["behind_1.json", "behind_1.json"], "not_enough_seen", None, "info"),
    ] {
        let options = files.iter().flat_map(|file| ["--ras".to_owned(), format!("ras/{file}")]);
        let options: Vec<String> = options.collect();
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        let report = analysed(&options);
        assert_eq!(first(&report), (class, rank), "{files:?}");
        assert_eq!(report["verdicts"][0]["severity"], severity, "{files:?}");
    }
}

#[test]
fn text_lists_only_outliers() {
    let report = analysed(&["--ras", "ras/mismatch.txt", "--ras", "ras/mismatch.txt"]);
    assert_eq!(first(&report).0, "process_gone");
    let titles: Vec<&str> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["title"].as_str().unwrap())
        .collect();
    let behind = "rank 7 (process 483079 on 172.16.64.210) launched 0 AllReduce of communicator \
                  27a079b828ff1a75, others 6,650; no rank moved between two answers of RAS";
    assert!(titles.contains(&behind), "{titles:?}");
    assert!(
        titles.contains(&"RAS gave up process 483090 on 172.16.64.213: dead, or cut off"),
        "{titles:?}"
    );
}

#[test]
fn one_answer_says_so() {
    let text = text(&["--ras", "ras/behind_1.json"]);
    assert!(text.contains("one answer of RAS does not show whether it still moves"), "{text}");
    assert!(text.contains("1 answer of RAS"), "{text}");
}

#[test]
fn other_documents_are_no_answer() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("truth.json");
    std::fs::write(&file, r#"{"communicators":[{"hash":"0x1","size":2,"ranks":[]}]}"#).unwrap();
    for command in [&["explain", "--hang"][..], &["analyze"]] {
        let options = ["--ras", file.to_str().unwrap()];
        let run = railscope(command.iter().chain(&options));
        assert_eq!(run.code, Some(2), "{}", run.stdout);
        assert!(run.stderr.contains("no status of NCCL's RAS"), "{}", run.stderr);
    }
}
