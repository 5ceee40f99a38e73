//! `railscope doctor` on hosts with soft-RoCE: what is right, what is not, and what nobody may not read.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use super::definition::Scenario;
use crate::lab::facts::Facts;

pub(super) const SCENARIO: Scenario = Scenario {
    name: "doctor",
    about: "railscope doctor: soft-RoCE in namespaces, as root and nobody, with and without a device",
    limit: 300,
    needs_verbs: false,
    has_older_kernel: false,
    check,
};

fn check(folder: &Path, _railscope: &Path, facts: &mut Facts) -> Result<()> {
    facts.about("healthy");
    let healthy = read(folder, "healthy")?;
    for check in
        ["rdma_devices", "port_state", "gids", "mtu", "rdma_namespace", "character_devices"]
    {
        facts.equal(check, statuses(&healthy, check), vec!["right".to_owned()]);
    }
    facts.equal("exit code", code(folder, "healthy")?, "0".to_owned());

    facts.about("as nobody");
    let nobody = read(folder, "nobody")?;
    facts.equal("is root", &nobody["is_root"], &Value::from(false));
    facts.equal("rdma_devices", statuses(&nobody, "rdma_devices"), vec!["right".to_owned()]);
    facts.equal("firewall", statuses(&nobody, "firewall"), vec!["unknown".to_owned()]);

    facts.about("a setting that selects no device");
    let selects_none = read(folder, "selects_none")?;
    facts.equal("variables", statuses(&selects_none, "variables"), vec!["critical".to_owned()]);
    facts.equal("exit code", code(folder, "selects_none")?, "1".to_owned());

    facts.about("MTU 1500");
    facts.equal("mtu", statuses(&read(folder, "small_mtu")?, "mtu"), vec!["note".to_owned()]);

    facts.about("as expected");
    let expected = statuses(&read(folder, "expected")?, "expected");
    facts.equal("expected", expected, vec!["right".to_owned()]);

    facts.about("without a device");
    let no_device = read(folder, "no_device")?;
    facts.equal("rdma_devices", statuses(&no_device, "rdma_devices"), vec!["critical".to_owned()]);
    facts.equal("exit code", code(folder, "no_device")?, "1".to_owned());
    Ok(())
}

/// The statuses of what one check says.
fn statuses(examination: &Value, check: &str) -> Vec<String> {
    let outcomes = examination["outcomes"].as_array().into_iter().flatten();
    let of_check = outcomes.filter(|outcome| outcome["check"] == check);
    of_check.filter_map(|outcome| outcome["status"].as_str().map(str::to_owned)).collect()
}

fn read(folder: &Path, case: &str) -> Result<Value> {
    let path = folder.join(case);
    let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("parse {}", path.display()))
}

fn code(folder: &Path, case: &str) -> Result<String> {
    let path = folder.join(format!("{case}.code"));
    let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
    Ok(text.trim().to_owned())
}
