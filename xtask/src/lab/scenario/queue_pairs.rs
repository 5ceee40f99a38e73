//! The agent's list of queue pairs against the kernel's, at the same moments; and the agent's programs
//! in this kernel.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::definition::Scenario;
use crate::lab::facts::Facts;

pub(super) const SCENARIO: Scenario = Scenario {
    name: "queue_pairs",
    about: "railscope agent: queue pairs older than it, new ones, ended ones, as rdma resource lists them",
    limit: 200,
    needs_verbs: true,
    has_older_kernel: false,
    check,
};

/// Moments of the script, and the RC queue pairs that two hosts have then.
const MOMENTS: [(&str, usize); 4] = [("older", 6), ("both", 10), ("newer", 4), ("none", 0)];

/// The fields of both lists: device, QPN, remote QPN, type, state, process.
type Row = (String, u32, Option<u32>, String, String, Option<u32>);

fn check(folder: &Path, _: &Path, facts: &mut Facts) -> Result<()> {
    for (moment, connections) in MOMENTS {
        facts.about(moment);
        let ours: Vec<Ours> = read(&folder.join(format!("{moment}.ours")))?;
        let kernel: Vec<Kernel> = read(&folder.join(format!("{moment}.kernel")))?;
        let unnamed = ours.iter().filter(|pair| pair.name.is_none());
        facts.equal("without a name", unnamed.count(), 0);
        let ours: BTreeSet<Row> = ours.into_iter().map(Ours::row).collect();
        let kernel: BTreeSet<Row> = kernel.into_iter().map(Kernel::row).collect();
        let reliable = kernel.iter().filter(|(_, _, _, kind, ..)| kind == "RC");
        facts.equal("connections", reliable.count(), connections);
        facts.equal("queue pairs", ours, kernel);
    }
    facts.about("programs");
    let metrics = folder.join("metrics");
    let metrics =
        fs::read_to_string(&metrics).with_context(|| format!("read {}", metrics.display()))?;
    let wanted = ["railscope_source_visible{", "=\"eth0\"", "=\"ebpf\""];
    let runs = metrics
        .lines()
        .any(|line| wanted.iter().all(|part| line.contains(part)) && line.ends_with(" 1"));
    facts.holds(runs, || format!("do not run:\n{metrics}"));
    Ok(())
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let read = || anyhow::Ok(serde_json::from_str(&fs::read_to_string(path)?)?);
    read().with_context(|| format!("read {}", path.display()))
}

/// A row of `/queue_pairs.json`.
#[derive(Deserialize)]
struct Ours {
    device: String,
    qpn: u32,
    remote_qpn: Option<u32>,
    #[serde(rename = "type")]
    kind: String,
    state: String,
    pid: Option<u32>,
    name: Option<String>,
}

impl Ours {
    fn row(self) -> Row {
        (self.device, self.qpn, self.remote_qpn, self.kind, self.state, self.pid)
    }
}

/// A row of `rdma resource show qp -j`.
#[derive(Deserialize)]
struct Kernel {
    ifname: String,
    lqpn: u32,
    rqpn: Option<u32>,
    #[serde(rename = "type")]
    kind: String,
    state: String,
    pid: Option<u32>,
}

impl Kernel {
    fn row(self) -> Row {
        (self.ifname, self.lqpn, self.rqpn, self.kind, self.state, self.pid)
    }
}
