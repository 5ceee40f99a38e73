//! The scripts in `collector/packaging`, and programs with their tools.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::clock::timed;
use crate::repository::{command, root};

/// Where `tools.sh` puts programs; its scripts look there, too.
pub(super) fn tools() -> [PathBuf; 2] {
    ["tools/bin", "tools/python/zig/bin"].map(|place| folder().join(place))
}

/// Where packages are.
pub(super) fn folder() -> PathBuf {
    root().join("target/packages")
}

/// A program, of the tools or of this machine.
pub(super) fn program(name: &str) -> Command {
    let kubernetes = folder().join("tools/python/kubernetes");
    let mut path = OsString::new();
    for folder in tools() {
        path.push(folder);
        path.push(":");
    }
    path.push(kubernetes.join("bin"));
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    let mut command = command(name);
    command.env("PATH", path).env("PYTHONPATH", kubernetes);
    command
}

fn script(name: &str, arguments: &[&str]) -> Command {
    let mut script = program("bash");
    script.arg(root().join("collector/packaging").join(name)).args(arguments);
    script
}

/// Runs a script to its end.
pub(super) fn run(name: &str, arguments: &[&str]) -> Result<()> {
    let status = script(name, arguments).status();
    let status = status.with_context(|| format!("start collector/packaging/{name}"))?;
    ensure!(status.success(), "collector/packaging/{name} failed");
    Ok(())
}

/// What a script prints.
pub(super) fn output(name: &str, arguments: &[&str]) -> Result<String> {
    output_of(&mut script(name, arguments))
}

/// What a program prints; what it complains about goes to the terminal.
pub(super) fn output_of(command: &mut Command) -> Result<String> {
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("start {:?}", command.get_program()))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(output.status.success(), "{command:?} failed:\n{text}");
    Ok(text)
}

/// Runs the commands of `docs/DEPLOY.md` with this name in the folder of packages, and says how long they took;
/// returns their output.
pub(super) fn page(name: &str, variables: &[(&str, PathBuf)]) -> Result<String> {
    let commands = output("check/blocks.sh", &[name])?;
    let mut shell = program("bash");
    shell.current_dir(folder()).args(["-c", &commands]).envs(variables.iter().cloned());
    let (shown, seconds) = timed(|| output_of(&mut shell));
    let shown = shown.with_context(|| format!("the commands of docs/DEPLOY.md, block {name}"))?;
    println!("block {name} of the page took {seconds:.1} s");
    Ok(shown)
}
