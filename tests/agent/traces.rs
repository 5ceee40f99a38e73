//! A job and an agent that watches it send to one receiver: each collective is one trace, with the
//! job's own spans beside what the agent saw from outside.

use railscope_testbed::agent::Agent;

use crate::support::fabric;
use crate::support::otlp_receiver::Receiver;
use crate::support::railscope::PROGRAM;
use crate::support::traces::{collectives, spans_of};

const RANKS: u64 = 4;

/// A warm-up and 20 training steps of two buckets.
const JOB: &str = "--iterations 20 --warmup_iters 1 --buckets 1MiB,256KiB --compute 50ms";
const COLLECTIVES: usize = 42;

/// One report, when the agent stops: earlier ones may split a collective that is in progress into two,
/// and the agent announces both (docs/opentelemetry.md).
const INTERVAL: &str = "otlp.interval=\"60s\"";

/// The agent's clock and the ranks' are one; its packets have the kernel's time.
const SLACK_NS: u64 = 1_000_000;

/// From a rank's last packet on the wire until the rank has its result, and its own data is
/// acknowledged: the middle one of all calls.
const MEDIAN_NS: u64 = 20_000_000;

#[test]
fn every_collective_of_a_live_job_is_one_trace() {
    let test = "every_collective_of_a_live_job_is_one_trace";
    fabric::run(test, 4, move |fabric| {
        let Some(receiver) = Receiver::start(test, &["--address", "0.0.0.0"]) else { return };
        let endpoint = format!("otlp.endpoint=\"http://127.0.0.1:{}\"", receiver.grpc_port);
        let settings = ["taps.interfaces=[\"port*\"]", INTERVAL, &endpoint];
        // It speaks gRPC, the ranks HTTP.
        let protocol = "otlp.protocol=\"grpc\"";
        let agent = Agent::start(PROGRAM, &[&settings[..], &[protocol]].concat());
        // Each host reaches the receiver over the fabric.
        let job = format!("{JOB} --otlp http://10.0.0.254:{}", receiver.http_port);
        for mut rank in fabric.drive(&job) {
            assert!(rank.wait().unwrap().success());
        }
        agent.stop();
        let requests = receiver.requests();
        let traces = collectives(&requests);
        assert_eq!(traces.len(), COLLECTIVES, "the ids of both sides are the same");
        let mut later: Vec<u64> =
            traces.values().flat_map(|trace| trace.check(RANKS, SLACK_NS)).collect();
        later.sort_unstable();
        let (median, most) = (later[later.len() / 2], later[later.len() - 1]);
        println!(
            "{COLLECTIVES} collectives of {RANKS} ranks: results {} us after the last packet \
             (median), at most {} us",
            median / 1000,
            most / 1000
        );
        assert!(median < MEDIAN_NS, "{median} ns");
        // Each of the ranks is a process of its own, with spans of its own.
        let spans = spans_of(&requests, "railscope-drive");
        assert_eq!(spans.len(), usize::try_from(RANKS).unwrap() * (21 + 21 + COLLECTIVES));
    });
}
