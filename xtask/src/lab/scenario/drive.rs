//! railscope's own driver over soft-RoCE: its sums are right, its packets are as asked for, and
//! railscope finds in them what the driver says it did, as it does with real NCCL.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::Scenario;
use crate::lab::facts::Facts;
use crate::lab::qdisc;
use crate::score;

pub(super) const SCENARIO: Scenario = Scenario {
    name: "drive",
    about: "railscope drive --transport verbs: 1 and 2 queue pairs, a straggler, loss",
    limit: 420,
    needs_verbs: true,
    check,
};

const RANKS: u32 = 4;
const CHANNELS: usize = 2;
/// As in the script: training steps with the one that is not counted, and buckets.
const COLLECTIVES: usize = (6 + 1) * 2;
/// Of the straggler, in the script: delay in nanoseconds, and its training steps.
const DELAY_NS: u64 = 150_000_000;
const LATE: std::ops::RangeInclusive<u32> = 2..=4;
const STRAGGLER: u32 = 2;

fn check(folder: &Path, railscope: &Path, facts: &mut Facts) -> Result<()> {
    let plain = job(folder, "plain", 1, railscope, facts)?;
    facts.equal("late ranks", late(&plain).len(), 0);
    job(folder, "queue_pairs", 2, railscope, facts)?;

    let straggler = job(folder, "straggler", 1, railscope, facts)?;
    let wanted: Vec<_> = LATE.map(|iteration| (iteration, STRAGGLER)).collect();
    facts.equal("late ranks", late(&straggler), wanted);

    job(folder, "loss", 1, railscope, facts)?;
    let counted = folder.join("loss/qdisc");
    let counted =
        fs::read_to_string(&counted).with_context(|| format!("read {}", counted.display()))?;
    facts.some("dropped", qdisc::find(&counted, "netem")?.drops);
    let naks = packets(&folder.join("loss/host1.pcap"), "infiniband.aeth.syndrome.opcode == 3")?;
    facts.some("NAKs", naks);
    Ok(())
}

/// What holds for every job; returns its truth.
fn job(
    scenario: &Path,
    name: &str,
    queue_pairs: usize,
    railscope: &Path,
    facts: &mut Facts,
) -> Result<Vec<Record>> {
    facts.about(name);
    let folder = scenario.join(name);
    let truth = read_truth(&folder.join("truth.jsonl"))?;

    let calls = || truth.iter().filter_map(Record::call);
    facts.equal("calls", calls().count(), COLLECTIVES * RANKS as usize);
    let wrong = calls().map(|call| call.wrong).filter(|&wrong| wrong != Some(0));
    facts.equal("calls with wrong sums", wrong.count(), 0);

    let links = || truth.iter().filter_map(Record::link);
    facts.equal("ends of links", links().count(), 2 * CHANNELS * RANKS as usize);
    let others = links().filter(|link| link.qpns.len() != queue_pairs).count();
    facts.equal("ends with another number of queue pairs", others, 0);

    for host in 0..RANKS {
        let tap = folder.join(format!("host{host}.pcap"));
        facts.some("RoCE packets", packets(&tap, "infiniband")?);
        let other = packets(&tap, "infiniband && ip.dsfield != 106")?;
        facts.equal("packets of another traffic class", other, 0);
        facts.equal("malformed packets", packets(&tap, "_ws.malformed")?, 0);
    }
    facts.equal("not found out", score::shortfalls(&folder, railscope)?, Vec::new());
    Ok(truth)
}

/// Training steps and ranks that came to the first bucket later than all others, by more than half
/// of the straggler's delay.
fn late(truth: &[Record]) -> Vec<(u32, u32)> {
    let mut found = Vec::new();
    let mut reached = None;
    for collective in truth.iter().filter_map(Record::collective) {
        // Every rank may tell of it, and of the later buckets.
        if collective.iteration.is_none() || collective.iteration <= reached {
            continue;
        }
        reached = collective.iteration;
        let calls = truth.iter().filter_map(Record::call);
        let mut starts: Vec<_> = calls
            .filter(|call| call.sequence == collective.sequence)
            .map(|call| (call.start_ns, call.rank))
            .collect();
        starts.sort_unstable();
        if let ([.., (before, _), (last, rank)], Some(iteration)) = (&starts[..], reached)
            && last - before > DELAY_NS / 2
        {
            found.push((iteration, *rank));
        }
    }
    found
}

/// How many packets of a capture tshark shows under this filter.
fn packets(capture: &Path, filter: &str) -> Result<u64> {
    let mut tshark = Command::new("tshark");
    tshark.arg("-n").arg("-r").arg(capture).args([
        "-Y",
        filter,
        "-T",
        "fields",
        "-e",
        "frame.number",
    ]);
    let output = tshark.stdin(Stdio::null()).output();
    let output = output.context("start tshark (on Debian: apt-get install tshark)")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "tshark {}: {}", capture.display(), said.trim());
    Ok(output.stdout.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).count() as u64)
}

/// The records of `railscope.truth/1` that are judged here.
#[derive(Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
enum Record {
    Link(Link),
    Collective(Collective),
    Call(Call),
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Link {
    qpns: Vec<u32>,
}

#[derive(Deserialize)]
struct Collective {
    sequence: u64,
    iteration: Option<u32>,
}

#[derive(Deserialize)]
struct Call {
    sequence: u64,
    rank: u32,
    start_ns: u64,
    wrong: Option<u64>,
}

impl Record {
    fn link(&self) -> Option<&Link> {
        if let Self::Link(link) = self { Some(link) } else { None }
    }

    fn collective(&self) -> Option<&Collective> {
        if let Self::Collective(collective) = self { Some(collective) } else { None }
    }

    fn call(&self) -> Option<&Call> {
        if let Self::Call(call) = self { Some(call) } else { None }
    }
}

fn read_truth(path: &Path) -> Result<Vec<Record>> {
    let text = fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?;
    let records = text.lines().map(serde_json::from_str).collect::<Result<_, _>>();
    records.with_context(|| format!("parse {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::{Record, late};

    #[test]
    fn who_comes_late_is_told_once_a_training_step() {
        let lines = r#"{"record":"collective","sequence":2,"iteration":0}
            {"record":"collective","sequence":3,"iteration":0}
            {"record":"collective","sequence":2,"iteration":0}
            {"record":"collective","sequence":4,"iteration":1}
            {"record":"call","sequence":2,"rank":0,"start_ns":1000000000,"wrong":0}
            {"record":"call","sequence":2,"rank":1,"start_ns":1200000000,"wrong":0}
            {"record":"call","sequence":3,"rank":0,"start_ns":1300000000,"wrong":0}
            {"record":"call","sequence":3,"rank":1,"start_ns":1301000000,"wrong":0}
            {"record":"call","sequence":4,"rank":0,"start_ns":1400000000,"wrong":0}
            {"record":"call","sequence":4,"rank":1,"start_ns":1401000000,"wrong":0}
            {"record":"job"}"#;
        let truth: Vec<Record> =
            lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(late(&truth), [(0, 1)]);
    }
}
