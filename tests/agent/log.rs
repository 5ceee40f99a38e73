//! The agent's log may be a full disk, a closed pipe, or one that nobody reads: the agent goes on.

use std::fs::File;
use std::process::Stdio;

use railscope_testbed::agent::Agent;
use railscope_testbed::clock::eventually;

use crate::support::railscope::PROGRAM;

/// Without sources, an agent has enough to say at its start.
const SETTINGS: [&str; 6] = [
    "sources.packets=false",
    "sources.counters=false",
    "sources.calls=false",
    "sources.processes=false",
    "sources.ras=false",
    "otlp.interval=\"100ms\"",
];

fn lines(agent: &Agent, outcome: &str) -> u64 {
    let metrics = agent.get("/metrics").unwrap_or_default();
    let name = format!("railscope_log_lines_total{{railscope_log_outcome=\"{outcome}\"}} ");
    metrics.lines().find_map(|line| line.strip_prefix(&name)?.parse().ok()).unwrap_or(0)
}

#[test]
fn an_agent_goes_on_without_a_log() {
    let full = || Stdio::from(File::options().write(true).open("/dev/full").unwrap());
    let closed = || Stdio::from(std::io::pipe().unwrap().1);
    for (what, stderr) in [("full", full()), ("closed", closed())] {
        let agent = Agent::begin_with(PROGRAM, &SETTINGS, stderr);
        eventually("lost lines are counted", || lines(&agent, "lost") > 0);
        assert_eq!(lines(&agent, "written"), 0, "{what}");
        assert!(agent.end().success(), "{what}");
    }
}

#[test]
fn a_log_that_nobody_reads_holds_nobody_up() {
    let (unread, mut stderr) = std::io::pipe().unwrap();
    // Full before the agent starts: every write waits.
    let flags = nix::fcntl::OFlag::O_NONBLOCK;
    nix::fcntl::fcntl(&stderr, nix::fcntl::FcntlArg::F_SETFL(flags)).unwrap();
    while std::io::Write::write(&mut stderr, &[b'x'; 4096]).is_ok() {}
    let flags = nix::fcntl::OFlag::empty();
    nix::fcntl::fcntl(&stderr, nix::fcntl::FcntlArg::F_SETFL(flags)).unwrap();
    let agent = Agent::begin_with(PROGRAM, &SETTINGS, Stdio::from(stderr));
    eventually("metrics are served", || agent.get("/metrics").is_some_and(|text| !text.is_empty()));
    assert!(agent.end().success());
    drop(unread);
}
