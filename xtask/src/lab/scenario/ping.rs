//! `railscope doctor ping` over soft-RoCE: every pair of devices connects, a pair whose RoCE packets are
//! dropped is named, and rails that do not connect with each other are taken for the fabric's design.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use super::definition::Scenario;
use crate::lab::facts::Facts;

pub(super) const SCENARIO: Scenario = Scenario {
    name: "ping",
    about: "railscope doctor ping: two rails, a dead pair, rails that do not connect",
    limit: 600,
    needs_verbs: true,
    has_older_kernel: false,
    check,
};

const HOSTS: usize = 4;
const RAILS: usize = 2;

fn check(folder: &Path, _railscope: &Path, facts: &mut Facts) -> Result<()> {
    facts.about("healthy");
    for host in 0..HOSTS {
        let document = read(folder, "healthy", host)?;
        let probes = rails(&document);
        facts.equal("measured directions of rails", probes.len(), HOSTS * (HOSTS - 1) * RAILS);
        let failed = probes.iter().filter(|probe| !probe["error"].is_null());
        facts.equal("failed ones", failed.count(), 0);
        for figure in ["rtt_us", "gbps"] {
            let figures = probes.iter().filter(|probe| probe[figure].as_f64() > Some(0.0));
            facts.equal(figure, figures.count(), probes.len());
        }
        let gids = document["rows"][host]["devices"].as_array().into_iter().flatten();
        let addresses: Vec<_> = gids.map(|device| device["address"].clone()).collect();
        let own = [format!("10.0.0.{}", host + 1), format!("10.0.1.{}", host + 1)];
        facts.equal("addresses of the devices", addresses, own.map(Value::from).to_vec());
    }

    facts.about("dead pair");
    let document = read(folder, "dead_pair", 0)?;
    let first = &document["findings"][0];
    facts.equal("trouble", &first["trouble"], &Value::from("unreached"));
    facts.equal("place", &first["place"], &serde_json::json!({"kind": "pair", "a": 1, "b": 3}));
    facts.equal("rail", &first["transport"]["rails"], &serde_json::json!([[0, 0]]));
    let cause = first["cause"].as_str().unwrap_or_default();
    facts.holds(cause.contains("retry exceeded"), || format!("the cause is {cause}"));
    for host in 0..HOSTS {
        facts.equal("exit code", code(folder, "dead_pair", host)?, "1".to_owned());
    }

    facts.about("cross rail");
    let document = read(folder, "cross_rail", 0)?;
    facts.equal("rail-only", &document["is_rail_only"], &Value::from(true));
    let all = HOSTS * (HOSTS - 1) * RAILS * RAILS;
    facts.equal("measured directions of rails", rails(&document).len(), all);
    let unreached = document["findings"].as_array().into_iter().flatten();
    let unreached = unreached.filter(|finding| finding["trouble"] == "unreached").count();
    facts.equal("alarms about them", unreached, 0);
    Ok(())
}

fn read(folder: &Path, case: &str, host: usize) -> Result<Value> {
    let path = folder.join(case).join(format!("host{host}"));
    let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("parse {}", path.display()))
}

fn code(folder: &Path, case: &str, host: usize) -> Result<String> {
    let path = folder.join(case).join(format!("code{host}"));
    let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
    Ok(text.trim().to_owned())
}

/// All probes between devices.
fn rails(document: &Value) -> Vec<&Value> {
    let rows = document["rows"].as_array().into_iter().flatten();
    let cells = rows.flat_map(|row| row["cells"].as_array().into_iter().flatten());
    cells.flat_map(|cell| cell["rails"].as_array().into_iter().flatten()).collect()
}
