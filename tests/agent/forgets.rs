//! An agent forgets jobs that ended before its window.

use std::thread;
use std::time::Duration;

use railscope_testbed::agent::Agent;
use railscope_testbed::clock::eventually;
use serde_json::Value;

use crate::support::fabric;
use crate::support::railscope::PROGRAM;

const JOB: &str = "-b 64K -e 64K -n 20 --warmup_iters 0 --check 0";

/// Longer than the window.
const PAUSE: Duration = Duration::from_secs(3);

fn length(report: &Value, list: &str) -> usize {
    report[list].as_array().map_or(0, Vec::len)
}

#[test]
fn jobs_that_ended_before_the_window_are_forgotten() {
    fabric::run("jobs_that_ended_before_the_window_are_forgotten", 2, |fabric| {
        let window =
            ["taps.interfaces=[\"port0\"]", "otlp.interval=\"200ms\"", "window.length=\"2s\""];
        let agent = Agent::start(PROGRAM, &window);
        let run = || {
            for mut rank in fabric.drive(JOB) {
                assert!(rank.wait().unwrap().success());
            }
        };
        let (mut one, mut most) = (0, 0);
        for job in 1..=6 {
            run();
            if job == 1 {
                eventually("it is reported", || length(&agent.report(), "communicators") > 0);
                one = length(&agent.report(), "communicators");
            }
            thread::sleep(PAUSE);
            most = most.max(length(&agent.report(), "communicators"));
        }
        assert!(one > 0 && most <= 6 * one);
        // The window ends with the latest packet: one more job moves it on, and the next report is without
        // those before.
        let are_forgotten = (0..5).any(|_| {
            thread::sleep(PAUSE);
            run();
            thread::sleep(PAUSE);
            let report = agent.report();
            let is_counted =
                |name: &str| report["health"][name].as_u64().is_some_and(|count| count > 0);
            length(&report, "communicators") <= 3 * one
                && is_counted("flow.forgotten_flows")
                && is_counted("control.forgotten_connections")
        });
        assert!(are_forgotten, "{} communicators", length(&agent.report(), "communicators"));
        agent.stop();
    });
}
