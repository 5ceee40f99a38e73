//! Recorded jobs: their faults are found, and clean jobs have no findings.

use serde_json::Value;

use super::scene::{bad, found, only};
use crate::cli::railscope_on;
use crate::support::recording::Recording;

fn report_on(run: &str) -> Value {
    let job = Recording::unpack(run);
    let text = railscope_on(&job, &["analyze", "--format", "json", "--nccl-log", "logs/*.log"]);
    serde_json::from_str(&text.succeeds()).unwrap()
}

/// Jobs without late ranks and without lost or delayed packets.
const CLEAN: &[&str] = &[
    "allgather-2.27.5",
    "alltoall-2.27.5",
    "async-clean-2.27.5",
    "bcast-2.27.5",
    "ddp-overlap-2.27.5",
    "fsdp-2.27.5",
    "ipv6gid-2.27.5",
    "midjob-2.27.5",
    "multigpu-2n2g-2.27.5",
    "rails-2n2g2nic-2.27.5",
    "ring-2.18.6",
    "ring-2.27.5",
    "ring-2.30.7",
    "split-2.27.5",
    "tree-2.27.5",
    "twopairs-2.27.5",
];

#[test]
fn nothing_is_wrong_with_clean_jobs() {
    for run in CLEAN {
        // Late ranks are covered by the score of stragglers.
        let bad: Vec<String> = bad(&report_on(run))
            .into_iter()
            .filter(|finding| !finding.starts_with("\"straggler\""))
            .collect();
        assert_eq!(bad, [""; 0], "{run}");
    }
}

#[test]
fn a_dead_path_shows_as_timeouts() {
    let report = report_on("blackhole-2.27.5");
    let findings = found(&report, "timeouts");
    assert_eq!(findings[0]["subject"]["port"], "10.0.0.2");
    assert!(found(&report, "loss").is_empty() && found(&report, "stalled_collective").is_empty());
}

#[test]
fn loss_is_counted_at_the_port_where_it_happens() {
    let report = report_on("loss1pct-2.27.5");
    let loss = found(&report, "loss");
    assert_eq!(
        (&loss[0]["severity"], &loss[0]["subject"]["port"]),
        (&"warning".into(), &"10.0.0.3".into())
    );
    assert_eq!(loss[0]["subject"]["rank"], 2);
}

#[test]
fn marks_that_soft_roce_does_not_answer() {
    let report = report_on("ce-2.27.5");
    assert_eq!(only(&report, "congestion")["subject"]["rank"], 2);
    assert_eq!(only(&report, "ce_without_cnp")["subject"]["port"], "10.0.0.3");
}

#[test]
fn the_rank_that_died_is_named() {
    let report = report_on("rankcrash-2.28.9");
    let finding = only(&report, "stalled_collective");
    assert_eq!(
        (&finding["subject"]["rank"], &finding["cause"]),
        (&2.into(), &"never_posted".into())
    );
    assert_eq!(finding["severity"], "critical");
}

#[test]
fn the_slow_link_is_named() {
    let report = report_on("slowlink-2.27.5");
    let finding = only(&report, "slow_path");
    assert_eq!(
        (&finding["subject"]["port"], &finding["subject"]["rank"]),
        (&"10.0.0.4".into(), &3.into())
    );
}

#[test]
fn rails_that_all_hosts_agree_on() {
    let report = report_on("rails-2n2g2nic-2.27.5");
    let rails: Vec<(&str, Option<u64>)> = report["ports"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|port| port["plane"] == "backend")
        .map(|port| (port["address"].as_str().unwrap(), port["rail"].as_u64()))
        .collect();
    let expected = [("10.0.0.1", 0), ("10.0.0.2", 0), ("10.0.1.1", 1), ("10.0.1.2", 1)];
    assert_eq!(rails, expected.map(|(address, rail)| (address, Some(rail))));
}

#[test]
fn the_rank_that_is_late_again_and_again_is_named() {
    let report = report_on("async-straggler-2.27.5");
    let finding = found(&report, "straggler")[0];
    assert_eq!(
        (&finding["severity"], &finding["cause"], &finding["subject"]["rank"]),
        (&"warning".into(), &"compute".into(), &2.into())
    );
    assert!(finding["evidence"][0]["frame"].is_u64(), "{finding}");
}
