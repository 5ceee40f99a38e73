//! Jobs over NET/Socket: what railscope reads of their TCP against what the ranks recorded.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use super::job::{captures, recorded, truth};
use crate::support::require;

/// Records a job of four ranks over sockets; `None` where it cannot run. The folder lasts as long as the first
/// value.
fn job(test: &str, options: &str) -> Option<(TempDir, PathBuf)> {
    if !require::root(test) || !require::has(test, "ip") {
        return None;
    }
    let lasting = tempfile::tempdir().unwrap();
    let folder = lasting.path().join("job");
    let options = format!("--transport socket --iterations 12 {options}");
    recorded(&folder, &[env!("CARGO_BIN_EXE_railscope")], &options);
    Some((lasting, folder))
}

/// Analyses the captures of a job of four ranks.
fn analysed(folder: &Path) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_railscope"))
        .args(["analyze", "--format", "json", "--detail", "full"])
        .args(captures(folder))
        // Full detail includes a file of messages.
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Messages and bytes by sender, receiver and channel, as the senders recorded them.
fn sent(folder: &Path) -> BTreeMap<(u64, u64, u64), (u64, u64)> {
    let mut sent = BTreeMap::new();
    for chunk in truth(folder, "ring_step") {
        if chunk["role"] != "sender" {
            continue;
        }
        let [rank, channel] = [&chunk["rank"], &chunk["channel"]].map(|of| of.as_u64().unwrap());
        let (messages, bytes) = sent.entry((rank, (rank + 1) % 4, channel)).or_insert((0, 0));
        let sizes = chunk["messages"].as_array().unwrap();
        *messages += sizes.len() as u64;
        *bytes += sizes.iter().filter_map(Value::as_u64).sum::<u64>();
    }
    sent
}

/// The same, as railscope read it.
fn read(report: &Value) -> BTreeMap<(u64, u64, u64), (u64, u64)> {
    let of_communicators = report["communicators"].as_array().unwrap().iter();
    let connections = of_communicators.flat_map(|one| one["connections"].as_array().unwrap());
    let number = |one: &Value, name: &str| one[name].as_u64().unwrap_or_else(|| panic!("{one}"));
    connections
        .map(|one| {
            assert_eq!(one["grade"], "proven", "{one}");
            assert!(one["socket"]["src"].is_string(), "{one}");
            let edge = ["sender", "receiver", "channel"].map(|name| number(one, name));
            (edge.into(), (number(one, "messages"), number(one, "bytes")))
        })
        .collect()
}

/// The collectives by kind and size.
fn collectives(report: &Value) -> BTreeMap<(String, u64), usize> {
    let mut collectives = BTreeMap::new();
    for one in report["collectives"].as_array().unwrap() {
        let kind = one["kind"].as_str().unwrap().to_owned();
        *collectives.entry((kind, one["bytes"].as_u64().unwrap_or(0))).or_default() += 1;
    }
    collectives
}

/// The ranks with a straggler finding above `info`, and their causes.
fn stragglers(report: &Value) -> Vec<(u64, &str)> {
    let findings = report["findings"].as_array().unwrap().iter();
    let loud = findings.filter(|one| one["id"] == "straggler" && one["severity"] != "info");
    loud.map(|one| (one["subject"]["rank"].as_u64().unwrap(), one["cause"].as_str().unwrap()))
        .collect()
}

#[test]
fn a_job_over_sockets_is_read_and_none_of_its_paths_stands_out() {
    let Some((_job, folder)) = job(
        "a_job_over_sockets_is_read_and_none_of_its_paths_stands_out",
        "--buckets 1MiB,100000 --compute 30ms",
    ) else {
        return;
    };
    let report = analysed(&folder);
    assert_eq!(read(&report), sent(&folder));
    let expected = BTreeMap::from([
        (("all_reduce".to_owned(), 1 << 20), 13),
        (("all_reduce".to_owned(), 100_000), 13),
    ]);
    assert_eq!(collectives(&report), expected);
    assert_eq!(report["iterations"].as_array().unwrap().len(), 13);
    // A busy machine may hold up a rank, but not its TCP.
    assert!(stragglers(&report).iter().all(|(_, cause)| *cause == "sender"));
    assert_eq!(report["verdicts"][0]["id"], "socket_fallback");
    assert_eq!(report["health"]["link.sockets_unread"], Value::Null);
}

#[test]
fn a_slow_path_over_tcp_is_a_straggler_with_cause_socket() {
    let Some((_job, folder)) = job(
        "a_slow_path_over_tcp_is_a_straggler_with_cause_socket",
        "--buckets 1MiB --compute 30ms \
         --slow-socket edge=1-2,rate=80M",
    ) else {
        return;
    };
    let report = analysed(&folder);
    assert_eq!(read(&report), sent(&folder));
    assert!(stragglers(&report).contains(&(1, "socket")), "{:?}", stragglers(&report));
    assert!(stragglers(&report).iter().all(|one| *one == (1, "socket") || one.1 == "sender"));
    let findings = report["findings"].as_array().unwrap().iter();
    let is_it = |one: &Value| one["id"] == "straggler" && one["cause"] == "socket";
    let finding = findings.clone().find(|one| is_it(one)).unwrap();
    assert_eq!(finding["grade"], "inferred");
    assert_eq!(finding["subject"]["port"], "10.0.0.2");
    let evidence = finding["evidence"][0]["text"].as_str().unwrap();
    assert!(evidence.starts_with("connection rank 1 → rank 2: data took "), "{evidence}");
    // 768 KiB on each channel at 10 MB/s take 79 ms; the first bytes of a connection are not paced.
    let socket_ns = report["collectives"].as_array().unwrap().iter().filter_map(|one| {
        let straggler = &one["straggler"];
        (straggler["cause"] == "socket").then(|| straggler["lag_ns"].as_u64().unwrap())
    });
    let mut lags: Vec<u64> = socket_ns.collect();
    lags.sort_unstable();
    assert!(lags.len() >= 10, "{lags:?}");
    assert!((60_000_000..400_000_000).contains(&lags[lags.len() / 2]), "{lags:?}");
    let first = &report["verdicts"][0];
    assert_eq!(first["id"], "socket_fallback");
    let at = findings.clone().position(is_it);
    assert!(first["explains"].as_array().unwrap().contains(&Value::from(at)), "{first}");
}

#[test]
fn a_late_rank_of_a_job_over_sockets_is_named() {
    let Some((_job, folder)) = job(
        "a_late_rank_of_a_job_over_sockets_is_named",
        "--buckets 1MiB --compute 30ms \
         --straggler rank=2,delay=30ms",
    ) else {
        return;
    };
    let report = analysed(&folder);
    assert!(stragglers(&report).contains(&(2, "sender")), "{:?}", stragglers(&report));
}
