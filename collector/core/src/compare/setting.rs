//! Versions and settings of a job, as far as the report holds them, and where two jobs differ.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::document::Document;

/// A version or setting that is not the same on both sides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SettingDifference {
    /// What it is: `NCCL`, `NCCL_IB_TC`, `line rate`, ...
    pub name: String,
    /// Its values before, ascending; several where ranks or ports differ, none where it is not set.
    pub before: Vec<String>,
    /// Its values after.
    pub after: Vec<String>,
}

/// Values by name.
type Settings = BTreeMap<String, BTreeSet<String>>;

/// Settings that differ, by name. One that only one side can show is no difference; a variable that
/// NCCL's log does not name is not set.
pub(super) fn differences(before: &Document, after: &Document) -> Vec<SettingDifference> {
    let mut found = Vec::new();
    compare(&facts(before), &facts(after), false, &mut found);
    let have_logs = [before, after].iter().all(|side| !side.logs.processes.is_empty());
    compare(&variables(before), &variables(after), have_logs, &mut found);
    found
}

fn compare(before: &Settings, after: &Settings, unset: bool, found: &mut Vec<SettingDifference>) {
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    for name in names {
        let (one, other) = (before.get(name), after.get(name));
        let is_known = unset || (one.is_some() && other.is_some());
        if is_known && one != other {
            found.push(SettingDifference {
                name: name.clone(),
                before: one.into_iter().flatten().cloned().collect(),
                after: other.into_iter().flatten().cloned().collect(),
            });
        }
    }
}

fn facts(document: &Document) -> Settings {
    let mut facts = Settings::new();
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            facts.entry(name.to_owned()).or_default().insert(value);
        }
    };
    let number = |value: u64| Some(value.to_string());
    add("railscope", Some(document.tool.version.clone()));
    let count = |length: usize| (length > 0).then(|| length.to_string());
    for one in &document.communicators {
        add("NCCL", one.nccl_version.clone());
        add("transport", Some(one.transport.clone()).filter(|name| name != "unknown"));
        add("channels", count(one.channels.len()));
    }
    for one in &document.collectives {
        let known = |name: &str| Some(name.to_owned()).filter(|name| name != "unknown");
        add("algorithm", known(&one.algorithm));
        add("protocol", known(&one.protocol));
    }
    for one in &document.ports {
        add("line rate (b/s)", one.line_rate_bps.and_then(number));
    }
    for one in &document.queue_pairs {
        add("path MTU (bytes)", one.path_mtu_bytes.and_then(number));
    }
    for one in document.flows.iter().filter(|flow| flow.transport == "RC") {
        for dscp in one.dscp.keys() {
            add("DSCP", Some(dscp.clone()));
        }
    }
    for one in &document.counters {
        add("NIC driver", one.driver.clone());
        add("NIC link rate (b/s)", one.rate_bps.and_then(number));
    }
    for one in &document.logs.processes {
        add("NCCL", one.nccl_version.clone());
        add("network", one.network.clone());
        add("aws-ofi-nccl", one.ofi.as_ref().and_then(|ofi| ofi.version.clone()));
        add("libfabric", one.ofi.as_ref().and_then(|ofi| ofi.libfabric_version.clone()));
    }
    facts
}

fn variables(document: &Document) -> Settings {
    let mut variables = Settings::new();
    for (name, value) in document.logs.processes.iter().flat_map(|one| &one.environment) {
        variables.entry(name.clone()).or_default().insert(value.clone());
    }
    variables
}
