//! Links, paths and taps that fail for a while, in virtual time.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use super::job::{analyze, problems, simulate};

const HOSTS: u32 = 4;

/// Four hosts in a ring, on two leaves, and where their captures are.
fn simulated(job: &str, faults: &str) -> (TempDir, PathBuf) {
    let scenario = format!(
        "title = \"outages\"\nseed = 21\n[fabric]\nhosts = {HOSTS}\nhosts_per_leaf = 2\n\
         [capture]\npause_frames = false\n[[job]]\njitter = \"100us\"\ncpu = \"ahead\"\n\
         buckets = [\"512KiB\", \"256KiB\"]\n{job}\n{faults}"
    );
    let folder = tempfile::tempdir().unwrap();
    let job = simulate(folder.path(), &scenario);
    (folder, job)
}

fn report(job: &Path, hosts: &[u32], counters: Option<&str>) -> Value {
    let captures = hosts.iter().map(|host| format!("host{host}.pcapng"));
    let counters = counters.map(|name| job.join(name).to_str().unwrap().to_owned());
    let mut options = vec!["--format", "json"];
    options.extend(counters.iter().flat_map(|path| ["--counters", path.as_str()]));
    serde_json::from_str(&analyze(job, captures, &options)).unwrap()
}

/// Class, port and direction of the verdicts that something is wrong.
fn said(report: &Value) -> Vec<[String; 3]> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let one = |verdict: &Value| {
        let subject = &verdict["subject"];
        [&verdict["id"], &subject["port"], &subject["direction"]].map(text)
    };
    problems(report).into_iter().map(one).collect()
}

const ALL: [u32; 4] = [0, 1, 2, 3];
const HOST_2_IS_DOWN: [[&str; 3]; 1] = [["port_down", "10.0.0.3", "both"]];

/// With a timer of half a second, an outage of 800 ms is over before it expires again.
#[test]
fn an_outage_in_which_each_timer_expires_once() {
    let flap = "[[flap]]\nport = \"host2\"\nfrom = \"100ms\"\nuntil = \"900ms\"\n";
    let job = "iterations = 14\nib_timeout = 17\ncompute = \"6ms\"";
    let (_folder, job) = simulated(job, flap);
    let counted = report(&job, &ALL, Some("counters.jsonl"));
    assert_eq!(said(&counted), HOST_2_IS_DOWN);
    assert_eq!(problems(&counted)[0]["grade"], "proven");
    assert_eq!(said(&report(&job, &ALL, None)), HOST_2_IS_DOWN, "by packets alone");
}

/// The link of host0 flaps; six seconds later packets towards host2 die. Its counter is no evidence
/// for that.
#[test]
fn a_link_that_went_down_long_before_is_another_outage() {
    let faults = "[[flap]]\nport = \"host0\"\nfrom = \"1000ms\"\nuntil = \"1100ms\"\n\
                  [[loss]]\nport = \"leaf1:host2\"\nshare = \"100%\"\nfrom = \"7300ms\"\n\
                  until = \"7400ms\"\n";
    let job = "iterations = 90\nib_timeout = 12\ncompute = \"90ms\"";
    let (_folder, job) = simulated(job, faults);
    let mut places = said(&report(&job, &ALL, Some("counters.jsonl")));
    places.sort();
    let expected = [["port_down", "10.0.0.1", "both"], ["port_down", "10.0.0.3", "towards"]];
    assert_eq!(places, expected);
}

/// The capture of host3 stops before host2's link flaps: what is sent to host3 then arrives at no tap,
/// and still its port is well.
#[test]
fn a_tap_that_was_off_is_no_dead_port() {
    let flap = "[[flap]]\nport = \"host2\"\nfrom = \"300ms\"\nuntil = \"400ms\"\n";
    let job = "iterations = 40\nib_timeout = 12\ncompute = \"12ms\"";
    let (_folder, job) = simulated(job, flap);
    stop_early(&job.join("host3.pcapng"));
    assert_eq!(said(&report(&job, &ALL, None)), HOST_2_IS_DOWN);
}

