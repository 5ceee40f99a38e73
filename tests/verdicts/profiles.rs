//! Verdicts from files of NCCL's profiler plugin alone: jobs of NCCL 2.28.9 on an H100.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::railscope;

fn profiles(job: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("profiler/tests/recorded").join(job);
    (0..4).map(|rank| folder.join(format!("rank{rank}.railprof"))).collect()
}

fn first_verdict(files: &[PathBuf]) -> Value {
    railscope::analyze(files)["verdicts"][0].clone()
}

#[test]
fn a_late_rank_is_the_first_verdict() {
    for (job, rank, cause) in [("late-cpu", 2, "enqueue"), ("late-gpu", 1, "compute")] {
        let files = profiles(job);
        let verdict = first_verdict(&files);
        assert_eq!(verdict["id"], "late_rank", "{verdict}");
        assert_eq!(verdict["severity"], "warning");
        assert_eq!(verdict["grade"], "inferred");
        assert_eq!(verdict["subject"]["rank"], rank);
        assert_eq!((&verdict["cause"], &verdict["by_profiles"]), (&cause.into(), &"alone".into()));
        let text = railscope::text(&files);
        let first = text.lines().next().unwrap();
        assert!(first.contains(&format!("rank {rank} was late")), "{text}");
    }
}

#[test]
fn a_clean_job_says_how_many_ranks_were_judged() {
    let text = railscope::text(&profiles("clean-1")).replace('\n', " ");
    assert!(text.contains("none of 4 ranks of"), "{text}");
    assert!(text.contains("was late in 13 collectives"), "{text}");
}

#[test]
fn missing_ranks_are_named() {
    let text = railscope::text(&profiles("late-cpu")[..2]);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("2 of 4 ranks recorded, without rank 2, 3"), "{text}");
}

#[test]
fn a_file_that_is_given_twice_counts_once() {
    let files = profiles("late-cpu");
    let once = railscope::analyze(&files);
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy.railprof");
    std::fs::copy(&files[0], &copy).unwrap();
    let twice = railscope::analyze(&[files, vec![copy]].concat());
    let records = |report: &Value| report["call_records"]["proxies"].clone();
    assert_eq!(records(&once), records(&twice));
    let unused = &twice["call_records"]["unused"][0];
    assert_eq!(unused["source"], "profiler");
    assert!(unused["why"].as_str().unwrap().contains("the same records"), "{unused}");
}

#[test]
fn a_truncated_file_is_said_to_be_truncated() {
    let whole = std::fs::read(&profiles("late-cpu")[0]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for length in [200, 5000] {
        let cut = folder.path().join(format!("cut{length}.railprof"));
        std::fs::write(&cut, &whole[..length]).unwrap();
        let report = railscope::analyze(std::slice::from_ref(&cut));
        assert_eq!(report["call_records"]["profiles"][0]["is_cut"], true, "{length}");
        let text = railscope::text(&[cut]);
        assert!(text.contains("truncated"), "{length}: {text}");
        assert!(!text.contains("No frames"), "{length}: {text}");
    }
}
