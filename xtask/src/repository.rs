//! Where the repository is, which files belong to it, and how its commands are started.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// The repository's root folder.
pub(crate) fn root() -> &'static Path {
    // The manifest's folder is `<root>/xtask`, so a parent always exists.
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest)
}

/// A command that runs in the repository's root.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root());
    command
}

/// The program, built now with this profile of cargo; `test` builds what the suite runs, and the
/// suite with it.
pub(crate) fn build_railscope(profile: &str) -> Result<PathBuf> {
    let mut cargo = command("cargo");
    if profile == "test" {
        cargo.args(["test", "--quiet", "--workspace", "--lib", "--bins", "--tests", "--no-run"]);
    } else {
        cargo.args(["build", "--quiet", "--package", "railscope", "--bin", "railscope"]);
        cargo.args(["--profile", profile]);
    }
    let status = cargo.status().context("start cargo")?;
    ensure!(status.success(), "railscope does not build");
    Ok(built(profile)?.join("railscope"))
}

/// The profiler plugin, built now with this profile of cargo.
pub(crate) fn build_profiler(profile: &str) -> Result<PathBuf> {
    let mut cargo = command("cargo");
    cargo.args(["build", "--quiet", "--package", "railscope-profiler", "--profile", profile]);
    let status = cargo.status().context("start cargo")?;
    ensure!(status.success(), "the profiler plugin does not build");
    Ok(built(profile)?.join("libnccl_profiler_railscope.so"))
}

/// Where cargo puts what it builds with this profile.
fn built(profile: &str) -> Result<PathBuf> {
    // This program is `<target>/debug/xtask`.
    let own = std::env::current_exe().context("find the target folder")?;
    let target = own.parent().and_then(Path::parent).context("find the target folder")?;
    let folder = if matches!(profile, "dev" | "test") { "debug" } else { profile };
    Ok(target.join(folder))
}

/// Whether `program` is installed: whether `program --version` can be started at all.
pub(crate) fn is_installed(program: &str) -> bool {
    let mut probe = command(program);
    probe.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    probe.status().is_ok()
}

/// Paths, relative to the root, of every file that is tracked or could be added by mistake.
pub(crate) fn files() -> Result<Vec<PathBuf>> {
    let output = command("git")
        // A container often builds a checkout that another user owns; reading a list is harmless.
        .args(["-c", &format!("safe.directory={}", root().display())])
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .output()
        .context("start git to list the repository's files")?;
    ensure!(
        output.status.success(),
        "list the repository's files: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    let listing = String::from_utf8(output.stdout).context("a file name is not UTF-8")?;
    let names = listing.split('\0').filter(|name| !name.is_empty());
    // A deleted file stays listed until its removal is committed.
    Ok(names.map(PathBuf::from).filter(|path| root().join(path).is_file()).collect())
}
