//! What the agent reports about calls, the privileges it needs, and that it leaves nothing behind.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use aya::programs::{loaded_links, loaded_programs};
use railscope_testbed::clock::{PATIENCE, eventually};
use railscope_testbed::http;
use serde_json::{Value, json};

use super::stage::{Stage, start};
use crate::support::require;

/// A running agent and its output.
pub(super) struct Agent {
    child: Child,
    said: Receiver<String>,
    heard: Vec<String>,
}

impl Agent {
    /// Starts it without packets and counters. `program` begins with the command that sets its
    /// privileges.
    pub(super) fn start(program: &[&str], settings: &[&str]) -> Self {
        let mut command = Command::new(program[0]);
        command.args(&program[1..]).arg("agent");
        let always = [
            "sources.packets=false",
            "sources.counters=false",
            "prometheus.listen=\"127.0.0.1:0\"",
            "otlp.interval=\"1s\"",
            "labels.rank=true",
        ];
        for set in always.iter().chain(settings) {
            command.args(["--set", set]);
        }
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let (sender, said) = channel();
        thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Self { child, said, heard: Vec::new() }
    }

    /// Waits for a line of output that contains these words.
    #[track_caller]
    pub(super) fn says(&mut self, words: &str) -> String {
        loop {
            if let Some(line) = self.heard.iter().find(|line| line.contains(words)) {
                return line.clone();
            }
            let line = self.said.recv_timeout(PATIENCE);
            self.heard
                .push(line.unwrap_or_else(|_| panic!("`{words}` is not in {:?}", self.heard)));
        }
    }

    /// A page; `None` if there is nothing to show yet.
    fn get(&mut self, path: &str) -> Option<String> {
        let line = self.says("metrics: http://");
        let address = line.rsplit("//").next().unwrap().strip_suffix("/metrics").unwrap();
        http::get(address.parse().unwrap(), path)
    }

    pub(super) fn metrics(&mut self) -> String {
        self.get("/metrics").unwrap()
    }

    /// The latest report; `null` before the first.
    fn report(&mut self) -> Value {
        self.get("/report.json").map_or(Value::Null, |text| serde_json::from_str(&text).unwrap())
    }

    fn signal(&self, signal: &str) {
        let status = Command::new("kill").args([signal, &self.child.id().to_string()]).status();
        assert!(status.unwrap().success());
    }

