//! An agent forgets jobs that ended before its window.

use std::thread;
use std::time::Duration;

use railscope_testbed::agent::Agent;
use railscope_testbed::clock::eventually;
use serde_json::Value;

use crate::support::fabric;
use crate::support::railscope::PROGRAM;

const JOB: &str = "-b 64K -e 64K -n 20 --warmup_iters 0 --check 0";

/// Runs until it is killed.
const LONG_JOB: &str = "--iterations 100000 --buckets 64KiB --compute 20ms --check 0";

/// Longer than the window.
const PAUSE: Duration = Duration::from_secs(3);

fn length(report: &Value, list: &str) -> usize {
    report[list].as_array().map_or(0, Vec::len)
}

/// What the window may cost at rest, in bytes: docs/agent.md, and as much again for a debug build and a report
/// that is being made.
fn most(report: &Value) -> u64 {
    const AT_START: u64 = 7 << 20;
    const MESSAGES: u64 = 64 << 17;
    const QUEUE_PAIR: u64 = 28 << 10;
    2 * (AT_START + MESSAGES + QUEUE_PAIR * length(report, "queue_pairs") as u64)
}

/// `RssAnon` of a process, in bytes.
fn memory(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.split_whitespace().next().unwrap().parse::<u64>().unwrap() << 10
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
        let (mut one, mut known) = (0, 0);
        for job in 1..=6 {
            run();
            if job == 1 {
                eventually("it is reported", || length(&agent.report(), "communicators") > 0);
                one = length(&agent.report(), "communicators");
            }
            thread::sleep(PAUSE);
            let report = agent.report();
            known = known.max(length(&report, "communicators"));
            assert!(memory(agent.pid()) <= most(&report), "{} bytes", memory(agent.pid()));
        }
        assert!(one > 0 && known <= 6 * one);
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

/// All connections that set up queue pairs greet with the same magic, whichever job they are of.
#[test]
fn connections_of_ended_jobs_are_forgotten_while_another_job_runs() {
    let test = "connections_of_ended_jobs_are_forgotten_while_another_job_runs";
    fabric::run(test, 4, |fabric| {
        let window = [
            "taps.interfaces=[\"port0\",\"port2\"]",
            "otlp.interval=\"200ms\"",
            "window.length=\"2s\"",
        ];
        let agent = Agent::start(PROGRAM, &window);
        let mut long = fabric.drive_on(0..2, LONG_JOB);
        let known = || length(&agent.report(), "tcp_streams");
        eventually("its training steps are reported", || length(&agent.report(), "iterations") > 3);
        let own = known();
        assert!(own > 0);
        for _ in 0..3 {
            for mut rank in fabric.drive_on(2..4, JOB) {
                assert!(rank.wait().unwrap().success());
            }
        }
        eventually("another job is reported", || length(&agent.report(), "communicators") > 1);
        // The long job's are older than the window, and needed.
        eventually("it is forgotten", || known() == own);
        let report = agent.report();
        assert_eq!(length(&report, "communicators"), 1);
        assert_eq!(report["communicators"][0]["grade"], "proven");
        for rank in &mut long {
            rank.kill().unwrap();
            rank.wait().unwrap();
        }
        agent.stop();
    });
}
