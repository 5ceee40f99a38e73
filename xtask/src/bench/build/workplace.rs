//! A copy of the repository with a target folder of its own: the checkout is never touched.

use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::repository::{command, root};

/// A git worktree with its target folder, among temporary files; dropping this deletes both.
pub(super) struct Workplace {
    folder: PathBuf,
    revision: String,
}

impl Workplace {
    /// The checkout as it is, changes to tracked files included.
    pub(super) fn of_checkout() -> Result<Self> {
        // A commit of the changes on no branch; nothing if there are none.
        let author = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"];
        let changes = output(git().args(author).args(["stash", "create"]))?;
        let commit = if changes.is_empty() { "HEAD" } else { &changes };
        let suffix = if changes.is_empty() { "" } else { " with changes" };
        Self::new(commit, format!("{}{suffix}", short("HEAD")?))
    }

    pub(super) fn at(revision: &str) -> Result<Self> {
        Self::new(revision, short(revision)?)
    }

    fn new(commit: &str, revision: String) -> Result<Self> {
        let name = format!("railscope-bench-build-{}", std::process::id());
        let workplace = Self { folder: std::env::temp_dir().join(name), revision };
        fs::create_dir(&workplace.folder)
            .with_context(|| format!("create {}", workplace.folder.display()))?;
        let tree = workplace.tree();
        output(git().args(["worktree", "add", "--quiet", "--detach"]).arg(tree).arg(commit))?;
        Ok(workplace)
    }

    /// What is built, as the table names it.
    pub(super) fn revision(&self) -> &str {
        &self.revision
    }

    pub(super) fn tree(&self) -> PathBuf {
        self.folder.join("tree")
    }

    pub(super) fn target(&self) -> PathBuf {
        self.folder.join("target")
    }

    /// Fetches the dependencies, so that no build waits for the network.
    pub(super) fn fetch(&self) -> Result<()> {
        let status = self.cargo("fetch").args(["--quiet", "--locked"]).status()?;
        ensure!(status.success(), "the dependencies of {} cannot be fetched", self.revision);
        Ok(())
    }

    /// Cargo in the worktree.
    pub(super) fn cargo(&self, command: impl AsRef<OsStr>) -> Command {
        let mut cargo = Command::new("cargo");
        cargo.current_dir(self.tree()).arg(command).env("CARGO_TARGET_DIR", self.target());
        cargo.stdin(Stdio::null());
        cargo
    }
}

impl Drop for Workplace {
    fn drop(&mut self) {
        let removed = fs::remove_dir_all(&self.folder);
        if removed.is_err() || output(git().args(["worktree", "prune"])).is_err() {
            eprintln!("remove {} and run `git worktree prune`", self.folder.display());
        }
    }
}

fn short(revision: &str) -> Result<String> {
    output(git().args(["rev-parse", "--short", "--verify", "--quiet", &format!("{revision}^{{}}")]))
        .with_context(|| format!("{revision} is no revision"))
}

fn git() -> Command {
    let mut git = command("git");
    // A container often builds a checkout that another user owns.
    git.args(["-c", &format!("safe.directory={}", root().display())]);
    git
}

fn output(git: &mut Command) -> Result<String> {
    let output = git.output().context("start git")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "git: {}", said.trim());
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
