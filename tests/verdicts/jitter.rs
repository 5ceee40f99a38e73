//! Where every rank is the last one about equally often, no rank stands out; that is said of the job.

use serde_json::Value;

use super::job::{Job, analyze, problems};
use crate::cli::railscope;

/// Compute of 60 ms, give or take 20.
fn job(seed: u64) -> Job {
    Job { hosts: 8, seed, iterations: 50, jitter_ms: 20, ..Job::default() }
}

fn variation(report: &Value) -> Option<&Value> {
    let mut all = report["verdicts"].as_array().unwrap().iter();
    all.find(|verdict| verdict["id"] == "compute_varies")
}

#[test]
fn jitter_is_said_of_the_job_and_of_no_rank() {
    for seed in 1..=6 {
        let report = job(seed).report();
        assert_eq!(problems(&report), [&Value::Null; 0], "seed {seed}");
        let said = variation(&report).unwrap();
        assert_eq!((&said["severity"], &said["subject"]["rank"]), (&"info".into(), &Value::Null));
        // The latest of eight is 18 ms later than the lower middle one on average, of about 77.
        let share = report["training_jobs"][0]["jitter_share"].as_f64().unwrap();
        assert!((0.15..0.25).contains(&share), "{share}");
        let iterations = report["iterations"].as_array().unwrap().iter();
        assert_eq!(
            iterations.filter(|iteration| !iteration["straggler"].is_null()).count(),
            0,
            "seed {seed}"
        );
    }
}

#[test]
fn the_text_says_it_below_the_network() {
    let text = job(1).analyze(&[]);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let network = words.find("the network is not the cause").unwrap();
    let varies = words.find("compute varies by ").unwrap();
    assert!(network < varies && words[varies..].contains("no rank stands out"), "{text}");
}

#[test]
fn a_little_jitter_is_not_worth_a_line() {
    let report = Job::default().report();
    assert_eq!(variation(&report), None);
    assert!(report["training_jobs"][0]["jitter_share"].as_f64() < Some(0.05));
}

#[test]
fn beside_a_late_rank_nothing_is_said_of_chance() {
    let job = job(1).with_late(3, 40, [0, 50]);
    let report = job.report();
    assert_eq!(problems(&report)[0]["subject"]["rank"], 3);
    assert_eq!(variation(&report), None);
}

#[test]
fn a_driven_job_that_varies_names_no_rank() {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("job");
    railscope(
        ["drive", "--ranks", "4", "--iterations", "60", "--buckets", "64KiB", "--compute", "40ms"]
            .into_iter()
            .chain(["--jitter", "30ms", "--seed", "3", "--record", record.to_str().unwrap()]),
    )
    .warns();
    let captures = (0..4).map(|rank| format!("rank{rank}.pcap"));
    let text = analyze(&record, captures, &["--format", "json"]);
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(problems(&report), [&Value::Null; 0]);
    assert!(variation(&report).is_some(), "{}", report["verdicts"]);
}
