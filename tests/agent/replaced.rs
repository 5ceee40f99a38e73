//! An agent is replaced by another: what the second sees, and that nothing is counted twice.

use std::process::Command;

use railscope_testbed::agent::Agent;
use railscope_testbed::clock::eventually;

use crate::support::fabric;
use crate::support::railscope::PROGRAM;

const TAPS: [&str; 2] = ["taps.interfaces=[\"port0\"]", "otlp.interval=\"200ms\""];
const JOB: &str = "--iterations 3 --warmup_iters 0 --check 0 --buckets 256KiB --compute 5ms";

/// Packets of RoCE that an agent has counted; stable once it has reported all of a job.
fn packets(agent: &Agent) -> u64 {
    let count = || {
        let metrics = agent.get("/metrics").unwrap();
        let values = metrics.lines().filter_map(|line| {
            let rest = line.strip_prefix("rdma_flow_packets_total{")?;
            rest.rsplit_once(' ')?.1.parse::<f64>().ok()
        });
        values.sum::<f64>() as u64
    };
    let (mut before, mut alike) = (0, 0);
    eventually("the agent has counted everything", || {
        let now = count();
        alike = if now == before && now > 0 { alike + 1 } else { 0 };
        before = now;
        alike > 20
    });
    before
}

#[test]
fn old_and_new_overlap_without_counting_twice() {
    fabric::run("old_and_new_overlap_without_counting_twice", 2, |fabric| {
        let job = || {
            for mut rank in fabric.drive(JOB) {
                assert!(rank.wait().unwrap().success());
            }
        };
        let old = Agent::start(PROGRAM, &TAPS);
        // On the old one's port the new one does not start: no scrape can see both.
        let listen = format!("prometheus.listen=\"{}\"", old.address());
        let mut refused = Command::new(PROGRAM);
        refused.args(["agent", "--set", &listen, "--set", TAPS[0]]);
        let refused = refused.output().unwrap();
        assert_eq!(refused.status.code(), Some(2));
        let complaint = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(complaint.contains("in use"), "{complaint}");

        // On another port both see the same packets, each once.
        let new = Agent::start(PROGRAM, &TAPS);
        job();
        let first = packets(&old);
        assert_eq!(packets(&new), first);
        old.stop();
        // The old one's end takes nothing from the new one, whose counters go on.
        job();
        eventually("the new agent counts on", || packets(&new) > first);
        new.stop();
    });
}
