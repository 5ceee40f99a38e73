//! Whole jobs over RoCEv2 in user space: tshark and an independent script count the same packets as
//! the job's truth.json.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::support::{require, tshark};

const RAILSCOPE: &str = env!("CARGO_BIN_EXE_railscope");

/// Payload bytes and messages with immediate data, by address and number of the receiving queue
/// pair.
type Received = BTreeMap<(String, u64), (u64, u64)>;

/// Runs a job of four ranks and records everything.
pub(super) fn recorded(folder: &Path, program: &[&str], options: &str) {
    let mut words = program.to_vec();
    words.extend(["drive", "--ranks", "4"]);
    words.extend(options.split(' '));
    let (program, arguments) = words.split_first().unwrap();
    let output = Command::new(program)
        .args(arguments)
        .args(["--record", folder.to_str().unwrap()])
        .output()
        .unwrap();
    let table = String::from_utf8_lossy(&output.stdout);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{table}");
    assert!(table.contains("# Out of bounds values : 0 OK"), "{table}");
}

pub(super) fn captures(folder: &Path) -> Vec<std::path::PathBuf> {
    (0..4).map(|rank| folder.join(format!("rank{rank}.pcap"))).collect()
}

pub(super) fn truth(folder: &Path, record: &str) -> Vec<Value> {
    let text = fs::read_to_string(folder.join("truth.jsonl")).unwrap();
    let records = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    records.filter(|value| value["record"] == record).collect()
}

/// The same from truth.json.
fn recorded_messages(folder: &Path) -> Received {
    let address_of = |rank: &Value| {
        let ranks = truth(folder, "rank");
        let found = ranks.iter().find(|record| record["rank"] == *rank).unwrap();
        found["data_address"].as_str().unwrap().to_owned()
    };
    let mut messages = Received::new();
    let mut queue_pair = BTreeMap::new();
    for link in truth(folder, "link") {
        let place = (link["rank"].as_u64(), link["channel"].as_u64());
        if link["role"] == "receiver" {
            let qpn = link["qpns"][0].as_u64().unwrap();
            queue_pair.insert(place, (address_of(&link["rank"]), qpn));
        }
    }
    for chunk in truth(folder, "ring_step") {
        if chunk["role"] == "receiver" {
            let place = (chunk["rank"].as_u64(), chunk["channel"].as_u64());
            let (bytes, count) = messages.entry(queue_pair[&place].clone()).or_default();
            let sizes = chunk["messages"].as_array().unwrap();
            *bytes += sizes.iter().filter_map(Value::as_u64).sum::<u64>();
            *count += sizes.len() as u64;
        }
    }
    messages
}

/// The same counted by tshark in these captures; no packet may be malformed.
fn counted(captures: &[std::path::PathBuf]) -> Received {
    let mut counted = Received::new();
    for (rank, capture) in captures.iter().enumerate() {
        let own = format!("10.0.0.{}", rank + 1);
        let mut open = BTreeMap::new();
        let names = [
            "ip.dst",
            "infiniband.bth.destqp",
            "infiniband.bth.opcode",
            "infiniband.reth.dmalen",
            "_ws.malformed",
        ];
        for row in tshark::fields(capture, &names) {
            let [to, qpn, opcode, length, malformed] = &row[..] else { panic!("{row:?}") };
            assert_eq!(malformed, "", "{}: {row:?}", capture.display());
            let (Some(qpn), Some(opcode)) = (tshark::number(qpn), tshark::number(opcode)) else {
                continue;
            };
            if *to != own {
                continue;
            }
            let key = (own.clone(), qpn);
            let length = tshark::number(length);
            // First, Last with immediate, Only with immediate: data. Writes without immediate are
            // clear-to-sends.
            match opcode {
                0x06 => drop(open.insert(qpn, length.unwrap())),
                0x09 | 0x0b => {
                    let bytes = length.unwrap_or_else(|| open.remove(&qpn).unwrap());
                    let (sum, messages) = counted.entry(key).or_default();
                    *sum += bytes;
                    *messages += 1;
                }
                _ => {}
            }
        }
    }
    counted
}

fn are_right(captures: &[std::path::PathBuf]) {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/icrc.py");
    let output = Command::new("python3").arg(script).args(captures).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().count(), captures.len());
    for line in text.lines() {
        let (checked, bad) = line.split_once(' ').unwrap();
        assert!(checked.parse::<u64>().unwrap() > 100 && bad == "0", "ICRCs: {line}");
    }
}

fn judge(folder: &Path) {
    let captures = captures(folder);
    let recorded = recorded_messages(folder);
    assert_eq!(recorded.len(), 8, "two channels on each of four ranks");
    assert_eq!(counted(&captures), recorded);
    are_right(&captures);
}

fn has_judges(test: &str) -> bool {
    require::has(test, "tshark") && require::has(test, "python3") && require::has(test, "ip")
}

// With `--mtu 1024`, the smallest job that sends First, Middle, Last and Only.
const JOB: &str = "--iterations 2 --buckets 256KiB,40000 --compute 5ms";

#[test]
fn packets_match_the_truth() {
    if !require::root("job") || !has_judges("job") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    recorded(folder.path(), &[RAILSCOPE], JOB);
    judge(folder.path());
}

#[test]
fn a_job_runs_without_root() {
    let mut unprivileged = Command::new("setpriv");
    let prefix = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    unprivileged.args(&prefix[1..]).args(["unshare", "--user", "--net", "true"]);
    if !require::root("unprivileged job")
        || !has_judges("unprivileged job")
        || !require::works("unprivileged job", &mut unprivileged, "a user namespace")
    {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::chown(folder.path(), Some(65534), Some(65534)).unwrap();
    // Other users may not read the suite's folder.
    let copy = folder.path().join("railscope");
    fs::copy(RAILSCOPE, &copy).unwrap();
    let options = format!("{JOB} --mtu 1024 --nccl-wire 2.21.5");
    let program = [&prefix[..], &[copy.to_str().unwrap()]].concat();
    recorded(folder.path(), &program, &options);
    judge(folder.path());
}

#[test]
fn a_job_survives_one_percent_loss() {
    if !require::root("lossy job") || !require::has("lossy job", "ip") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    recorded(folder.path(), &[RAILSCOPE], "-b 1M -e 1M -n 2 -w 0 --loss 1%");
    let lost = truth(folder.path(), "injected");
    assert!(lost.len() > 20, "{} packets were lost", lost.len());
}
