//! Programs of others that take what railscope exports: Python's official libraries and a Prometheus
//! that takes OTLP. `.ci/run` puts them into `target/receivers`; installed ones do as well.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::require;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/receivers")
}

/// Python with `module`; `None` where it cannot be had.
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

/// Prometheus, 2.47 or later; `None` where it cannot be had.
pub fn prometheus(test: &str) -> Option<Command> {
    let fetched = folder().join("prometheus/usr/bin/prometheus");
    let program = if fetched.exists() { fetched } else { PathBuf::from("prometheus") };
    let mut version = Command::new(&program);
    version.arg("--version").stdin(Stdio::null());
    require::works(test, &mut version, "Prometheus").then(|| Command::new(program))
}
