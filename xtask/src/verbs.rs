//! What the feature `verbs` needs on the host: rdma-sys makes its bindings at build time.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::repository::{command, is_installed};

/// Where Debian and Ubuntu put libclang 14. rdma-sys 0.3 has bindgen 0.59, which newer ones break.
const LIBCLANG: &str = "/usr/lib/llvm-14/lib";

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

/// Programs with the feature, built with the suite's profile.
pub(crate) struct Programs {
    pub(crate) railscope: PathBuf,
    pub(crate) suite: PathBuf,
}

pub(crate) fn build() -> Result<Programs> {
    let missing = missing_packages();
    ensure!(missing.is_empty(), "the feature verbs: missing packages: {}", missing.join(" "));
    let mut build = cargo();
    build.args(["test", "--no-run", "--package", "railscope", "--features", "verbs"]);
    build.args(["--test", "suite", "--message-format", "json-render-diagnostics"]);
    let output = build.stderr(Stdio::inherit()).output().context("start cargo")?;
    ensure!(output.status.success(), "railscope does not build with the feature verbs");
    let lines = output.stdout.split(|&byte| byte == b'\n');
    let built: Vec<Built> = lines.filter_map(|line| serde_json::from_slice(line).ok()).collect();
    let find = |name: &str, test: bool| {
        let mut named = built.iter().filter(|built| built.target.name == name);
        let found = named.find(|built| built.profile.test == test);
        found
            .map(|built| built.executable.clone())
            .with_context(|| format!("cargo built no {name}"))
    };
    Ok(Programs { railscope: find("railscope", false)?, suite: find("suite", true)? })
}

/// Cargo's JSON message about a program.
#[derive(Deserialize)]
struct Built {
    target: Target,
    profile: Profile,
    executable: PathBuf,
}

#[derive(Deserialize)]
struct Target {
    name: String,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}
