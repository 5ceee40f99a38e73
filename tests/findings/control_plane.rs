//! What control plane packets show without logs: recorded jobs of NCCL, and one of the driver.

use std::fs;

use serde_json::Value;

use super::scene::{found, only};
use crate::cli::railscope_on;
use crate::support::recording::Recording;
use crate::support::skewed;

fn report_on(job: &Recording, arguments: &[&str]) -> Value {
    let all = [&["analyze", "--format", "json"], arguments].concat();
    serde_json::from_str(&railscope_on(job, &all).succeeds()).unwrap()
}

/// The report on a recorded job with a configuration.
fn configured(job: &Recording, config: &str) -> Value {
    fs::write(job.folder().join("config.toml"), config).unwrap();
    report_on(job, &["--config", "config.toml"])
}

#[test]
fn a_slow_bootstrap_names_the_rank_that_came_last() {
    let job = Recording::unpack("loss1pct-2.27.5");
    assert!(found(&report_on(&job, &[]), "bootstrap_slow").is_empty());
    let report = configured(&job, "[findings]\nslow_bootstrap_s = 0.1\n");
    let finding = only(&report, "bootstrap_slow");
    let last = &report["communicators"][0]["bootstrap"]["last_rank"];
    assert_eq!((last, &finding["subject"]["rank"]), (&2.into(), last));
    assert!(finding["title"].as_str().unwrap().contains("192.168.50.3 checked in last"));
    assert!(finding["evidence"][0]["frame"].is_u64(), "{finding}");
}

#[test]
fn a_rank_that_does_not_check_in_is_missed() {
    let job = Recording::unpack("loss1pct-2.27.5");
    let whole = report_on(&job, &[]);
    assert!(found(&whole, "bootstrap_incomplete").is_empty());
    // Everything up to the check-in before that of rank 2, and then each tap's last frame 6 s
    // later, to advance the time.
    let origin: i64 = whole["capture"]["origin_ns"].as_str().unwrap().parse().unwrap();
    let evidence = whole["communicators"][0]["ranks"][3]["evidence"].as_array().unwrap();
    let check_in = evidence.iter().find(|reason| reason["kind"] == "check_in").unwrap();
    let end = (origin + check_in["time_ns"].as_i64().unwrap() + 1) as u64;
    for capture in job.captures() {
        let path = job.folder().join(&capture);
        let mut pcap = fs::read(&path).unwrap();
        let last = *skewed::times(&pcap).last().unwrap();
        let is_management = capture.contains("eth0");
        skewed::retain(&mut pcap, |time, _| time < end || is_management && time == last);
        skewed::restamp(&mut pcap, |time| if time < end { time } else { end + 6_000_000_000 });
        fs::write(&path, pcap).unwrap();
    }
    let report = report_on(&job, &[]);
    let finding = only(&report, "bootstrap_incomplete");
    assert_eq!(
        (&finding["severity"], &finding["cause"], &finding["subject"]["rank"]),
        (&"critical".into(), &"missing_ranks".into(), &2.into())
    );
    assert!(
        finding["title"].as_str().unwrap().contains("rank 2 of 4 did not check in"),
        "{finding}"
    );
}

#[test]
fn addresses_that_were_not_expected() {
    let job = Recording::unpack("ranks2-2.27.5");
    let report = configured(&job, "[expect]\nbootstrap_cidr = \"10.0.0.0/8\"\n");
    for finding in found(&report, "unexpected_network") {
        assert_eq!(finding["cause"], "bootstrap");
        assert!(finding["evidence"][0]["frame"].is_u64(), "{finding}");
    }
    assert_eq!(found(&report, "unexpected_network").len(), 2, "{:#}", report["findings"]);
    let report = configured(&job, "[expect]\nbootstrap_cidr = \"192.168.50.0/24\"\n");
    assert!(found(&report, "unexpected_network").is_empty());
}

#[cfg(target_os = "linux")]
#[test]
fn data_on_tcp_is_found_from_packets_alone() {
    use super::scene::bad;
    use crate::support::railscope::analyze;
    use crate::support::require;

    let test = "data_on_tcp_is_found_from_packets_alone";
    if !require::root(test) || !require::has(test, "ip") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut drive = std::process::Command::new(env!("CARGO_BIN_EXE_railscope"));
    drive.args(["drive", "--ranks", "3", "--iterations", "2", "--buckets", "256KiB"]);
    drive.args(["--compute", "5ms", "--socket-fallback", "--record"]).arg(folder.path());
    let output = drive.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let captures = [0, 1, 2].map(|rank| folder.path().join(format!("rank{rank}.pcap")));
    let report = analyze(&captures);
    let finding = only(&report, "socket_fallback");
    assert_eq!(finding["severity"], "critical");
    assert!(finding["evidence"][0]["frame"].is_u64(), "{finding}");
    assert_eq!(finding["subject"]["communicator"], report["communicators"][0]["id"]);
    // On a busy machine a rank may be late in truth.
    let bad: Vec<String> =
        bad(&report).into_iter().filter(|one| !one.starts_with("\"straggler\"")).collect();
    assert_eq!(bad.len(), 1, "{bad:?}");
    // The log of a rank that chose RDMA.
    for log in fs::read_dir(folder.path().join("logs")).unwrap() {
        let path = log.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains("Using network Socket"), "{text}");
        let kept = text.lines().filter(|line| !line.contains("plugin Socket"));
        let text: Vec<String> =
            kept.map(|line| line.replace("network Socket", "network IB") + "\n").collect();
        fs::write(&path, text.concat()).unwrap();
    }
    let mut files = vec![std::path::PathBuf::from("--nccl-log")];
    files.push(folder.path().join("logs/*"));
    files.extend(captures);
    let report = analyze(&files);
    assert_eq!(only(&report, "sources_disagree")["cause"], "socket_data");
    only(&report, "socket_fallback");
}
