//! Data over TCP that stands still: a process that takes none, and a port that nothing reaches.

use std::path::Path;

use railscope_testbed::broken::{BrokenJob, Fault, PROGRAMS};
use serde_json::Value;

use crate::support::railscope::{PROGRAM, analyze};
use crate::support::require;

/// The report on a job that a fault of rank 2 breaks.
fn broken(bytes: &str, fault: Fault) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let options = format!(
        "--ranks 4 --socket-fallback --iterations 400 --buckets {bytes} --compute 10ms -T 6s"
    );
    let options: Vec<String> = options.split_whitespace().map(str::to_owned).collect();
    let job = BrokenJob::start(Path::new(PROGRAM), &options, folder.path());
    job.break_it(4, 3_000_000, fault);
    assert!(!job.wait(), "the job goes on");
    let captures: Vec<_> =
        (0..4).map(|rank| folder.path().join(format!("rank{rank}.pcap"))).collect();
    analyze(&captures)
}

/// Whether jobs can be broken here.
fn can_break(test: &str) -> bool {
    require::root(test) && PROGRAMS.iter().all(|program| require::has(test, program))
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
        let report = broken(bytes, Fault::Stopped { rank: 2 });
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
    if !can_break("a_stopped_process_sends_less_than_the_others") {
        return;
    }
    let (class, other) = stopped("2MiB");
    let all = [class, other.unwrap_or_default()];
    assert!(all.iter().any(|one| one == "process_stopped"), "{all:?}");
}

/// Its receive buffer may be full: then its window says so.
#[test]
fn a_process_that_takes_no_data_closes_its_window() {
    if !can_break("a_process_that_takes_no_data_closes_its_window") {
        return;
    }
    let (class, other) = stopped("64MiB");
    let all = [class, other.unwrap_or_default()];
    assert!(all.iter().any(|one| one == "socket_stalled" || one == "process_stopped"), "{all:?}");
}

#[test]
fn a_port_that_nothing_reaches_answers_no_data() {
    if !can_break("a_port_that_nothing_reaches_answers_no_data") {
        return;
    }
    let report = broken("2MiB", Fault::Unplugged { rank: 2 });
    let (class, _, rank) = classes(&report);
    assert_eq!(class, "socket_stalled", "{:#}", report["verdicts"]);
    // Where only one connection had data under way, both its ends look alike.
    assert!([None, Some(2)].contains(&rank), "{:#}", report["verdicts"]);
    assert_eq!(cause(&report), "unanswered");
}

#[test]
fn a_path_that_drops_all_names_neither_end() {
    if !can_break("a_path_that_drops_all_names_neither_end") {
        return;
    }
    let report = broken("2MiB", Fault::Dropped { from: 2, to: 3 });
    let (class, _, rank) = classes(&report);
    assert_eq!(class, "socket_stalled", "{:#}", report["verdicts"]);
    assert_eq!(rank, None, "{:#}", report["verdicts"]);
    assert_eq!(cause(&report), "unanswered");
}
