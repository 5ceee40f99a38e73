//! What is true of an incident: `railbench.label/1`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

pub(super) const SCHEMA: &str = "railbench.label/1";

/// A training step counts as longer from this share on.
pub(super) const LONGER: f64 = 0.05;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Label {
    pub(super) schema: String,
    /// The name of its folder.
    pub(super) incident: String,
    /// How it was made; docs/railbench.md lists kinds.
    pub(super) kind: String,
    pub(super) seed: u64,
    /// A class of docs/verdicts.md; `None` of a healthy job.
    pub(super) class: Option<String>,
    /// Classes that are as right, because packets cannot tell.
    pub(super) also_right: Vec<String>,
    /// It stops for ever.
    pub(super) hangs: bool,
    pub(super) ranks: u32,
    pub(super) rank: Option<u32>,
    /// The address of its port.
    pub(super) host: Option<String>,
    /// The other end of a path.
    pub(super) peer: Option<String>,
    /// Of the packets that suffer, as seen from the host: `towards`, `from`, `both`.
    pub(super) direction: Option<String>,
    /// From where to where these packets go, between neighbours in the ring; empty where a rank is to blame.
    pub(super) path: Vec<[String; 2]>,
    /// No frame has more than 144 bytes: no bootstrap can be read.
    pub(super) is_cut: bool,
    /// What else is wrong, but less.
    pub(super) beside: Option<String>,
    /// Training steps, and how long they are without the fault; empty of hangs and healthy jobs.
    pub(super) iterations: Vec<Iteration>,
    /// Those that the fault made longer by 5 % or more.
    pub(super) longer: Vec<u32>,
    /// What the fault added to all training steps.
    pub(super) cost_ns: Option<i64>,
}

/// From the end of the training step before to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Iteration {
    /// The one that warms up is 0.
    pub(super) iteration: u32,
    pub(super) ns: u64,
    /// In the same job, of the same seed, without the fault.
    pub(super) without_ns: u64,
}

impl Iteration {
    pub(super) fn is_longer(&self) -> bool {
        self.ns as f64 >= (1.0 + LONGER) * self.without_ns as f64
    }
}

impl Label {
    pub(super) fn path(&self) -> BTreeSet<(String, String)> {
        self.path.iter().map(|[from, to]| (from.clone(), to.clone())).collect()
    }
}

/// Labels of a folder that `make` filled, or of a file with one a line; in order of their names.
pub(super) fn read(source: &Path) -> Result<Vec<Label>> {
    let mut labels: Vec<Label> = Vec::new();
    if source.is_dir() {
        for entry in fs::read_dir(source).with_context(|| source.display().to_string())? {
            let path = entry.context("list a folder")?.path().join("label.json");
            if path.exists() {
                labels.push(parse(&path, &fs::read(&path).context("read a label")?)?);
            }
        }
    } else {
        let text = fs::read_to_string(source).with_context(|| source.display().to_string())?;
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            labels.push(parse(source, line.as_bytes())?);
        }
    }
    ensure!(!labels.is_empty(), "{}: no labels", source.display());
    labels.sort_by(|one, other| one.incident.cmp(&other.incident));
    for pair in labels.windows(2) {
        if let [one, other] = pair {
            ensure!(one.incident != other.incident, "two labels of incident {}", one.incident);
        }
    }
    Ok(labels)
}

fn parse(path: &Path, bytes: &[u8]) -> Result<Label> {
    let label: Label = serde_json::from_slice(bytes)
        .with_context(|| format!("{}: not a {SCHEMA}", path.display()))?;
    ensure!(label.schema == SCHEMA, "{}: {} is not {SCHEMA}", path.display(), label.schema);
    ensure!(label.ranks <= 100_000, "{}: {} ranks", path.display(), label.ranks);
    Ok(label)
}
