//! railscope's own driver over soft-RoCE: its sums are right, its packets are as configured, and
//! railscope's report matches the driver's truth, as it does with real NCCL.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::definition::Scenario;
use crate::lab::facts::Facts;
use crate::lab::qdisc;
use crate::score;

pub(super) const SCENARIO: Scenario = Scenario {
    name: "drive",
    about: "railscope drive --transport verbs: bundles, 1 and 2 queue pairs, a straggler, loss",
    limit: 600,
    needs_verbs: true,
    has_older_kernel: false,
    check,
};

const RANKS: u32 = 4;
const CHANNELS: usize = 2;
/// As in the script: training steps, warm-up included, and buckets.
const COLLECTIVES: usize = (6 + 1) * 2;
/// The script's straggler: delay in nanoseconds, and its training steps.
const DELAY_NS: u64 = 150_000_000;
const LATE: std::ops::RangeInclusive<u32> = 2..=4;
const STRAGGLER: u32 = 2;

fn check(folder: &Path, railscope: &Path, facts: &mut Facts) -> Result<()> {
    job(folder, "plain", 1, railscope, facts)?;
    job(folder, "bundles", 1, railscope, facts)?;
    bundles(&folder.join("bundles"), railscope, facts)?;
    job(folder, "queue_pairs", 2, railscope, facts)?;

    let straggler = job(folder, "straggler", 1, railscope, facts)?;
    for iteration in LATE {
        facts.holds(slow(&straggler).contains(&(STRAGGLER, iteration)), || {
            format!("rank {STRAGGLER} is not late in iteration {iteration}")
        });
    }

    job(folder, "loss", 1, railscope, facts)?;
    let counted = folder.join("loss/qdisc");
    let counted =
        fs::read_to_string(&counted).with_context(|| format!("read {}", counted.display()))?;
    facts.some("dropped", qdisc::find(&counted, "netem")?.drops);
    let naks = packets(&folder.join("loss/host1.pcap"), "infiniband.aeth.syndrome.opcode == 3")?;
    facts.some("NAKs", naks);
    Ok(())
}

/// Checks what holds for every job; returns its truth.
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
        // Of TCP, tshark takes some port numbers for other programs' and finds their packets malformed.
        facts.equal("malformed packets", packets(&tap, "infiniband && _ws.malformed")?, 0);
    }
    facts.equal("not found out", score::shortfalls(&folder, railscope)?, Vec::new());
    Ok(truth)
}

/// Each host's bundle has its counters and its queue pairs with their processes.
fn bundles(folder: &Path, railscope: &Path, facts: &mut Facts) -> Result<()> {
    facts.about("bundles");
    let bundles = (0..RANKS).map(|rank| folder.join(format!("host{rank}.railscope.tar.zst")));
    let mut analyze = Command::new(railscope);
    analyze.args(["analyze", "--format", "json"]).args(bundles).stdin(Stdio::null());
    let output = analyze.output().context("start railscope")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "railscope analyze of the bundles: {}", said.trim());
    let report: Bundled = serde_json::from_slice(&output.stdout).context("parse the report")?;
    let pairs = || report.queue_pairs.iter().filter(|pair| pair.has_requests);
    facts.some("queue pairs", pairs().count() as u64);
    for (end, process) in [("sender", true), ("receiver", false)] {
        let of_end = |pair: &Pair| {
            let end = if process { &pair.source_process } else { &pair.dest_process };
            end.as_ref().and_then(|end| end.process.clone())
        };
        let unnamed = pairs().filter(|pair| of_end(pair).as_deref() != Some("railscope")).count();
        facts.equal(&format!("queue pairs without their {end}'s process"), unnamed, 0);
    }
    // The hosts are namespaces of one kernel, which shows each of them the devices of all.
    facts.equal("NICs with counters", report.counters.len(), (RANKS * RANKS) as usize);
    Ok(())
}

/// The part of `railscope.report/1` that a bundle adds to.
#[derive(Deserialize)]
struct Bundled {
    queue_pairs: Vec<Pair>,
    counters: Vec<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
struct Pair {
    has_requests: bool,
    source_process: Option<End>,
    dest_process: Option<End>,
}

#[derive(Deserialize)]
struct End {
    process: Option<String>,
}

/// Ranks and training steps that took longer to compute than the straggler's delay.
fn slow(truth: &[Record]) -> Vec<(u32, u32)> {
    let mut slow: Vec<_> = truth
        .iter()
        .filter_map(
            |record| if let Record::Compute(compute) = record { Some(compute) } else { None },
        )
        .filter(|compute| compute.end_ns - compute.start_ns >= DELAY_NS)
        .filter_map(|compute| Some((compute.rank, compute.iteration?)))
        .collect();
    slow.sort_unstable();
    slow
}

/// Packets of a capture that match a tshark filter.
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

/// The records of `railscope.truth/1` that are checked here.
#[derive(Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
enum Record {
    Link(Link),
    Call(Call),
    Compute(Compute),
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Link {
    qpns: Vec<u32>,
}

#[derive(Deserialize)]
struct Call {
    wrong: Option<u64>,
}

#[derive(Deserialize)]
struct Compute {
    rank: u32,
    iteration: Option<u32>,
    start_ns: u64,
    end_ns: u64,
}

impl Record {
    fn link(&self) -> Option<&Link> {
        if let Self::Link(link) = self { Some(link) } else { None }
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
    use super::{Record, slow};

    #[test]
    fn ranks_that_compute_longer_than_the_delay_are_listed() {
        let lines = r#"{"record":"job"}
            {"record":"compute","rank":1,"iteration":null,"start_ns":0,"end_ns":200000000}
            {"record":"compute","rank":1,"iteration":3,"start_ns":0,"end_ns":150000000}
            {"record":"compute","rank":2,"iteration":3,"start_ns":0,"end_ns":149999999}"#;
        let truth: Vec<Record> =
            lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(slow(&truth), [(1, 3)]);
    }
}
