//! The parts that queries share, and where runbooks are.

/// Where runbooks are: the board's constant `runbooks`, which a user can change.
pub(super) const RUNBOOKS: &str = "https://github.com/railscope/railscope/blob/main";

/// Hosts that the board's variables choose. A series without one of the labels stays chosen by All.
const HOSTS: &str = r#"cluster=~"$cluster",job=~"$job",instance=~"$node""#;

/// Clusters that the board's variables choose: for rules that join the hosts of a cluster.
const CLUSTERS: &str = r#"cluster=~"$cluster""#;

/// The expression with the filters of the board's variables.
pub(super) fn filtered(expression: &str) -> String {
    expression.replace("$F", HOSTS).replace("$C", CLUSTERS)
}

/// The page that explains verdicts.
pub(super) const VERDICTS: &str = "${runbooks}/docs/verdicts.md#classes";

/// The classes of what stops a job, each with its page.
pub(super) const HANG_CLASSES: &str = "${runbooks}/docs/hangs.md#the-fourteen-classes";

/// The page of a finding.
pub(super) fn runbook(finding: &str) -> String {
    format!("${{runbooks}}/docs/FINDINGS.md#{finding}")
}
