//! Packages that boards are compared with, in target/grafana. Nothing is installed.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::repository::{command, is_installed, root};

/// Where packages are kept.
pub(crate) fn folder() -> PathBuf {
    root().join("target/grafana")
}

/// A release of Grafana's types.
pub(super) struct Release {
    /// Its major version.
    pub(super) major: u32,
    pub(super) version: &'static str,
}

/// The latest of each major release that boards are for.
pub(super) const RELEASES: &[Release] = &[
    Release { major: 11, version: "11.6.16" },
    Release { major: 12, version: "12.4.11" },
    Release { major: 13, version: "13.2.3" },
];

/// A release of Grafana's SDK for Python.
pub(super) struct Sdk {
    pub(super) version: &'static str,
    pub(super) folder: &'static str,
}

/// The newest one.
pub(super) const SDKS: &[Sdk] = &[Sdk { version: "0.0.21", folder: "sdk" }];

/// TypeScript, and what Grafana draws with.
const OTHERS: &[&str] = &["typescript@5.9.3", "uplot@1.6.32"];

/// Programs without which packages cannot be fetched or used.
pub(crate) fn missing() -> Vec<&'static str> {
    ["npm", "node", "python3"].into_iter().filter(|program| !is_installed(program)).collect()
}

/// Fetches what is not there yet, by npm and pip.
pub(crate) fn packages() -> Result<()> {
    let folder = folder();
    fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
    let schemas = RELEASES
        .iter()
        .map(|release| format!("schema-{}@npm:@grafana/schema@{}", release.major, release.version));
    let wanted: Vec<String> =
        schemas.chain(OTHERS.iter().map(|other| (*other).to_owned())).collect();
    // Written last: a download that was interrupted begins again.
    let done = folder.join("fetched");
    let list = format!("{}\n{}\n", wanted.join("\n"), SDKS[0].version);
    if fs::read_to_string(&done).is_ok_and(|known| known == list) {
        return Ok(());
    }
    fs::write(folder.join("package.json"), "{\"private\":true}\n").context("write package.json")?;
    let mut npm = command("npm");
    npm.current_dir(&folder).args(["install", "--silent", "--no-audit", "--no-fund"]);
    npm.args(["--no-save", "--ignore-scripts"]).args(&wanted);
    run(npm, "npm install")?;
    for sdk in SDKS {
        let mut pip = command("python3");
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]);
        pip.args(["--root-user-action=ignore", "--upgrade", "--target"]);
        pip.arg(folder.join(sdk.folder)).arg(format!("grafana-foundation-sdk=={}", sdk.version));
        run(pip, "pip install")?;
    }
    fs::write(done, list).context("note what was fetched")
}

/// Runs it; mirrors fail now and then, so up to three times.
fn run(mut program: Command, name: &str) -> Result<()> {
    for delay in [Some(5), Some(20), None] {
        let output = program.output().with_context(|| format!("start {name}"))?;
        if output.status.success() {
            break;
        }
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        let Some(delay) = delay else { bail!("{name}: {said}") };
        std::thread::sleep(Duration::from_secs(delay));
    }
    Ok(())
}
