//! The agent on the bridge of a real job reports what a capture of the same packets shows, and what
//! the ranks say they did.

use std::path::PathBuf;

use railscope_testbed::agent::Agent;
use railscope_testbed::clock::eventually;
use railscope_testbed::fabric::Fabric;
use railscope_testbed::tcpdump::Capture;
use serde_json::Value;

use crate::support::fabric;
use crate::support::outcome::{agree, communicators, stragglers};
use crate::support::railscope::PROGRAM;
use crate::support::{railscope, require};

const ITERATIONS: usize = 12;
const LATE_RANK: u64 = 2;
const LATE: std::ops::RangeInclusive<usize> = 5..=8;
const JOB: &str = "--iterations 12 --warmup_iters 0 --check 0 --buckets 1MiB,512KiB --compute 60ms \
                   --straggler rank=2,delay=250ms,iterations=5..8";
/// Jobs to try until one is captured without loss: the machine may be busy.
const ATTEMPTS: usize = 3;

/// Reports of the agent and of tcpdump's captures on one job; `None` if either lost packets.
fn watch(fabric: &Fabric) -> Option<(Value, Value)> {
    let folder = tempfile::tempdir().unwrap();
    let captures = (0..4).map(|rank| Capture::start(&format!("port{rank}"), folder.path()));
    let captures: Vec<_> = captures.collect();
    let agent = Agent::start(PROGRAM, &["taps.interfaces=[\"port*\"]", "otlp.interval=\"500ms\""]);
    let metrics = agent.get("/metrics").unwrap();
    assert!(metrics.contains("railscope_source=\"ebpf\""), "not captured by eBPF: {metrics}");
    for mut rank in fabric.drive(JOB) {
        assert!(rank.wait().unwrap().success());
    }
    let captures: Vec<_> = captures.into_iter().map(Capture::end).collect();
    let captures: Vec<PathBuf> = captures.into_iter().collect::<Option<_>>()?;
    let offline = railscope::analyze(&captures);
    let seen = |report: &Value| report["capture"]["roce_frames"].as_u64().unwrap() + lost(report);
    eventually("all packets are in a report", || seen(&agent.report()) >= seen(&offline));
    let live = agent.report();
    agent.stop();
    assert_eq!(lost(&offline), 0);
    (lost(&live) == 0).then_some((live, offline))
}

fn lost(report: &Value) -> u64 {
    let taps = report["taps"].as_array().unwrap().iter();
    taps.map(|tap| tap["lost_frames"].as_u64().unwrap()).sum()
}

#[test]
fn it_says_what_a_capture_and_the_ranks_say() {
    let test = "it_says_what_a_capture_and_the_ranks_say";
    if !require::has(test, "tcpdump") {
        return;
    }
    fabric::run(test, 4, |fabric| {
        let (live, offline) =
            (0..ATTEMPTS).find_map(|_| watch(fabric)).expect("a job without loss");
        assert_eq!(live["capture"]["roce_frames"], offline["capture"]["roce_frames"]);
        let health = live["health"].as_object().unwrap();
        // Frames of other protocols, such as ARP, are no loss.
        let is_loss = |name: &String| name.starts_with("ebpf.") && name != "ebpf.unused_frames";
        assert!(!health.keys().any(is_loss), "{health:?}");

        agree(&live, &offline);
        let ranks: Vec<(u64, String)> =
            (0..4).map(|rank| (rank, format!("10.0.0.{}", rank + 1))).collect();
        let known = communicators(&live);
        assert_eq!(known.iter().map(|(.., ranks)| ranks).collect::<Vec<_>>(), [&ranks]);
        let stragglers = stragglers(&live);
        assert_eq!(stragglers.len(), ITERATIONS);
        let late = stragglers[LATE].iter().flatten().filter(|(rank, _)| *rank == LATE_RANK);
        // On a busy machine other ranks are late too.
        assert!(late.count() >= LATE.count() - 1, "{stragglers:?}");
    });
}
