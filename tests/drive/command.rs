//! `railscope drive` as a user runs it: tables, exits, errors.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::support::require;

/// A sweep that takes a while, with a row now and then.
const LONG: [&str; 8] = ["-b", "1M", "-e", "64M", "-i", "1M", "-n", "20"];

/// Environment variables.
type Variables<'a> = &'a [(&'a str, &'a str)];

fn drive(options: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_railscope"));
    command.arg("drive").args(options);
    // The suite's own launcher must not count as the job's.
    for name in ["RANK", "WORLD_SIZE", "LOCAL_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"] {
        command.env_remove(name);
    }
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The error of a command that must fail.
fn refused(options: &[&str], environment: Variables<'_>) -> String {
    let output = drive(options).envs(environment.iter().copied()).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{options:?}: {}", text(&output.stdout));
    text(&output.stderr)
}

#[test]
fn what_cannot_be_is_refused_with_the_way_out() {
    let cases: [(&[&str], &str); 16] = [
        (&[], "--ranks 4 starts four ranks on this machine"),
        (&["--ranks", "1"], "--ranks 1: choose from 2 to 200"),
        (&["--ranks", "1000"], "choose from 2 to 200"),
        (&["--ranks", "2", "-b", "1Q"], "'--minbytes <SIZE>': `1Q` is not a size; write 8, 4K"),
        (&["--ranks", "2", "-b", "1M", "-e", "8"], "-b 1048576 is larger than -e 8"),
        (&["--ranks", "2", "-b", "1", "-e", "1G", "-i", "1"], "choose a larger -i, or -f 2"),
        (&["--ranks", "2", "-d", "half"], "[possible values: int32, float, double]"),
        (&["--ranks", "2", "-o", "avg"], "[possible values: sum, prod, min, max]"),
        (&["--ranks", "2", "-b", "8", "--iterations", "3"], "cannot be used with"),
        (&["--ranks", "2", "--nccl-wire", "2.4.8"], "speaks NCCL 2.21.5 and 2.27.7"),
        (&["--ranks", "2", "--loss", "1%", "--transport", "socket"], "tc qdisc add dev INTERFACE"),
        (&["--ranks", "4", "--loss", "edge=0-2,share=1%"], "not neighbours in the ring"),
        (&["--ranks", "2", "--straggler", "rank=1,delay=3ms"], "add --iterations 20"),
        (
            &[
                "--ranks",
                "2",
                "--iterations",
                "3",
                "--straggler",
                "rank=1,delay=3ms,iterations=2..3",
            ],
            "the last step of --iterations 3 is 2",
        ),
        (&["--ranks", "2", "--missing-rank", "2"], "--missing-rank: there is no rank 2"),
        (
            &["--ranks", "2", "--transport", "verbs", "--place", "netns"],
            if cfg!(feature = "verbs") { "--place host" } else { "built without it" },
        ),
    ];
    for (options, said) in cases {
        let error = refused(options, &[]);
        assert!(error.contains(said), "{options:?}: {error}");
    }
}

#[test]
fn the_environment_is_checked_as_well() {
    let cases: [(&[&str], Variables<'_>, &str); 4] = [
        (
            &["--ranks", "2"],
            &[("NCCL_IB_TC", "300")],
            "NCCL_IB_TC=300: set it to a number from 0 to 255",
        ),
        (&["--ranks", "2"], &[("MASTER_PORT", "no")], "MASTER_PORT=no"),
        (&[], &[("RANK", "0"), ("WORLD_SIZE", "2")], "MASTER_ADDR is not set"),
        (
            &[],
            &[
                ("RANK", "0"),
                ("WORLD_SIZE", "2"),
                ("MASTER_ADDR", "127.0.0.1"),
                ("NCCL_SOCKET_IFNAME", "nosuch"),
            ],
            "NCCL_SOCKET_IFNAME=nosuch matches no interface",
        ),
    ];
    for (options, environment, said) in cases {
        let error = refused(options, environment);
        assert!(error.contains(said), "{environment:?}: {error}");
    }
}

/// A job on loopback addresses, which needs no privilege; each test has its own port.
fn loopback(options: &[&str], port: u16) -> Command {
    let mut command = drive(&["--ranks", "3", "--place", "loopback", "--transport", "socket"]);
    command.args(options).env("MASTER_PORT", port.to_string());
    command
}

fn ran(output: &Output) -> String {
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn a_sweep_on_loopback_writes_table_document_and_truth() {
    let folder = tempfile::tempdir().unwrap();
    let (json, truth) = (folder.path().join("t.json"), folder.path().join("new/t.jsonl"));
    let mut command = loopback(&["-b", "4K", "-e", "64K", "-f", "4", "-n", "3"], 29511);
    command.arg("--json").arg(&json).arg("--truth").arg(&truth);
    let table = ran(&command.output().unwrap());
    let rows = table.lines().filter(|line| !line.starts_with('#'));
    let sizes: Vec<_> = rows.map(|row| row.split_whitespace().next().unwrap()).collect();
    assert_eq!(sizes, ["4096", "16384", "65536"]);
    assert!(table.contains("# Out of bounds values : 0 OK"), "{table}");
    assert!(table.contains("# Place: loopback addresses"), "{table}");

    let document: Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
    assert_eq!(document["ended"], "done");
    assert_eq!(document["results"].as_array().unwrap().len(), 3);
    let truth = fs::read_to_string(truth).unwrap();
    let records: Vec<Value> =
        truth.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(records[0]["schema"], "railscope.truth/1");
    let ranks = records.iter().filter(|record| record["record"] == "rank");
    assert_eq!(ranks.count(), 3);
    assert_eq!(records.iter().filter(|record| record["record"] == "job").count(), 1);
}

/// A running job, its children, and its output from the first row on.
struct Running {
    parent: Child,
    ranks: Vec<u32>,
    stdout: BufReader<ChildStdout>,
}

/// Starts a job and waits for a row.
fn running(port: u16) -> Running {
    let mut command = loopback(&LONG, port);
    let mut parent = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdout = BufReader::new(parent.stdout.take().unwrap());
    let mut line = String::from("#");
    while line.starts_with('#') {
        line.clear();
        assert_ne!(stdout.read_line(&mut line).unwrap(), 0, "{:?}", parent.wait_with_output());
    }
    let ranks = children(parent.id());
    assert_eq!(ranks.len(), 3);
    Running { parent, ranks, stdout }
}

/// Children of `parent`.
fn children(parent: u32) -> Vec<u32> {
    let processes = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let pid: u32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The process name, in parentheses, may contain anything.
        let parent: u32 = stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()?;
        Some((parent, pid))
    });
    processes.filter(|(of, _)| *of == parent).map(|(_, pid)| pid).collect()
}

/// Whether a process runs; a zombie does not.
fn runs(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with(['Z', 'X']))
}

