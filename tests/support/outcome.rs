//! What two reports on the same packets, captured in different ways, must agree on.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// Largest difference between the two timestamps of a packet, ns.
const CLOCK_NS: i64 = 5_000_000;

/// Checks that two reports describe the same job: communicators, ranks, collectives, the start and
/// end of training steps, and stragglers.
#[track_caller]
pub fn agree(one: &Value, other: &Value) {
    assert_eq!(communicators(one), communicators(other));
    assert_eq!(collectives(one), collectives(other));
    assert_eq!(iterations(one), iterations(other));
    for (one, other) in bounds(one).into_iter().zip(bounds(other)) {
        assert!((one - other).abs() < CLOCK_NS, "{one} {other}");
    }
    // A rank at the limit of a straggler may be named or not because of microseconds.
    let (one, other) = (stragglers(one), stragglers(other));
    let differ = one.iter().zip(&other).filter(|(one, other)| one != other).count();
    assert!(differ <= 1, "{one:?} {other:?}");
}

/// A rank and its address.
pub type Rank = (u64, String);

/// Each communicator's identity, size and ranks.
pub fn communicators(report: &Value) -> Vec<(String, u64, Vec<Rank>)> {
    let rank = |one: &Value| -> Rank {
        (one["rank"].as_u64().unwrap(), one["address"].as_str().unwrap_or_default().to_owned())
    };
    let communicator = |one: &Value| {
        let ranks = one["ranks"].as_array().unwrap().iter().map(rank).collect();
        (one["id"].as_str().unwrap().to_owned(), one["nranks"].as_u64().unwrap(), ranks)
    };
    report["communicators"].as_array().unwrap().iter().map(communicator).collect()
}

/// Rank and cause of each training step's straggler.
pub fn stragglers(report: &Value) -> Vec<Option<(u64, String)>> {
    let late = |one: &Value| {
        let late = one["straggler"].as_object()?;
        Some((late["rank"].as_u64()?, late["cause"].as_str()?.to_owned()))
    };
    report["iterations"].as_array().unwrap().iter().map(late).collect()
}

/// Number of collectives by kind and size.
fn collectives(report: &Value) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for one in report["collectives"].as_array().unwrap() {
        *counts.entry(format!("{} {}", one["kind"], one["bytes"])).or_default() += 1;
    }
    counts
}

fn iterations(report: &Value) -> Vec<Value> {
    let facts = ["iteration", "complete", "collectives", "bytes", "ce_packets", "cnps"];
    let iteration = |one: &Value| json!(facts.map(|fact| &one[fact]));
    report["iterations"].as_array().unwrap().iter().map(iteration).collect()
}

/// Starts and ends of training steps, nanoseconds since 1970.
fn bounds(report: &Value) -> Vec<i64> {
    let origin: i64 = report["capture"]["origin_ns"].as_str().unwrap().parse().unwrap();
    let all = report["iterations"].as_array().unwrap().iter();
    all.flat_map(|one| ["start_ns", "end_ns"].map(|at| origin + one[at].as_i64().unwrap()))
        .collect()
}
