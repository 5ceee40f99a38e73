//! Data over TCP that stands still: a process that takes none, and a port that nothing reaches.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use railscope_testbed::clock::eventually;
use serde_json::Value;

use crate::support::railscope::{PROGRAM, analyze};
use crate::support::require;

const SICK: &str = "2";

struct Job(Child);

impl Drop for Job {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

fn start(folder: &Path, bytes: &str) -> Job {
    let mut drive = Command::new(PROGRAM);
    drive.args(["drive", "--ranks", "4", "--place", "netns", "--socket-fallback"]);
    drive.args(["--iterations", "400", "--buckets", bytes, "--compute", "10ms", "-T", "6s"]);
    drive.arg("--record").arg(folder).stdout(Stdio::null()).stderr(Stdio::null());
    Job(drive.spawn().unwrap())
}

/// The process of a rank, by the variable that the driver sets.
fn process_of(rank: &str, parent: u32) -> Option<u32> {
    let threads = std::fs::read_dir(format!("/proc/{parent}/task")).ok()?;
    let children = threads
        .flatten()
        .filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    let children: Vec<String> = children.collect();
    children.iter().flat_map(|one| one.split_whitespace()).find_map(|pid| {
        let own = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
        let is_it =
            own.split(|byte| *byte == 0).any(|one| one == format!("RANK={rank}").as_bytes());
        is_it.then(|| pid.parse().ok())?
    })
}

/// The report on a job of which `break_it` breaks rank 2, by the process of the driver and of the rank.
fn broken(bytes: &str, break_it: impl Fn(u32, u32)) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let mut job = start(folder.path(), bytes);
    let data = folder.path().join("rank2.pcap");
    eventually("data is captured", || data.metadata().is_ok_and(|file| file.len() > 3_000_000));
    let mut pid = None;
    eventually("the rank runs", || {
        pid = process_of(SICK, job.0.id());
        pid.is_some()
    });
    break_it(job.0.id(), pid.unwrap());
    assert!(!job.0.wait().unwrap().success(), "the job goes on");
    let captures: Vec<_> =
        (0..4).map(|rank| folder.path().join(format!("rank{rank}.pcap"))).collect();
    analyze(&captures)
}

fn run(program: &str, arguments: &str) {
    let status = Command::new(program).args(arguments.split_whitespace()).status();
    assert!(status.unwrap().success(), "{program} {arguments}");
}

fn classes(report: &Value) -> (&str, Option<&str>, Option<u64>) {
    let verdict = &report["verdicts"][0];
    let rank = verdict["subject"]["rank"].as_u64();
    (verdict["id"].as_str().unwrap(), verdict["alternatives"][0].as_str(), rank)
}

fn cause(report: &Value) -> &Value {
    let findings = report["findings"].as_array().unwrap();
    &findings.iter().find(|one| one["id"] == "socket_stalled").unwrap()["cause"]
}

/// The class that is reported of rank 2, and no other rank, where the process of rank 2 is stopped. A
/// stop between two collectives leaves nothing to see: then it is tried again.
fn stopped(bytes: &str) -> (String, Option<String>) {
    for _ in 0..5 {
        let report = broken(bytes, |_, rank| run("kill", &format!("-STOP {rank}")));
        let (class, other, rank) = classes(&report);
        if class != "socket_fallback" {
            assert_eq!(rank, Some(2), "{:#}", report["verdicts"]);
            return (class.to_owned(), other.map(str::to_owned));
        }
    }
    panic!("no stop was seen");
}

/// Its kernel takes what is sent to it.
#[test]
fn a_stopped_process_sends_less_than_the_others() {
    if !require::root("a_stopped_process_sends_less_than_the_others") {
        return;
    }
    let (class, other) = stopped("2MiB");
    let all = [class, other.unwrap_or_default()];
    assert!(all.iter().any(|one| one == "process_stopped"), "{all:?}");
}

/// Its receive buffer may be full: then its window says so.
#[test]
fn a_process_that_takes_no_data_closes_its_window() {
    if !require::root("a_process_that_takes_no_data_closes_its_window") {
        return;
    }
    let (class, other) = stopped("64MiB");
    let all = [class, other.unwrap_or_default()];
    assert!(all.iter().any(|one| one == "socket_stalled" || one == "process_stopped"), "{all:?}");
}

#[test]
fn a_port_that_nothing_reaches_answers_no_data() {
    let test = "a_port_that_nothing_reaches_answers_no_data";
    if !require::root(test) || !require::has(test, "ip") {
        return;
    }
    let report = broken("2MiB", |driver, _| {
        let inside = format!("--target {driver} --net ip");
        // Out of the bridge.
        run("nsenter", &format!("{inside} link set rank2 nomaster"));
    });
    let (class, _, rank) = classes(&report);
    assert_eq!(class, "socket_stalled", "{:#}", report["verdicts"]);
    // Where only one connection had data under way, both its ends look alike.
    assert!([None, Some(2)].contains(&rank), "{:#}", report["verdicts"]);
    assert_eq!(cause(&report), "unanswered");
}
