//! Which rank a job waited for: by recording rules over agents that see one host each, and by the
//! analysis of all hosts' captures together.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use railscope_testbed::data_base::DataBase;
use serde_json::Value;

use crate::repository::command;

/// A rank, why it was late, and how much that cost: seconds, or a share of the time.
#[derive(Clone, Debug)]
pub(super) struct LateRank {
    pub(super) rank: u32,
    pub(super) cause: String,
    pub(super) cost: f64,
}

/// What the recording rules say now.
pub(super) fn by_rules(data_base: &DataBase) -> Option<LateRank> {
    let mut named = data_base.ask("topk(1, nccl:late_rank:share5m)", None).into_iter();
    let (labels, cost) = named.next()?;
    let rank = labels.get("nccl_rank")?.parse().ok()?;
    let cause = labels.get("nccl_straggler_cause")?.clone();
    Some(LateRank { rank, cause, cost })
}

/// What `railscope analyze` says of all captures: the rank and cause that cost most, if a finding
/// warns of a straggler.
pub(super) fn offline(railscope: &Path, captures: &[PathBuf]) -> Result<Option<LateRank>> {
    let mut analyze = command(railscope);
    analyze.args(["analyze", "--format", "json"]).args(captures);
    let output = analyze.output().context("start railscope")?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).context("read the report")?;
    let is_straggler =
        |finding: &Value| finding["id"] == "straggler" && finding["severity"] != "info";
    if !report["findings"].as_array().is_some_and(|all| all.iter().any(is_straggler)) {
        return Ok(None);
    }
    let mut costs: BTreeMap<(u64, String), f64> = BTreeMap::new();
    for collective in report["collectives"].as_array().into_iter().flatten() {
        let late = &collective["straggler"];
        if let (Some(rank), Some(cause), Some(lag_ns)) =
            (late["rank"].as_u64(), late["cause"].as_str(), late["lag_ns"].as_f64())
        {
            *costs.entry((rank, cause.to_owned())).or_default() += lag_ns / 1e9;
        }
    }
    let costliest = costs.into_iter().max_by(|(_, one), (_, other)| one.total_cmp(other));
    costliest
        .map(|((rank, cause), cost)| {
            Ok(LateRank { rank: u32::try_from(rank).context("a rank")?, cause, cost })
        })
        .transpose()
}
