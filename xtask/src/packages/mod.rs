//! `cargo xtask packages`: builds what `docs/DEPLOY.md` installs, and follows that page. The work is done by
//! the scripts in `collector/packaging`.

mod chart;
mod container;
mod lists;
mod script;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use crate::clock::timed;
use crate::repository::{command, is_installed};

#[derive(clap::Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    work: Work,
}

#[derive(clap::Subcommand)]
enum Work {
    /// Build the binary and packages into target/packages
    Build {
        /// Take this binary instead of building one
        #[arg(long)]
        binary: Option<PathBuf>,
        /// Take this profiler plugin instead of building one
        #[arg(long)]
        plugin: Option<PathBuf>,
        /// What to build of it
        #[arg(default_values = ["deb", "rpm", "image", "chart", "sbom", "sums"])]
        kinds: Vec<String>,
    },
    /// Follow docs/DEPLOY.md with what was built: needs root
    Check {
        /// Parts to check
        #[arg(default_values = PARTS)]
        parts: Vec<String>,
    },
    /// Build the last commit twice, in two folders, and compare the packages byte by byte
    Reproduce,
}

const PARTS: [&str; 3] = ["debian", "chart", "container"];

/// Programs that checks need besides those of `tools.sh`.
const PROGRAMS: [&str; 8] = [
    "buildah",
    "podman",
    "runc",
    "mmdebstrap",
    "systemd-nspawn",
    "lintian",
    "prometheus",
    "cargo-deb",
];

/// `cargo xtask packages`.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    match &options.work {
        Work::Build { binary, plugin, kinds } => {
            build(binary.as_deref(), plugin.as_deref(), kinds)?;
        }
        Work::Check { parts } => check(parts)?,
        Work::Reproduce => script::run("reproduce.sh", &[])?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Programs that are not installed.
pub(crate) fn missing_programs() -> Vec<&'static str> {
    let is_missing = |program: &&str| {
        !script::tools().iter().any(|folder| folder.join(program).exists())
            && !is_installed(program)
    };
    PROGRAMS.into_iter().chain(["helm", "cargo-zigbuild"]).filter(is_missing).collect()
}

/// Packages of the program that the suite runs and of the plugin as it is released, and everything that is
/// checked of them.
pub(crate) fn check_with(binary: &Path) -> Result<()> {
    build(Some(binary), None, &["deb", "image", "chart"].map(str::to_owned))?;
    check(&PARTS.map(str::to_owned))
}

fn build(binary: Option<&Path>, plugin: Option<&Path>, kinds: &[String]) -> Result<()> {
    let binary = given_or_built(binary, "binary.sh")?;
    let plugin = given_or_built(plugin, "plugin.sh")?;
    script::run("stage.sh", &[&binary, &plugin])?;
    let kinds: Vec<&str> = kinds.iter().map(String::as_str).collect();
    script::run("packages.sh", &kinds)
}

/// The file that was given, or the one that a script builds and names.
fn given_or_built(given: Option<&Path>, builder: &str) -> Result<String> {
    let file = match given {
        Some(given) => given.to_owned(),
        None => PathBuf::from(script::output(builder, &[])?.trim()),
    };
    let file = file.canonicalize().with_context(|| format!("find {}", file.display()))?;
    file.into_os_string().into_string().ok().context("the path is not UTF-8")
}

fn check(parts: &[String]) -> Result<()> {
    for part in parts {
        let (outcome, seconds) = timed(|| match part.as_str() {
            "debian" => check_debian(&[]),
            // The oldest Debian that the archive still has: its glibc is the packages' limit.
            "debian-11" => check_debian(&["bullseye"]),
            "rpm" => lists::check().and_then(|()| script::run("check/rpm.sh", &[])),
            "chart" => chart::check(),
            "container" => container::check(),
            other => bail!("no part `{other}`: debian, debian-11, rpm, chart or container"),
        });
        outcome.with_context(|| format!("packages: {part}"))?;
        println!("packages: {part}: {seconds:.1} s");
    }
    Ok(())
}

fn check_debian(arguments: &[&str]) -> Result<()> {
    lists::check()?;
    let mut lintian = command("bash");
    lintian.args([
        "-c",
        "lintian --allow-root --fail-on error,warning,info target/packages/railscope_*.deb",
    ]);
    let status = lintian.status().context("start lintian")?;
    anyhow::ensure!(status.success(), "lintian");
    script::run("check/debian.sh", arguments)
}
