//! What this cluster's nodes should look like: learnt from a good one, compared with another.

use std::collections::BTreeMap;

use super::outcome::Outcome;
use super::setting::Settings;

/// Name of the check in reports.
const CHECK: &str = "expected";
/// Settings of a job or of one process, which differ for good reasons.
const LEFT_OUT: &[&str] = &["env.", "node.locked_memory"];

/// Settings that only root, or only the running system, shows.
const MAY_BE_UNREAD: &[&str] = &[
    ".max_read_request",
    ".pfc",
    ".traffic_classes",
    ".dscp",
    ".cnp_dscp",
    ".cnp_priority",
    ".link_pause",
];

/// A file for `--expect`, with the settings of a good node.
///
/// # Errors
///
/// None in practice: texts can always be written as TOML.
pub fn learn(host: &str, settings: &Settings) -> Result<String, toml::ser::Error> {
    let kept: BTreeMap<&String, &String> = settings
        .iter()
        .filter(|(key, _)| !LEFT_OUT.iter().any(|start| key.starts_with(start)))
        .collect();
    let table = toml::to_string(&kept)?;
    Ok(format!(
        "# What nodes of this cluster should look like, learnt from {host}.\n\
         # `railscope doctor --expect THIS_FILE` compares a node with it. Delete lines that may differ; in values, * stands for\n\
         # anything: \"rdma.mlx5_0.firmware\" = \"28.39.*\".\n\n{table}"
    ))
}

/// Reads such a file.
///
/// # Errors
///
/// When it is not TOML, or a value is no text.
pub fn read(text: &str) -> Result<Settings, toml::de::Error> {
    let table: BTreeMap<String, toml::Value> = toml::from_str(text)?;
    let spelt = |value: toml::Value| match value {
        toml::Value::String(text) => text,
        other => other.to_string(),
    };
    Ok(table.into_iter().map(|(key, value)| (key, spelt(value))).collect())
}

/// Where a node differs from what is expected.
#[must_use]
pub fn compare(expected: &Settings, settings: &Settings, file: &str) -> Vec<Outcome> {
    let mut outcomes: Vec<Outcome> = Vec::new();
    let mut unread: Vec<&str> = Vec::new();
    for (key, wanted) in expected {
        let says = match settings.get(key) {
            Some(value) if matches(wanted, value) => continue,
            Some(value) => format!("{key} is {value}; expected is {wanted}."),
            None if MAY_BE_UNREAD.iter().any(|end| key.ends_with(end)) => {
                unread.push(key);
                continue;
            }
            None => format!("{key} is absent; expected is {wanted}."),
        };
        outcomes.push(Outcome::warning(says).seen(file));
    }
    if outcomes.is_empty() {
        let says = format!("All of {} settings are as expected.", expected.len() - unread.len());
        outcomes.push(Outcome::right(says).seen(file));
    }
    if !unread.is_empty() {
        let says = format!(
            "Not checked: {} settings could not be read here, such as {}.",
            unread.len(),
            unread.first().copied().unwrap_or_default()
        );
        outcomes.push(Outcome::unseen(says).seen(file));
    }
    outcomes.into_iter().map(|outcome| Outcome { check: CHECK.to_owned(), ..outcome }).collect()
}

fn matches(wanted: &str, value: &str) -> bool {
    wanted == value || glob::Pattern::new(wanted).is_ok_and(|pattern| pattern.matches(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(pairs: &[(&str, &str)]) -> Settings {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn what_is_learnt_is_expected_and_what_differs_is_named() {
        let good = settings(&[
            ("net.ens1.mtu", "9000"),
            ("rdma.mlx5_0.firmware", "28.39.1002"),
            ("env.NCCL_DEBUG", "INFO"),
        ]);
        let expected = read(&learn("n1", &good).unwrap()).unwrap();
        assert!(!expected.contains_key("env.NCCL_DEBUG"));
        let outcomes = compare(&expected, &good, "f");
        assert_eq!(outcomes.len(), 1);
        assert_eq!(outcomes[0].says, "All of 2 settings are as expected.");
        let other = settings(&[("net.ens1.mtu", "1500")]);
        let says: Vec<String> =
            compare(&expected, &other, "f").into_iter().map(|outcome| outcome.says).collect();
        assert_eq!(says[0], "net.ens1.mtu is 1500; expected is 9000.");
        assert_eq!(says[1], "rdma.mlx5_0.firmware is absent; expected is 28.39.1002.");
    }

    #[test]
    fn a_star_stands_for_anything() {
        let expected = settings(&[("rdma.mlx5_0.firmware", "28.39.*")]);
        assert_eq!(
            compare(&expected, &settings(&[("rdma.mlx5_0.firmware", "28.39.3004")]), "f")[0].status,
            crate::doctor::outcome::Status::Right
        );
    }
}
