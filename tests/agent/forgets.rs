//! An agent forgets jobs that ended before its window.

use railscope_testbed::agent::Agent;
use railscope_testbed::clock::eventually;
use serde_json::Value;

use crate::support::fabric;
use crate::support::railscope::PROGRAM;

const JOB: &str = "-b 64K -e 64K -n 20 --warmup_iters 0 --check 0";

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
            std::thread::sleep(std::time::Duration::from_secs(3));
            most = most.max(length(&agent.report(), "communicators"));
        }
        assert!(one > 0 && most <= 6 * one);
        // The window ends with the latest packet: one more job moves it on.
        eventually("earlier jobs are forgotten", || {
            run();
            let report = agent.report();
            let is_counted =
                |name: &str| report["health"][name].as_u64().is_some_and(|count| count > 0);
            length(&report, "communicators") <= 3 * one
                && is_counted("flow.forgotten_flows")
                && is_counted("control.forgotten_connections")
        });
        agent.stop();
    });
}
