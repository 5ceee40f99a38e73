//! Recorded jobs of NCCL in which a process was killed: what the kernel of its host adds.

use serde_json::Value;

use crate::cli::railscope_on;
use crate::support::recording::Recording;

fn explained(job: &Recording, options: &[&str]) -> Value {
    let all = ["explain", "--hang", "--format", "json"].iter().chain(options);
    let all: Vec<&str> = all.copied().collect();
    serde_json::from_str(&railscope_on(job, &all).warns()).unwrap()
}

/// Class, alternative and rank of the first hang.
fn first(said: &Value) -> (&str, Option<&str>, Option<u64>) {
    let hang = &said["hangs"][0];
    let rank = hang["subject"]["rank"].as_u64();
    (hang["class"].as_str().unwrap_or(""), hang["alternative"].as_str(), rank)
}

/// Its kernel said FIN for it: the host lives.
#[test]
fn the_kernel_of_its_host_tells_a_killed_process_from_a_dead_host() {
    let job = Recording::unpack("rankcrash-2.28.9");
    let said = explained(&job, &[]);
    assert_eq!(first(&said), ("process_gone", None, Some(2)), "{said}");
}

/// The others' RAS looks for the dead process, which is no master; and they send to it again, which is no loss.
#[test]
fn a_capture_that_began_in_the_hang_blames_only_the_silent_end() {
    let job = Recording::unpack("rankcrash-2.28.9");
    let said = explained(&job, &["--since", "9s"]);
    let classes: Vec<&str> = said["hangs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hang| hang["class"].as_str().unwrap())
        .collect();
    assert_eq!(classes, ["process_gone"], "{said}");
    assert_eq!(said["hangs"][0]["subject"]["port"], "10.0.0.3");
    let report = railscope_on(&job, &["analyze", "--format", "json", "--since", "9s"]).succeeds();
    let report: Value = serde_json::from_str(&report).unwrap();
    let ids: Vec<&str> = report["verdicts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|verdict| verdict["id"].as_str().unwrap())
        .collect();
    assert!(!ids.contains(&"loss") && !ids.contains(&"master_unreachable"), "{ids:?}");
}

/// As one that was copied while it was written: what comes later at other taps was not lost on the way to it.
#[test]
fn a_capture_that_ends_early_proves_no_dead_path() {
    for percent in [99, 98, 90] {
        let job = Recording::unpack("rankcrash-2.28.9");
        let capture = job.folder().join("node01.roce0.pcap");
        let bytes = std::fs::read(&capture).unwrap();
        std::fs::write(&capture, &bytes[..bytes.len() * percent / 100]).unwrap();
        let said = explained(&job, &[]);
        assert_eq!(first(&said), ("process_gone", None, Some(2)), "{percent} %: {said}");
    }
}
