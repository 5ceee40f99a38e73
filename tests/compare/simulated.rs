//! Simulated jobs: an equal one, one with a late rank, one that loses packets. `cargo xtask compare`
//! counts many of them.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::cli::railscope;

/// A scenario of this folder, with more at its end.
fn simulate(folder: &Path, scenario: &str, name: &str, more: &str) -> String {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/compare");
    let mut text = fs::read_to_string(Path::new(source).join(scenario)).unwrap();
    text.push_str(more);
    let path = folder.join([name, ".toml"].concat());
    fs::write(&path, text).unwrap();
    let out = folder.join(name).to_str().unwrap().to_owned();
    railscope(["simulate", path.to_str().unwrap(), "--out", &out]).warns();
    out
}

fn compared(before: &str, after: &str) -> Value {
    let run = railscope(["compare", "--format", "json", before, after]);
    serde_json::from_str(&run.warns()).unwrap()
}

fn row<'a>(said: &'a Value, measure: &str) -> &'a Value {
    let rows = said["rows"].as_array().unwrap();
    rows.iter().find(|row| row["measure"] == measure).unwrap_or_else(|| panic!("{measure}: {said}"))
}

#[test]
fn a_late_rank_and_lost_packets_are_found_and_equal_jobs_are_equal() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let yesterday = simulate(folder, "yesterday.toml", "yesterday", "");

    let tomorrow = simulate(folder, "tomorrow.toml", "tomorrow", "");
    let said = compared(&yesterday, &tomorrow);
    assert_eq!(said["answer"]["outcome"], "no_difference_shown", "{said}");
    assert_eq!(said["mismatches"].as_array().unwrap().len(), 0);
    let differs = |row: &Value| matches!(row["outcome"].as_str(), Some("higher" | "lower"));
    assert!(!said["rows"].as_array().unwrap().iter().any(differs), "{said}");

    let today = simulate(folder, "today.toml", "today", "");
    let said = compared(&yesterday, &today);
    assert_eq!(said["answer"]["outcome"], "higher", "{said}");
    assert_eq!(said["answer"]["before"]["values"], 30);
    assert_eq!(said["explained_by"][0], "late_compute", "{said}");

    let loss = "\n[[loss]]\nport = \"host1\"\nshare = \"1%\"\n";
    let lossy = simulate(folder, "tomorrow.toml", "lossy", loss);
    let said = compared(&yesterday, &lossy);
    assert_eq!(row(&said, "retransmitted")["outcome"], "higher", "{said}");
    let new = said["new_verdicts"].as_array().unwrap();
    assert!(new.iter().any(|title| title.as_str().unwrap().contains("lost")), "{said}");
}
