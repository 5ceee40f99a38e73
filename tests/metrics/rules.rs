//! The rules and alerts of dashboards/prometheus, by Prometheus' own tools.

use std::path::Path;

use crate::support::receivers;

/// Runs promtool in the folder of the rules.
fn promtool(test: &str, arguments: &[&str]) {
    let Some(mut promtool) = receivers::promtool(test) else { return };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dashboards/prometheus");
    let output = promtool.args(arguments).current_dir(folder).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && complaints.trim().is_empty(), "{said}{complaints}");
}

#[test]
fn rules_and_alerts_are_valid() {
    let test = "rules_and_alerts_are_valid";
    promtool(test, &["check", "rules", "recording.yaml", "alerts.yaml"]);
}

#[test]
fn alerts_fire_on_their_faults_and_nowhere_else() {
    promtool(
        "alerts_fire_on_their_faults_and_nowhere_else",
        &["test", "rules", "alerts.test.yaml"],
    );
}
