//! `agent --check`: what each source could see, and what the settings ask for that cannot work.

use std::process::{Command, Output};

use railscope::agent::source::check::verdicts;
use railscope::config::SourceConfig;
use railscope::ingest::capability::Host;
use railscope_testbed::agent::Agent;
use railscope_testbed::clock::eventually;

use super::source::host::{ALL, host};
use crate::support::railscope::PROGRAM;
use crate::support::require;
use crate::support::tree::Tree;

/// Everything but counters is switched off.
const ONLY_COUNTERS: [&str; 3] =
    ["sources.packets=false", "sources.calls=false", "sources.processes=false"];

/// `agent --check` with these settings, without any capability.
fn check(test: &str, settings: &[&str]) -> Option<Output> {
    if !require::has(test, "setpriv") {
        return None;
    }
    let mut command = Command::new("setpriv");
    command.args(["--bounding-set=-all", "--inh-caps=-all", env!("CARGO_BIN_EXE_railscope")]);
    command.args(["agent", "--check"]);
    settings.iter().for_each(|setting| _ = command.args(["--set", setting]));
    Some(command.output().unwrap())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn listed(host: &Host) -> Vec<String> {
    verdicts(SourceConfig::default(), host).iter().map(ToString::to_string).collect()
}

#[test]
fn root_on_a_modern_host_runs_everything() {
    let listed = listed(&host(ALL, &[]));
    assert!(listed.iter().all(|line| line.ends_with(": yes")), "{listed:?}");
}

#[test]
fn without_any_capability_a_list_says_what_is_missing_and_what_works() {
    let expected = "\
packets via BPF (tc): no; CAP_BPF is missing, to load programs; CAP_NET_ADMIN is missing, to attach to interfaces; CAP_PERFMON is missing, to read packets where they lie
packets via packet sockets: no; CAP_NET_RAW is missing, to see others' packets
TCP connections of training processes: no; CAP_BPF is missing, to load programs; CAP_PERFMON is missing, to attach to functions and tracepoints
calls to libnccl and libibverbs: no; CAP_SYS_ADMIN is missing, to attach to functions of libraries
queue pairs as listed by the kernel: yes
NIC counters: yes
containers, pods and Slurm jobs of processes: yes; without CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH: environments of other users' processes are not read: Slurm's ranks and job names are not known
status of NCCL jobs that hang (RAS): yes
waits in rings of NCCL's profiler plugin: yes; without CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH: rings of other users' processes and in containers are not read";
    assert_eq!(listed(&host("0", &[])).join("\n"), expected);
}

/// Sources of one key are switched on together.
#[test]
fn sources_that_are_off_are_not_listed() {
    let only = |on: SourceConfig| {
        let all = verdicts(on, &host(ALL, &[])).into_iter().map(|verdict| verdict.sees);
        all.collect::<Vec<_>>()
    };
    let off = SourceConfig {
        packets: false,
        counters: false,
        calls: false,
        processes: false,
        ras: false,
        sflow: false,
        profiles: false,
    };
    assert_eq!(only(off), [""; 0]);
    assert_eq!(
        only(SourceConfig { profiles: true, ..off }),
        ["waits in rings of NCCL's profiler plugin"]
    );
    assert_eq!(only(SourceConfig { counters: true, ..off }), ["NIC counters"]);
    assert_eq!(only(SourceConfig { calls: true, ..off }), ["calls to libnccl and libibverbs"]);
    assert_eq!(only(SourceConfig { packets: true, ..off }).len(), 2);
    assert_eq!(only(SourceConfig { processes: true, ..off }).len(), 3);
    assert_eq!(only(SourceConfig { sflow: true, ..off }), ["what switches sample (sFlow)"]);
}

#[test]
fn a_check_fails_where_what_is_asked_for_cannot_work() {
    let test = "a_check_fails_where_what_is_asked_for_cannot_work";
    if !require::root(test) {
        return;
    }
    let Some(all) = check(test, &[]) else { return };
    let (said, complained) = (text(&all.stdout), text(&all.stderr));
    assert_eq!(all.status.code(), Some(1), "{said}{complained}");
    assert!(said.contains("packets via packet sockets: no; CAP_NET_RAW is missing"), "{said}");
    for key in ["sources.packets", "sources.calls", "sources.processes"] {
        assert!(complained.contains(&format!("error: {key}: ")), "{complained}");
    }
    // Counters are read by anybody, and nothing else is asked for.
    let counters = check(test, &ONLY_COUNTERS).unwrap();
    assert_eq!(counters.status.code(), Some(0), "{}", text(&counters.stderr));
    assert_eq!(text(&counters.stderr), "");
}

#[test]
fn without_a_source_that_sees_anything_it_is_never_ready() {
    let tree = Tree::new(["class/net/eth0/ifindex = 1"]);
    let sysfs = format!("host.sysfs={:?}", tree.root());
    let off = "sources.counters=false";
    for (setting, why) in [
        (sysfs.as_str(), "no source sees anything: counters (all): no RDMA device\n"),
        (off, "all sources are switched off\n"),
    ] {
        let agent = Agent::begin(PROGRAM, &[&ONLY_COUNTERS[..], &[setting]].concat());
        let expected = Some(("503".to_owned(), why.to_owned()));
        eventually("it says why", || agent.answer("/readyz") == expected);
    }
}
