//! Recorded jobs: the right number of training steps, each with its own collectives.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::cli::railscope_on;
use crate::support::recording::Recording;

/// Error allowed for a start, as a share of the usual duration. The truth has the time at which the
/// first rank handed its first message to the network. If ranks do not call ahead, its data waits
/// for a clear-to-send.
const AHEAD: f64 = 0.012;
const NOT_AHEAD: f64 = 0.17;

/// Starts of the collectives of each training step, by job and number, in nanoseconds since 1970.
fn truth(truth: &Value) -> Vec<Vec<i64>> {
    let communicators = truth["communicators"].as_array().unwrap();
    let ranks = |at: u64| communicators[at as usize]["ranks"].as_array().unwrap();
    // The first of the communicators that share ranks stands for the job.
    let job = |of: u64| (0..=of).find(|at| ranks(*at).iter().any(|rank| ranks(of).contains(rank)));
    let mut starts: BTreeMap<u64, BTreeMap<i64, i64>> = BTreeMap::new();
    for one in truth["collectives"].as_array().unwrap() {
        let iteration = one["iter"].as_i64().unwrap();
        let is_evaluation = one["phase"].as_str().is_some_and(|phase| phase != "train");
        if iteration < 0 || is_evaluation {
            continue;
        }
        let posted = one["edges"].as_array().unwrap().iter();
        let posted = posted.filter_map(|edge| edge["first_post_ns"].as_i64()).min().unwrap();
        let of_job = starts.entry(job(one["comm"].as_u64().unwrap()).unwrap()).or_default();
        let start = of_job.entry(iteration).or_insert(posted);
        *start = posted.min(*start);
    }
    let mut jobs: Vec<Vec<i64>> =
        starts.into_values().map(|starts| starts.into_values().collect()).collect();
    jobs.sort();
    jobs
}

fn found(report: &Value) -> Vec<Vec<i64>> {
    let origin: i64 = report["capture"]["origin_ns"].as_str().unwrap().parse().unwrap();
    let mut jobs: BTreeMap<&str, Vec<i64>> = BTreeMap::new();
    for one in report["iterations"].as_array().unwrap().iter().filter(|one| one["complete"] == true)
    {
        let of_job = jobs.entry(one["communicator"].as_str().unwrap()).or_default();
        of_job.push(origin + one["start_ns"].as_i64().unwrap());
    }
    let mut jobs: Vec<Vec<i64>> = jobs.into_values().collect();
    jobs.sort();
    jobs
}

fn check(run: &str, tolerance: f64) {
    let job = Recording::unpack(run);
    let json = railscope_on(&job, &["analyze", "--format", "json"]).succeeds();
    let report: Value = serde_json::from_str(&json).unwrap();
    let text = std::fs::read_to_string(job.folder().join("truth.json")).unwrap();
    let (found, truth) = (found(&report), truth(&serde_json::from_str(&text).unwrap()));
    assert_eq!(found.len(), truth.len(), "{run}: jobs");
    for (found, truth) in found.iter().zip(&truth) {
        assert_eq!(found.len(), truth.len(), "{run}: training steps");
        let length = (truth[truth.len() - 1] - truth[0]) as f64 / (truth.len() - 1) as f64;
        // The first training step sets up connections.
        for (found, truth) in found.iter().zip(truth).skip(1) {
            let off = (found - truth) as f64 / length;
            assert!((-0.001..tolerance).contains(&off), "{run}: off by {off} of {length} ns");
        }
    }
}

#[test]
fn jobs_that_call_ahead() {
    for run in [
        "async-cpulate-2.27.5",
        "async-eval-pause-2.27.5",
        "async-straggler-4n2g-r4-2.27.5",
        "ddp-overlap-straggler-2.27.5",
    ] {
        check(run, AHEAD);
    }
}

#[test]
fn jobs_that_do_not_call_ahead() {
    for run in [
        "allgather-2.27.5",
        "alltoall-2.27.5",
        "bcast-2.27.5",
        "fsdp-2.27.5",
        "long-straggler-2.28.9",
        "normalgpu-2.28.9",
        "rankcrash-2.28.9",
        "straggler-2.27.5",
        "twopairs-2.27.5",
    ] {
        check(run, NOT_AHEAD);
    }
}

#[test]
fn jobs_without_training_have_no_training_steps() {
    let job = Recording::unpack("tcpstore-torch2.8.0-uv");
    let json = railscope_on(&job, &["analyze", "--format", "json"]).succeeds();
    let report: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(report["iterations"], Value::Array(Vec::new()));
}

/// Rank 0 loses its network. Its last message is retransmitted again and again.
#[test]
fn nobody_waits_longer_than_the_training_step_lasts() {
    let job = Recording::unpack("blackhole-2.27.5");
    let json = railscope_on(&job, &["analyze", "--format", "json", "--until", "4.567s"]).succeeds();
    let report: Value = serde_json::from_str(&json).unwrap();
    let iterations = report["iterations"].as_array().unwrap();
    let time = |one: &Value, key: &str| one[key].as_i64().unwrap();
    for one in iterations {
        let length_ns = time(one, "end_ns") - time(one, "start_ns");
        let lag_ns = one["straggler"]["lag_ns"].as_i64().unwrap_or(0);
        assert!(lag_ns <= length_ns, "{one:#}");
    }
    let last = iterations.last().unwrap();
    assert_eq!((&last["complete"], &last["straggler"]["cause"]), (&false.into(), &"loss".into()));
    assert!(time(&last["straggler"], "lag_ns") > 300_000_000, "{last:#}");
    let idle_ns = time(last, "idle_ns");
    assert!(time(last, "communication_ns") > 300_000_000 && idle_ns < 10_000_000, "{last:#}");
}

#[test]
fn a_recovery_between_two_collectives_is_of_one_of_them() {
    let job = Recording::unpack("async-loss1pct-2.28.9");
    let arguments = ["analyze", "--format", "json", "--detail", "full"];
    let json = railscope_on(&job, &arguments).succeeds();
    let report: Value = serde_json::from_str(&json).unwrap();
    let mut ended: BTreeMap<(&str, u64), i64> = BTreeMap::new();
    let mut recoveries = 0;
    for collective in report["collectives"].as_array().unwrap() {
        let communicator = collective["communicator"].as_str().unwrap();
        for edge in collective["connections"].as_array().unwrap() {
            let waits = &edge["waits"];
            let Some(start_ns) = waits["start_ns"].as_i64() else { continue };
            let key = (communicator, edge["connection"].as_u64().unwrap());
            let end_ns = waits["end_ns"].as_i64().unwrap();
            let before = ended.insert(key, end_ns).unwrap_or(i64::MIN);
            assert!(before <= start_ns, "{key:?}: {before} {waits:#}");
            recoveries += u64::from(waits["recovery_ns"].as_u64().unwrap() > 0);
        }
    }
    assert!(recoveries > 10, "{recoveries}");
}
