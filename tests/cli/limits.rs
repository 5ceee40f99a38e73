//! Whatever exceeds a limit is dropped, counted and reported.

use super::{analyze, railscope};

const RING: [&str; 4] = [
    "ring4_allreduce_pA.pcap.gz",
    "ring4_allreduce_pB.pcap.gz",
    "ring4_allreduce_pC.pcap.gz",
    "ring4_allreduce_pD.pcap.gz",
];

#[test]
fn flows_beyond_the_limit_are_dropped_and_counted() {
    let arguments = [["--max-flows", "2"].as_slice(), &RING].concat();
    let report = analyze(&arguments);
    let captures = report["taps"].as_array().unwrap().len();
    assert_eq!(report["flows"].as_array().unwrap().len(), 2 * captures);
    assert_eq!(report["tool"]["options"]["max_flows"], "2");
    let evicted = report["health"]["flow.evicted_flows"].as_u64().unwrap();
    let evicted_frames = report["health"]["flow.evicted_frames"].as_u64().unwrap();
    assert!(evicted > 8, "of each capture, 4 flows share 2 slots: {evicted}");
    let kept: u64 = report["flows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|flow| flow["frames"].as_u64().unwrap())
        .sum();
    assert_eq!(kept + evicted_frames, 48_980, "every frame is counted");

    let text = railscope(["analyze"].iter().chain(&arguments)).succeeds();
    assert!(text.contains(" flows evicted: raise --max-flows"), "{text}");
    assert!(!text.contains("No problem found."), "dropped flows may have had problems: {text}");
}

#[test]
fn the_limit_is_not_met_by_default() {
    let report = analyze(&RING);
    assert_eq!(report["health"]["flow.evicted_flows"], serde_json::Value::Null);
}