fn signal(pid: u32, signal: Signal) {
    kill(Pid::from_raw(pid.try_into().unwrap()), signal).unwrap();
}

#[expect(clippy::disallowed_methods, reason = "measures how long a job takes to end")]
fn now() -> Instant {
    Instant::now()
}

/// Waits for the end; returns the exit code, the rest of the output, and the errors.
fn ended(mut job: Running) -> (Option<i32>, String, String) {
    let began = now();
    let mut rest = String::new();
    job.stdout.read_to_string(&mut rest).unwrap();
    let output = job.parent.wait_with_output().unwrap();
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    assert!(!job.ranks.iter().any(|&rank| runs(rank)), "a rank outlived its parent");
    (output.status.code(), rest, text(&output.stderr))
}

#[test]
fn ctrl_c_prints_the_report_so_far() {
    let job = running(29512);
    signal(job.parent.id(), Signal::SIGINT);
    let (code, rest, _) = ended(job);
    assert_eq!(code, Some(130));
    assert!(rest.contains("# Interrupted"), "{rest}");
    assert!(rest.contains("# Avg bus bandwidth"), "{rest}");
}

#[test]
fn a_rank_that_is_killed_ends_all() {
    let job = running(29513);
    signal(job.ranks[1], Signal::SIGKILL);
    let (code, rest, error) = ended(job);
    assert_eq!(code, Some(2));
    assert!(error.contains("was killed by SIGKILL; all ranks were stopped"), "{error}");
    assert!(!rest.contains("Avg bus bandwidth"), "{rest}");
}

#[test]
fn no_rank_outlives_its_parent() {
    let mut job = running(29514);
    signal(job.parent.id(), Signal::SIGKILL);
    job.parent.wait().unwrap();
    let began = now();
    while job.ranks.iter().any(|&rank| runs(rank)) {
        assert!(began.elapsed() < Duration::from_secs(1), "a rank outlived its parent");
        thread::yield_now();
    }
}

