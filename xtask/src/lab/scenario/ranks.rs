//! The agent without packets: ranks and their queue pairs, from calls and the kernel's list.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::definition::Scenario;
use crate::lab::facts::Facts;

pub(super) const SCENARIO: Scenario = Scenario {
    name: "ranks",
    about: "railscope agent without packets, as with a hardware NIC: ranks, and whose each queue pair is",
    limit: 400,
    needs_verbs: true,
    has_older_kernel: false,
    check,
};

/// From the unique id in the script.
const COMMUNICATOR: &str = "7e5c3a1876543210";

fn check(folder: &Path, _: &Path, facts: &mut Facts) -> Result<()> {
    let read = |name: &str| {
        let path = folder.join(name);
        fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))
    };
    let report: Value = serde_json::from_str(&read("report")?).context("read report")?;
    let kernel: Vec<Value> = serde_json::from_str(&read("kernel")?).context("read kernel")?;
    let pairs: Vec<Value> = serde_json::from_str(&read("pairs")?).context("read pairs")?;
    let pids = read("pids")?;

    let communicators = list(&report["communicators"]);
    facts.equal("communicators", communicators.len(), 1);
    let known = communicators.first().unwrap_or(&Value::Null);
    let reported = ["id", "nranks", "transport", "grade"].map(|fact| &known[fact]);
    facts.equal("communicator", json!(reported), json!([COMMUNICATOR, 2, "ib", "proven"]));
    facts.equal("ranks", list(&known["ranks"]).len(), 2);
    facts.equal("taps", list(&report["taps"]).len(), 0);
    for (number, pid) in (0_u64..).zip(pids.split_whitespace()) {
        facts.about(format!("rank {number}"));
        let pid: u64 = pid.parse().context("read pids")?;
        let rank = list(&known["ranks"]).iter().find(|rank| rank["rank"] == number);
        let rank = rank.unwrap_or(&Value::Null);
        facts.equal("process", rank["pid"].as_u64(), Some(pid));
        let ours: BTreeSet<String> = list(&rank["queue_pairs"])
            .iter()
            .map(|pair| row(pair, ["device", "qpn", "remote_qpn", "type", "state"]))
            .collect();
        let own = kernel.iter().filter(|pair| pair["pid"] == pid);
        let own: BTreeSet<String> =
            own.map(|pair| row(pair, ["ifname", "lqpn", "rqpn", "type", "state"])).collect();
        facts.equal("queue pairs", own.len(), 2);
        facts.equal("its queue pairs", ours, own);
        // No call names the peer of a queue pair that is older than the agent.
        let far = format!("10.0.0.{}", 2 - number);
        let leads = list(&rank["queue_pairs"]).iter().map(|pair| pair["remote_address"].as_str());
        let leads: BTreeSet<Option<&str>> = leads.collect();
        facts.equal("the other ends", leads, [None, Some(far.as_str())].into());
        let listed = pairs.iter().filter(|pair| {
            pair["pid"] == pid && pair["rank"] == number && pair["communicator"] == COMMUNICATOR
        });
        facts.equal("in the list", listed.count(), 2);
    }
    facts.about("findings");
    let unseen = list(&report["findings"]).iter().find(|one| one["id"] == "rdma_not_visible");
    let title = unseen.and_then(|finding| finding["title"].as_str()).unwrap_or_default();
    let expected = "RDMA is not visible: 4 queue pairs of 2 ranks in 7e5c3a1876543210, but no \
                    interface is tapped";
    facts.equal("what is not seen", title, expected);
    Ok(())
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn row(pair: &Value, facts: [&str; 5]) -> String {
    json!(facts.map(|fact| &pair[fact])).to_string()
}
