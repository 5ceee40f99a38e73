//! Ranks of a driven job are matched to processes by the processes' connections.

use std::process::{Command, Stdio};
use std::time::Duration;

use railscope::ingest::probe::{ProbeConfig, ProbeEvent, Probes};
use railscope_core::report::ReportContext;
use railscope_testbed::clock::PATIENCE;
use serde_json::Value;

use crate::support::clock::now;
use crate::support::{pipeline, require};

#[test]
fn connections_name_the_processes_of_ranks() {
    if !require::root("connections_name_the_processes_of_ranks") {
        return;
    }
    let mut pipeline = pipeline::small();
    let config = ProbeConfig {
        calls: false,
        connections: true,
        proc: "/proc".into(),
        ring_mebibytes: 4,
        logs: false,
    };
    let mut probes = Probes::open(&config).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut drive = Command::new(env!("CARGO_BIN_EXE_railscope"));
    drive.args(["drive", "--ranks", "3", "-b", "64K", "-e", "64K", "-n", "1", "--record"]);
    let mut job = drive.arg(folder.path()).stdout(Stdio::null()).spawn().unwrap();
    let begun = now();
    let mut is_over = false;
    while !is_over {
        assert!(begun.elapsed() < PATIENCE, "the job hangs");
        is_over = job.try_wait().unwrap().is_some();
        let mut take = |event| match event {
            ProbeEvent::Connection(change) => pipeline.processes_mut().observe_connection(&change),
            other => panic!("{other:?}"),
        };
        probes.poll(false, &mut take).unwrap();
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(job.wait().unwrap().success());

    let names = (0..3).map(|rank| folder.path().join(format!("rank{rank}.pcap")));
    pipeline::feed(&mut pipeline, &names.collect::<Vec<_>>());
    let report = pipeline.finish(ReportContext::default());
    let truth = std::fs::read_to_string(folder.path().join("truth.jsonl")).unwrap();
    let records = truth.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let ranks = records.filter(|record| record["record"] == "rank");
    let mut expected: Vec<_> =
        ranks.map(|rank| (rank["rank"].as_u64().unwrap(), rank["pid"].as_u64())).collect();
    expected.sort_unstable();
    let found = &report.communicators[0].ranks;
    let pids: Vec<_> =
        found.iter().map(|rank| (u64::from(rank.rank), rank.pid.map(u64::from))).collect();
    assert_eq!(pids, expected);
    for rank in found {
        assert!(rank.evidence.iter().any(|one| one.kind == "process"), "{:?}", rank.evidence);
    }
}