#[test]
fn a_port_in_use_ends_all() {
    let taken = std::net::TcpListener::bind(("127.0.0.2", 0)).unwrap();
    let port = taken.local_addr().unwrap().port();
    let began = now();
    let output = loopback(&LONG, port).output().unwrap();
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    assert_eq!(output.status.code(), Some(2));
    let error = text(&output.stderr);
    assert!(error.contains("rank 0 gave up"), "{error}");
    assert!(error.contains(&format!("127.0.0.2:{port}")), "{error}");
    assert!(error.contains("in use") && error.contains("MASTER_PORT"), "{error}");
}

#[test]
fn a_missing_rank_is_reported() {
    let options = ["-b", "4K", "-e", "4K", "--missing-rank", "1", "--timeout", "1s"];
    let output = loopback(&options, 29516).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stdout));
    let error = text(&output.stderr);
    assert!(error.contains("rank 0 gave up: 1 of 3 ranks"), "{error}");
}

/// As root: one namespace per rank, removed at the end, and one capture per port.
#[test]
fn root_has_a_namespace_and_a_capture_per_rank() {
    let test = "root_has_a_namespace_and_a_capture_per_rank";
    if !require::root(test) || !require::has(test, "ip") || !require::has(test, "tcpdump") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut command = drive(&["--ranks", "3", "-b", "64K", "-e", "64K", "-n", "2"]);
    command.arg("--capture").arg(folder.path());
    let table = ran(&command.output().unwrap());
    assert!(table.contains("# Place: a network namespace per rank"), "{table}");
    assert!(table.contains("on gpu-node-03 device  0"), "{table}");
    for rank in 0..3 {
        let file = folder.path().join(format!("rank{rank}.pcap"));
        let shown = Command::new("tcpdump").arg("-nnr").arg(&file).output().unwrap();
        let shown = ran(&shown);
        // No IPv6 packet at all: the port carries only the job's traffic.
        assert!(!shown.contains("IP6"), "{shown}");
        let address = format!("10.0.0.{}.", rank + 1);
        assert!(shown.lines().any(|line| line.contains(&address)), "{shown}");
    }
    let links = Command::new("ip").args(["-br", "link"]).output().unwrap();
    assert!(!ran(&links).contains("rank0"), "links remain");
}

/// The same without privileges, in a user namespace.
#[test]
fn anyone_has_a_namespace_per_rank() {
    let test = "anyone_has_a_namespace_per_rank";
    if !require::root(test) || !require::has(test, "ip") || !require::has(test, "setpriv") {
        return;
    }
    let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups"];
    let mut probe = Command::new("setpriv");
    probe.args(nobody).args(["unshare", "-Urn", "true"]);
    if !require::works(test, &mut probe, "a user namespace for nobody") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("railscope");
    fs::copy(env!("CARGO_BIN_EXE_railscope"), &program).unwrap();
    fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777))
        .unwrap();
    let mut command = Command::new("setpriv");
    command.args(nobody).arg(program).args(["drive", "--ranks", "3", "-b", "64K", "-e", "64K"]);
    command.args(["-n", "2", "--capture"]).arg(folder.path().join("captures"));
    let table = ran(&command.current_dir("/").output().unwrap());
    assert!(table.contains("in a user namespace"), "{table}");
    assert!(table.contains("# Out of bounds values : 0 OK"), "{table}");
    assert!(fs::metadata(folder.path().join("captures/rank2.pcap")).unwrap().len() > 1000);
}

/// torchrun's variables turn a process into one rank; rank 0 shows the results of all.
#[test]
fn a_launcher_makes_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let truth = folder.path().join("truth.jsonl");
    let start = |rank: &str| {
        let mut command = drive(&["--transport", "socket", "-b", "4K", "-e", "8K", "-f", "2"]);
        command.args(["-n", "2", "--truth"]).arg(&truth);
        command.envs([("RANK", rank), ("WORLD_SIZE", "2"), ("LOCAL_RANK", rank)]);
        command.envs([("MASTER_ADDR", "127.0.0.1"), ("MASTER_PORT", "29517")]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let (first, second) = (start("0"), start("1"));
    let table = ran(&first.wait_with_output().unwrap());
    let nothing = ran(&second.wait_with_output().unwrap());
    assert_eq!(nothing, "");
    let rows: Vec<&str> = table.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(rows.len(), 2, "{table}");
    assert!(table.contains("#  Rank  1 "), "{table}");
    for rank in 0..2 {
        let truth = fs::read_to_string(folder.path().join(format!("truth.rank{rank}.jsonl")));
        assert!(truth.unwrap().starts_with(r#"{"record":"job""#));
    }
}
