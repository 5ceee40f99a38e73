//! Recorded jobs with one known fault, and clean ones: the first verdict names the fault and its
//! place, and what follows from it is folded beneath.

use serde_json::Value;

use crate::cli::railscope_on;
use crate::support::recording::Recording;

/// A fault, and what the first verdict must say: class, port, rank and direction, as far as they apply.
struct Fault {
    run: &'static str,
    id: &'static str,
    port: Option<&'static str>,
    rank: Option<u64>,
    direction: Option<&'static str>,
}

const fn at(
    run: &'static str,
    id: &'static str,
    port: &'static str,
    direction: Option<&'static str>,
) -> Fault {
    Fault { run, id, port: Some(port), rank: None, direction }
}

const fn rank(run: &'static str, id: &'static str, rank: u64) -> Fault {
    Fault { run, id, port: None, rank: Some(rank), direction: None }
}

const FAULTS: &[Fault] = &[
    rank("async-cpulate-2.27.5", "late_rank", 2),
    at("async-loss1pct-2.28.9", "loss", "10.0.0.3", Some("towards")),
    rank("async-slowgpu-2.27.5", "slow_receiver", 1),
    rank("async-straggler-2.27.5", "late_rank", 2),
    rank("async-straggler-4n2g-r4-2.27.5", "late_rank", 4),
    at("blackhole-2.27.5", "port_down", "10.0.0.2", Some("towards")),
    at("ce-2.27.5", "congestion", "10.0.0.3", Some("towards")),
    rank("ddp-overlap-straggler-2.27.5", "late_rank", 2),
    rank("long-straggler-2.28.9", "late_rank", 1),
    at("loss1pct-2.27.5", "loss", "10.0.0.3", Some("towards")),
    at("rankcrash-2.28.9", "process_gone", "10.0.0.3", None),
    rank("slowgpu-2.28.9", "slow_receiver", 1),
    at("slowlink-2.27.5", "slow_path", "10.0.0.4", Some("towards")),
    rank("straggler-2.27.5", "late_rank", 2),
];

const HEALTHY: &[&str] = &[
    "allgather-2.27.5",
    "alltoall-2.27.5",
    "async-clean-2.27.5",
    "async-eval-pause-2.27.5",
    "autoalgo-2.27.5",
    "bcast-2.27.5",
    "ddp-overlap-2.27.5",
    "fsdp-2.27.5",
    "fullsnap-2.27.5",
    "ipv6gid-2.27.5",
    "midjob-2.27.5",
    "multigpu-2n2g-2.27.5",
    "nocumem-2.27.5",
    "normalgpu-2.28.9",
    "qps2-2.21.5",
    "qps2-2.27.5",
    "rails-2n2g2nic-2.27.5",
    "ranks2-2.27.5",
    "ring-2.18.6",
    "ring-2.21.5",
    "ring-2.27.5",
    "ring-2.30.7",
    "split-2.27.5",
    "tree-2.27.5",
    "twopairs-2.27.5",
];

fn report_on(run: &str) -> Value {
    let job = Recording::unpack(run);
    let text = railscope_on(&job, &["analyze", "--format", "json"]);
    serde_json::from_str(&text.succeeds()).unwrap()
}

/// The verdicts that say that something is wrong.
fn problems(report: &Value) -> Vec<&Value> {
    let all = report["verdicts"].as_array().unwrap().iter();
    all.filter(|verdict| verdict["severity"] != "info").collect()
}

#[test]
fn the_first_verdict_is_the_fault() {
    for Fault { run, id, port, rank, direction } in FAULTS {
        let report = report_on(run);
        let first = *problems(&report).first().unwrap_or_else(|| panic!("{run}: no verdict"));
        let subject = &first["subject"];
        assert_eq!(first["id"], *id, "{run}: {first}");
        for (key, wanted) in [("port", port), ("direction", direction)] {
            assert!(wanted.is_none() || subject[key].as_str() == *wanted, "{run}: {first}");
        }
        assert!(rank.is_none() || subject["rank"].as_u64() == *rank, "{run}: {first}");
        assert!(first["cost_ns"].as_u64() > Some(0), "{run}: {first}");
    }
}

#[test]
fn what_follows_is_folded_under_its_cause() {
    let report = report_on("loss1pct-2.27.5");
    let [only] = problems(&report)[..] else { panic!("{}", report["verdicts"]) };
    let findings = report["findings"].as_array().unwrap();
    let at = findings.iter().position(|finding| finding["id"] == "straggler").unwrap();
    assert!(only["explains"].as_array().unwrap().contains(&at.into()), "{only}");
    assert_eq!(findings[at]["explained_by"], 0);
}

#[test]
fn clean_jobs_are_healthy_and_the_network_is_cleared() {
    for run in HEALTHY {
        let report = report_on(run);
        assert_eq!(problems(&report), [&Value::Null; 0], "{run}");
        assert_eq!(report["verdicts"][0]["id"], "network_not_the_cause", "{run}");
    }
}

#[test]
fn where_no_packet_was_read_nothing_is_cleared() {
    let report = report_on("tcpstore-torch2.8.0-uv");
    assert_eq!(report["verdicts"][0]["id"], "not_enough_seen");
}