/// Only two of four hosts were captured: the network between the others is not cleared.
#[test]
fn hosts_that_no_tap_saw_are_not_cleared() {
    let job = "iterations = 14\nib_timeout = 12\ncompute = \"6ms\"";
    let (_folder, job) = simulated(job, "");
    let ids = |hosts: &[u32]| -> Vec<String> {
        let report = report(&job, hosts, None);
        let verdicts = report["verdicts"].as_array().unwrap();
        verdicts.iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect()
    };
    assert!(ids(&ALL).contains(&"network_not_the_cause".to_owned()));
    assert!(!ids(&[0, 1]).contains(&"network_not_the_cause".to_owned()));
}

/// Keeps the first third of a pcapng file's blocks (type, length, body, length again).
fn stop_early(capture: &Path) {
    let bytes = fs::read(capture).unwrap();
    let mut ends = vec![0];
    while let Some(length) = bytes.get(ends[ends.len() - 1] + 4..ends[ends.len() - 1] + 8) {
        let length = u32::from_le_bytes(length.try_into().unwrap()) as usize;
        ends.push(ends[ends.len() - 1] + length);
    }
    fs::write(capture, &bytes[..ends[ends.len() / 3]]).unwrap();
}

/// The capture of the sender alone: packets are lost now and then, and timers expire several times,
/// but nothing is dead.
#[test]
fn loss_at_one_tap_is_no_outage() {
    let loss = "[[loss]]\nport = \"leaf1:host2\"\nshare = \"4%\"\n";
    let job = "iterations = 20\nib_timeout = 8\ncompute = \"6ms\"";
    let (_folder, job) = simulated(job, loss);
    for host in [1, 2, 3] {
        let said = said(&report(&job, &[host], None));
        let is_dead = |one: &[String; 3]| ["port_down", "path_dead"].contains(&one[0].as_str());
        assert!(!said.iter().any(is_dead), "host{host}: {said:?}");
    }
}

/// The link is down before the first data is sent, so no answer was ever seen, and the job ends with
/// that.
#[test]
fn a_port_that_was_dead_from_the_start() {
    let flap = "[[flap]]\nport = \"host0\"\nfrom = \"100ms\"\nuntil = \"300ms\"\n";
    let job = "iterations = 4\nib_timeout = 12\ncompute = \"90ms\"";
    let (_folder, job) = simulated(job, flap);
    let report = report(&job, &ALL, None);
    let [class, port, _] = &said(&report)[0];
    assert_eq!(
        (class.as_str(), port.as_str()),
        ("port_down", "10.0.0.1"),
        "{}",
        report["verdicts"]
    );
    assert_eq!(report["verdicts"][0]["severity"], "critical");
}

/// Packets die at `port`, and captures end before a timer of `NCCL_IB_TIMEOUT=20` expires. Another program's packets
/// go on, so that captures do not end with the job.
fn before_any_timer(port: &str) -> (TempDir, PathBuf) {
    let others = "[[background]]\nsender = \"host1\"\nreceiver = \"host2\"\nrate = \"1M\"\n\
                  [[background]]\nsender = \"host2\"\nreceiver = \"host1\"\nrate = \"1M\"\n";
    let loss = format!("[[loss]]\nport = \"{port}\"\nshare = \"100%\"\nfrom = \"150ms\"\n");
    simulated("iterations = 400\nib_timeout = 20\ncompute = \"6ms\"", &(loss + others))
}

fn said_by(job: &Path, hosts: &[u32]) -> Vec<[String; 3]> {
    let captures = hosts.iter().map(|host| format!("host{host}.pcapng"));
    let options = ["--until", "1900ms", "--format", "json"];
    said(&serde_json::from_str(&analyze(job, captures, &options)).unwrap())
}

/// Clear-to-sends are lost with the data: no sender is seen to be asked for more.
#[test]
fn packets_that_wait_for_an_ack_to_the_end_show_a_dead_port() {
    for (port, direction) in [("leaf1:host2", "towards"), ("host2", "from")] {
        let (_folder, job) = before_any_timer(port);
        assert_eq!(said_by(&job, &ALL), [["port_down", "10.0.0.3", direction]], "{port}");
    }
}

/// Host2 sends to host3, which sends to host0. What host2 itself lacks is not known.
#[test]
fn a_rank_that_waits_for_one_that_was_not_captured_is_not_blamed() {
    let (_folder, job) = before_any_timer("host2");
    let said = said_by(&job, &[3, 0]);
    assert!(!said.iter().any(|[class, ..]| class == "gpu_stuck"), "{said:?}");
}
