//! Links and addresses, made by iproute2's `ip -batch`.

use std::io::{self, Write};
use std::process::{Command, Stdio};

use crate::{DriveError, Result};

/// Paths of `ip`: for every user, and for root only.
const PROGRAMS: [&str; 3] = ["ip", "/usr/sbin/ip", "/sbin/ip"];

/// A command that reads lines of `ip` arguments and stops at the first failure.
fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    command.args(["-batch", "-"]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// Runs `lines` in the namespace of the calling thread.
pub(super) fn run(lines: &str) -> Result<()> {
    run_prepared(lines, |_| {}).map_err(DriveError::Unusable)
}

/// Runs `lines` in a command that `prepare` may modify; the error is what `ip` printed.
pub(super) fn run_prepared(
    lines: &str,
    prepare: impl Fn(&mut Command),
) -> std::result::Result<(), String> {
    for program in PROGRAMS {
        let mut command = command(program);
        prepare(&mut command);
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(format!("the kernel refused a network namespace: {error}")),
        };
        // If it ends before reading everything, its own output says why.
        let written =
            child.stdin.take().map_or(Ok(()), |mut pipe| pipe.write_all(lines.as_bytes()));
        let output = child.wait_with_output().map_err(|error| format!("{program}: {error}"))?;
        if output.status.success() {
            return written.map_err(|error| format!("{program}: {error}"));
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.lines().next().unwrap_or("it failed").trim();
        return Err(format!("cannot create network links: ip: {said}"));
    }
    Err("network links need the program ip: install iproute2".to_owned())
}
