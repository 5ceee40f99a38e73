//! Other projects' programs that receive railscope's exports. `.ci/run` puts Python's official
//! libraries and VictoriaMetrics into `target/receivers`; installed ones work too.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::require;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/receivers")
}

/// Python with `module`; `None` if not available.
pub fn python(test: &str, module: &str) -> Option<Command> {
    let python = || {
        let mut python = Command::new("python3");
        python.env("PYTHONPATH", folder().join("python"));
        python
    };
    let mut import = python();
    import.args(["-c", &format!("import {module}")]);
    require::works(test, &mut import, &format!("Python's {module}")).then(python)
}

/// A YAML document, as Python's library reads it; `None` if not available.
pub fn yaml(test: &str, text: &str) -> Option<Value> {
    let mut python = python(test, "yaml")?;
    let script = "import json, sys, yaml; json.dump(yaml.safe_load(sys.stdin), sys.stdout)";
    python.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = python.spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "not YAML");
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

/// Whether Prometheus is available.
pub fn has_prometheus(test: &str) -> bool {
    require::works(test, Command::new("prometheus").arg("--version"), "Prometheus")
}

/// Prometheus' own check of metrics; `None` if not available.
pub fn promtool(test: &str) -> Option<Command> {
    require::works(test, Command::new("promtool").arg("--version"), "promtool")
        .then(|| Command::new("promtool"))
}

/// VictoriaMetrics, 1.92 or later, which accepts OTLP; `None` if not available.
pub fn victoria_metrics(test: &str) -> Option<Command> {
    let fetched = folder().join("victoria-metrics/usr/bin/victoria-metrics");
    let program = if fetched.exists() { fetched } else { PathBuf::from("victoria-metrics") };
    let mut version = Command::new(&program);
    version.arg("--version").stdin(Stdio::null());
    require::works(test, &mut version, "VictoriaMetrics").then(|| Command::new(program))
}
