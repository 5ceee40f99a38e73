//! Examinations of several nodes side by side: who differs.

mod naming;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::outcome::Status;
use super::report::Examination;

/// Several nodes, compared.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// `railscope.doctor.merge/1`.
    pub schema: String,
    /// Names of the nodes, in order.
    pub hosts: Vec<String>,
    /// Settings that are not alike, those in which the fewest nodes differ first.
    pub differences: Vec<Difference>,
    /// What checks say, with the nodes of which they say it: warnings and worse.
    pub problems: Vec<Problem>,
}

/// A setting that is not alike.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// The setting: `rdma.mlx5_0.firmware`.
    pub key: String,
    /// What most nodes have; `null` if most do not have it, or no value has a majority.
    pub most: Option<String>,
    /// How many nodes have that.
    pub nodes_with_most: usize,
    /// Nodes that have another value, by value; `null` stands for none.
    pub others: Vec<Other>,
}

/// Nodes with another value.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Other {
    /// The value; `null` for none.
    pub value: Option<String>,
    /// The nodes.
    pub hosts: Vec<String>,
}

/// Something that a check says.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// Name of the check.
    pub check: String,
    /// How bad it is.
    pub status: Status,
    /// What it says.
    pub says: String,
    /// How to make it right.
    pub fix: Option<String>,
    /// The nodes.
    pub hosts: Vec<String>,
}

/// Name and version of the contract.
pub const SCHEMA: &str = "railscope.doctor.merge/1";

impl Comparison {
    /// Compares nodes. Two of one name are numbered.
    #[must_use]
    pub fn new(examinations: &[Examination]) -> Self {
        let hosts = names(examinations);
        let settings = naming::alike(examinations.iter().map(|one| &one.settings));
        let mut by_key: BTreeMap<&str, Vec<Option<&str>>> = BTreeMap::new();
        for (at, settings) in settings.iter().enumerate() {
            for (key, value) in settings {
                let values = by_key.entry(key).or_insert_with(|| vec![None; examinations.len()]);
                if let Some(slot) = values.get_mut(at) {
                    *slot = Some(value);
                }
            }
        }
        let differences =
            by_key.into_iter().filter_map(|(key, values)| difference(key, &values, &hosts));
        let mut differences: Vec<Difference> = differences.collect();
        differences
            .sort_by_key(|one| one.others.iter().map(|other| other.hosts.len()).sum::<usize>());
        Self {
            schema: SCHEMA.to_owned(),
            differences,
            problems: problems(examinations, &hosts),
            hosts,
        }
    }
}

fn names(examinations: &[Examination]) -> Vec<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let name = |Examination { host, .. }: &Examination| {
        let count = seen.entry(host.clone()).or_default();
        *count += 1;
        if *count == 1 { host.clone() } else { format!("{host} ({count})") }
    };
    examinations.iter().map(name).collect()
}

fn difference(key: &str, values: &[Option<&str>], hosts: &[String]) -> Option<Difference> {
    let mut by_value: BTreeMap<Option<&str>, Vec<String>> = BTreeMap::new();
    for (value, host) in values.iter().zip(hosts) {
        by_value.entry(*value).or_default().push(host.clone());
    }
    if by_value.len() < 2 {
        return None;
    }
    let most = by_value
        .iter()
        .max_by_key(|(_, hosts)| hosts.len())
        .map(|(value, hosts)| (*value, hosts.len()))?;
    // Without a majority nobody is the odd one.
    let has_majority = most.1 * 2 > hosts.len();
    let others = by_value.into_iter().filter(|(value, _)| !has_majority || *value != most.0);
    let others = others.map(|(value, hosts)| Other { value: value.map(str::to_owned), hosts });
    Some(Difference {
        key: key.to_owned(),
        most: most.0.filter(|_| has_majority).map(str::to_owned),
        nodes_with_most: if has_majority { most.1 } else { 0 },
        others: others.collect(),
    })
}

fn problems(examinations: &[Examination], hosts: &[String]) -> Vec<Problem> {
    let mut problems: Vec<Problem> = Vec::new();
    for (examination, host) in examinations.iter().zip(hosts) {
        for outcome in
            examination.outcomes.iter().filter(|outcome| outcome.status >= Status::Warning)
        {
            let same = problems
                .iter_mut()
                .find(|known| known.check == outcome.check && known.says == outcome.says);
            if let Some(known) = same {
                known.hosts.push(host.clone());
                continue;
            }
            problems.push(Problem {
                check: outcome.check.clone(),
                status: outcome.status,
                says: outcome.says.clone(),
                fix: outcome.fix.clone(),
                hosts: vec![host.clone()],
            });
        }
    }
    problems.sort_by_key(|problem| (std::cmp::Reverse(problem.status), problem.hosts.len()));
    problems
}
