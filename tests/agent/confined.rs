//! What a running agent can do no more, from `/proc/PID/status`.

use std::fs;

use railscope_testbed::agent::Agent;

use crate::support::railscope::PROGRAM;
use crate::support::require;

/// Bits of linux/capability.h.
const DAC_OVERRIDE: u64 = 1 << 1;
const DAC_READ_SEARCH: u64 = 1 << 2;
const NET_ADMIN: u64 = 1 << 12;
const NET_RAW: u64 = 1 << 13;
const SYS_PTRACE: u64 = 1 << 19;
const SYS_ADMIN: u64 = 1 << 21;
const PERFMON: u64 = 1 << 38;
const BPF: u64 = 1 << 39;

/// A field of each thread's status.
fn fields(agent: &Agent, name: &str) -> Vec<u64> {
    let tasks = fs::read_dir(format!("/proc/{}/task", agent.pid())).unwrap();
    let field = |status: String| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let radix = if name.starts_with("Cap") { 16 } else { 10 };
        u64::from_str_radix(line.unwrap().trim(), radix).unwrap()
    };
    let statuses = tasks.map(|task| fs::read_to_string(task.unwrap().path().join("status")));
    statuses.filter_map(Result::ok).map(field).collect()
}

#[test]
fn an_agent_keeps_what_its_sources_need() {
    if !require::root("an_agent_keeps_what_its_sources_need") {
        return;
    }
    let settings = |calls: bool, packets: bool, processes: bool, rings: Option<&str>| {
        [
            format!("sources.calls={calls}"),
            format!("sources.packets={packets}"),
            format!("sources.processes={processes}"),
            format!("sources.profiles={}", rings.is_some()),
            format!("profiles.deep-on={}", rings.unwrap_or("[]")),
            "taps.interfaces=[\"nosuch0\"]".to_owned(),
        ]
    };
    let of_packets = BPF | PERFMON | NET_ADMIN | NET_RAW;
    let all = of_packets | SYS_ADMIN | SYS_PTRACE | DAC_READ_SEARCH;
    let of_rings = SYS_PTRACE | DAC_READ_SEARCH;
    let deep = Some("[\"hang\"]");
    for (calls, packets, processes, rings, kept) in [
        (true, true, true, Some("[]"), all),
        (false, true, false, None, of_packets),
        (false, false, false, None, 0),
        (false, false, false, Some("[]"), of_rings),
        (false, false, false, deep, of_rings | DAC_OVERRIDE),
    ] {
        let settings = settings(calls, packets, processes, rings);
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        let agent = Agent::begin(PROGRAM, &settings);
        for set in ["CapEff", "CapPrm", "CapBnd"] {
            let sets = fields(&agent, set);
            assert!(sets.iter().all(|set| set & !kept == 0), "{set}: {sets:x?}, not {kept:x}");
        }
        assert!(fields(&agent, "CapInh").iter().all(|set| *set == 0));
        assert!(fields(&agent, "CapAmb").iter().all(|set| *set == 0));
        assert!(fields(&agent, "NoNewPrivs").iter().all(|set| *set == 1));
        // SECCOMP_MODE_FILTER, in every thread.
        assert!(fields(&agent, "Seccomp").iter().all(|mode| *mode == 2));
        agent.stop();
    }
}
