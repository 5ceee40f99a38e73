//! A job that runs again on the same hosts, with the same queue pair numbers, sequence numbers and
//! addresses, is healthy each time.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::cli::railscope;

/// Bytes of a pcap file before its first frame.
const FILE_HEADER: usize = 24;

/// Three runs of one job, with frames cut at `snaplen`; one capture a rank.
fn three_runs(folder: &Path, snaplen: &str) -> Vec<String> {
    let mut captures = vec![Vec::new(); 3];
    for run in 0..3 {
        let record = folder.join(format!("run{run}"));
        let output = Command::new(env!("CARGO_BIN_EXE_railscope"))
            .args(["drive", "--ranks", "3", "--seed", "7"])
            .args(["--iterations", "12", "--buckets", "512KiB,128KiB", "--compute", "8ms"])
            .args(["--snaplen", snaplen, "--record", record.to_str().unwrap()])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        for (rank, capture) in captures.iter_mut().enumerate() {
            let frames = fs::read(record.join(format!("rank{rank}.pcap"))).unwrap();
            let skipped = if run == 0 { 0 } else { FILE_HEADER };
            capture.extend_from_slice(&frames[skipped..]);
        }
    }
    let write = |(rank, capture): (usize, Vec<u8>)| {
        let path = folder.join(format!("rank{rank}.pcap"));
        fs::write(&path, capture).unwrap();
        path.to_str().unwrap().to_owned()
    };
    captures.into_iter().enumerate().map(write).collect()
}

fn is_healthy_three_times(snaplen: &str) {
    let folder = tempfile::tempdir().unwrap();
    let captures = three_runs(folder.path(), snaplen);
    let arguments = ["analyze", "--format", "json"].map(str::to_owned);
    let text = railscope(arguments.into_iter().chain(captures)).succeeds();
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["communicators"].as_array().unwrap().len(), 3);
    let mut bad = super::job::problems(&report);
    // Three ranks that share two busy cores are late in truth.
    bad.retain(|verdict| verdict["id"] != "late_rank");
    assert_eq!(bad, [&Value::Null; 0]);
    let resent = report["queue_pairs"].as_array().unwrap().iter();
    assert_eq!(resent.filter(|pair| pair["retransmitted_packets"] != 0).count(), 0);
}

#[test]
fn a_job_that_runs_again_is_healthy() {
    is_healthy_three_times("65535");
}

#[test]
fn a_job_that_runs_again_is_healthy_though_no_bootstrap_can_be_read() {
    is_healthy_three_times("144");
}
