//! What the feature `verbs` needs on the host: rdma-sys makes its bindings at build time.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::repository::{command, is_installed};

/// Where Debian and Ubuntu put libclang 14. rdma-sys 0.3 has bindgen 0.59, which newer ones break.
const LIBCLANG: &str = "/usr/lib/llvm-14/lib";

/// The feature, as the whole workspace is built with it.
pub(crate) const FEATURE: &str = "railscope/verbs";

/// The driver's own tests with the feature.
pub(crate) const DRIVER: [&str; 7] =
    ["--package", "railscope-drive", "--features", "verbs", "--lib", "--test", "verbs"];

/// The headers that bindgen reads, and the Debian packages that have them.
const FILES: &[(&str, &str)] = &[
    ("/usr/include/infiniband/verbs.h", "libibverbs-dev"),
    ("/usr/include/rdma/rdma_cma.h", "librdmacm-dev"),
];

/// Packages missing on this host.
pub(crate) fn missing_packages() -> Vec<&'static str> {
    let headers = FILES.iter().filter(|(file, _)| !Path::new(file).exists());
    let mut missing: Vec<_> = headers.map(|(_, package)| *package).collect();
    if env::var_os("LIBCLANG_PATH").is_none() && !Path::new(LIBCLANG).join("libclang.so").exists() {
        missing.push("libclang-14-dev");
    }
    if !is_installed("pkg-config") {
        missing.push("pkg-config");
    }
    missing
}

/// Cargo, with the path of libclang in its environment.
pub(crate) fn cargo() -> Command {
    let mut cargo = command("cargo");
    if env::var_os("LIBCLANG_PATH").is_none() {
        cargo.env("LIBCLANG_PATH", LIBCLANG);
    }
    cargo
}

/// What is built with the feature, with the suite's profile.
pub(crate) struct Programs {
    pub(crate) railscope: PathBuf,
    /// The driver's own tests, which need a device.
    pub(crate) tests: PathBuf,
}

pub(crate) fn build() -> Result<Programs> {
    let missing = missing_packages();
    ensure!(missing.is_empty(), "the feature verbs: missing packages: {}", missing.join(" "));
    let mut program = cargo();
    // Of the whole workspace, because what other members depend on has features, too: what the suite was
    // built with is used again.
    program.args(["build", "--profile", "test", "--workspace", "--bin", "railscope"]);
    program.args(["--features", FEATURE]);
    let mut tests = cargo();
    tests.args(["test", "--no-run"]).args(DRIVER);
    Ok(Programs { railscope: built(program, "railscope")?, tests: built(tests, "verbs")? })
}

/// The program `name` that `build` makes.
fn built(mut build: Command, name: &str) -> Result<PathBuf> {
    build.args(["--message-format", "json-render-diagnostics"]);
    let output = build.stderr(Stdio::inherit()).output().context("start cargo")?;
    ensure!(output.status.success(), "{name} does not build with the feature verbs");
    let lines = output.stdout.split(|&byte| byte == b'\n');
    let mut built = lines.filter_map(|line| serde_json::from_slice::<Built>(line).ok());
    let named = built.find(|built| built.target.name == name);
    Ok(named.with_context(|| format!("cargo built no {name}"))?.executable)
}

/// Cargo's JSON message about a program.
#[derive(Deserialize)]
struct Built {
    target: Target,
    executable: PathBuf,
}

#[derive(Deserialize)]
struct Target {
    name: String,
}