    /// Ids of the kernel objects (programs, links) that the agent holds open.
    fn held(&self, what: &str) -> BTreeSet<u32> {
        let infos = format!("/proc/{}/fdinfo", self.child.id());
        let entries = std::fs::read_dir(infos).unwrap();
        let texts = entries.filter_map(|entry| std::fs::read_to_string(entry.ok()?.path()).ok());
        let number = |text: String| {
            let line = text.lines().find_map(|line| line.strip_prefix(what)?.strip_prefix(':'))?;
            line.trim().parse().ok()
        };
        texts.filter_map(number).collect()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// The value of a series whose attributes contain these words.
pub(super) fn value(metrics: &str, name: &str, words: &[&str]) -> Option<f64> {
    let is_it =
        |line: &&str| line.starts_with(name) && words.iter().all(|word| line.contains(word));
    metrics.lines().find(is_it)?.rsplit(' ').next()?.parse().ok()
}

#[test]
fn an_agent_counts_calls_and_leaves_nothing_behind() {
    let test = "an_agent_counts_calls_and_leaves_nothing_behind";
    let Some(stage) = Stage::set(test) else { return };
    let mut agent = Agent::start(&[env!("CARGO_BIN_EXE_railscope")], &[]);
    agent.says("TCP connections of this host");
    let mut caller = start(&mut stage.caller());
    agent.says(&format!("calls of {} are seen: 43 functions", stage.library().display()));
    caller.stdin.take().unwrap().write_all(b"\n").unwrap();
    let pid = caller.id();
    assert!(caller.wait().unwrap().success());
    agent.says(&format!("rank 102 of 1101 is process {pid}"));

    // On the largest communicator, which was created last.
    let rank = "nccl_rank=\"114\"";
    let mut metrics = String::new();
    eventually("calls are counted", || {
        metrics = agent.metrics();
        value(&metrics, "nccl_call_count_total", &["\"all_reduce\"", rank]).is_some()
    });
    // Other tests may make calls too.
    let is_counted = |name: &str, call: &str, expected: f64| {
        let counted = value(&metrics, name, &[&format!("\"{call}\""), rank]);
        assert!(counted.is_some_and(|counted| counted >= expected), "{call}: {counted:?}");
    };
    is_counted("nccl_call_count_total", "broadcast", 2.0);
    is_counted("nccl_call_io_bytes_total", "all_reduce", 804.0);
    is_counted("nccl_call_io_bytes_total", "receive", 8.0 * (1_u64 << 40) as f64);
    for source in ["calls", "connections"] {
        let source = format!("railscope_source=\"{source}\"");
        assert_eq!(value(&metrics, "railscope_source_visible", &[&source]), Some(1.0), "{metrics}");
    }
    for program in ["call_entered", "call_returned", "connection_changed"] {
        let used = value(&metrics, "railscope_cpu_time_seconds_total", &[program]);
        // The cost of programs is measured only now and then.
        assert!(used.is_some_and(|used| used >= 0.0), "{program}: {used:?}");
    }

    let (programs, links) = (agent.held("prog_id"), agent.held("link_id"));
    let are_there = || {
        let is_program = loaded_programs().any(|one| programs.contains(&one.unwrap().id()));
        is_program || loaded_links().any(|one| links.contains(&one.unwrap().id()))
    };
    assert!(programs.len() >= 3 && links.len() >= 35, "{programs:?} {links:?}");
    assert!(are_there());
    agent.signal("-KILL");
    agent.child.wait().unwrap();
    eventually("the kernel programs are gone", || !are_there());
}

/// As on a host whose NIC bypasses the kernel: no packets, and still ranks and queue pairs.
#[test]
fn ranks_have_queue_pairs_without_packets() {
    let test = "ranks_have_queue_pairs_without_packets";
    let Some(stage) = Stage::set(test) else { return };
    let mut agent = Agent::start(&[env!("CARGO_BIN_EXE_railscope")], &[]);
    agent.says("metrics: http://");
    let mut rank = start(&mut stage.rank());
    agent.says(&format!("calls of {} are seen", stage.library().display()));
    rank.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
    agent.says(&format!("rank 2 of 4 is process {}", rank.id()));
    // Other tests may run ranks too.
    let own = |report: &Value| {
        let mut all = report["communicators"].as_array().unwrap().iter();
        all.find(|one| one["id"] == "7e5c3a1876543210").cloned()
    };
    let unseen = |report: &Value| {
        let mut all = report["findings"].as_array()?.iter();
        let is_own = |one: &Value| one["subject"]["communicator"] == "7e5c3a1876543210";
        all.find(|one| one["id"] == "rdma_not_visible" && is_own(one)).cloned()
    };
    let mut report = Value::Null;
    eventually("calls are reported without packets", || {
        report = agent.report();
        unseen(&report).is_some()
    });
    let communicator = own(&report).unwrap();
    let facts = ["id_kind", "nranks", "root", "transport", "grade"].map(|it| &communicator[it]);
    assert_eq!(json!(facts), json!(["magic", 4, "192.0.2.1:50000", "unknown", "proven"]));
    let ranks = communicator["ranks"].as_array().unwrap();
    let facts = ["rank", "pid", "host", "grade"].map(|it| &ranks[0][it]);
    let host = nix::unistd::gethostname().unwrap().into_string().unwrap();
    assert_eq!(json!(facts), json!([2, rank.id(), host, "proven"]));
    assert_eq!(ranks.len(), 1, "{ranks:?}");
    let pair = json!([{
        "device": null, "qpn": 0x1234, "remote_qpn": 0x5678, "remote_address": "198.51.100.3",
        "type": "RC", "state": "RTS", "grade": "inferred",
    }]);
    assert_eq!(ranks[0]["queue_pairs"], pair);
    let finding = unseen(&report).unwrap();
    let title = "RDMA is not visible: 1 queue pair of 1 rank in 7e5c3a1876543210, but no interface is \
                 tapped";
    assert_eq!(finding["title"], title);
    assert_eq!(finding["evidence"][0]["kind"], "call", "{finding}");

    drop(rank.stdin.take());
    assert!(rank.wait().unwrap().success());
    eventually("ended ranks are gone", || own(&agent.report()).is_none());
}

/// The agent as user 65534 with only these capabilities.
fn with_capabilities(program: &Path, capabilities: &[&str]) -> Agent {
    let only: Vec<_> = capabilities.iter().map(|name| format!("+{name}")).collect();
    let only = format!("-all,{}", only.join(","));
    let [inherited, ambient, bounding] =
        ["inh-caps", "ambient-caps", "bounding-set"].map(|name| format!("--{name}={only}"));
    let as_nobody = ["setpriv", "--reuid=65534", "--clear-groups"];
    let given = [inherited.as_str(), &ambient, &bounding, program.to_str().unwrap()];
    Agent::start(&[as_nobody.as_slice(), &given].concat(), &[])
}

#[test]
fn the_least_capabilities() {
    let test = "the_least_capabilities";
    if !require::root(test) || !require::has(test, "setpriv") {
        return;
    }
    let Some(stage) = Stage::set(test) else { return };
    // The target folder may be in a place that another user cannot enter.
    let open = Command::new("chmod").args(["-R", "a+rX"]).arg(stage.0.path()).status().unwrap();
    assert!(open.success());
    let program = stage.0.path().join("railscope");
    std::fs::copy(env!("CARGO_BIN_EXE_railscope"), &program).unwrap();
    let sees_library = format!("calls of {} are seen", stage.library().display());
    let mut caller = start(&mut stage.caller());

    let mut agent = with_capabilities(&program, &["sys_admin"]);
    agent.says(&sees_library);
    let mut agent = with_capabilities(&program, &["bpf", "perfmon", "sys_ptrace"]);
    agent.says("calls: load kernel programs: CAP_SYS_ADMIN is missing");
    for (others, left_out) in [("perfmon", "CAP_BPF"), ("bpf", "CAP_PERFMON")] {
        let mut agent = with_capabilities(&program, &[others]);
        agent.says(&format!("connections: load kernel programs: {left_out} is missing"));
    }
    // A mounted tracefs belongs to root.
    let mut agent =
        with_capabilities(&program, &["bpf", "perfmon", "sys_admin", "dac_read_search"]);
    agent.says("TCP connections of this host");
    caller.kill().unwrap();
    caller.wait().unwrap();
}
