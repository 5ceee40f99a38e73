//! The command that a capture runs beside.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};

use crate::cli::signal;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// After Ctrl-C, which the terminal sends to both, the command has this long to end by itself; then it is
/// asked with SIGTERM.
const PATIENCE: Duration = Duration::from_secs(2);

/// A running command.
pub(super) struct Running {
    child: Child,
    status: Option<ExitStatus>,
    interrupted: Option<Instant>,
    is_asked: bool,
}

impl Running {
    /// Starts it, with the terminal of this process.
    pub(super) fn start(words: &[OsString]) -> anyhow::Result<Option<Self>> {
        let Some((program, arguments)) = words.split_first() else { return Ok(None) };
        let spawn = || {
            // A program inherits what its parent's thread blocks.
            signal::unblock(Signal::SIGUSR1)?;
            Command::new(program).args(arguments).spawn()
        };
        let failed = || io::Error::other("the thread that starts it failed");
        let child = thread::scope(|scope| scope.spawn(spawn).join()).map_err(|_| failed())?;
        let child = child.with_context(|| format!("run {}", program.display()))?;
        Ok(Some(Self { child, status: None, interrupted: None, is_asked: false }))
    }

    /// Whether it has ended.
    pub(super) fn has_ended(&mut self) -> anyhow::Result<bool> {
        if self.status.is_none() {
            self.status = self.child.try_wait().context("wait for the command")?;
        }
        Ok(self.status.is_some())
    }

    /// Ctrl-C or SIGTERM came.
    pub(super) fn interrupt(&mut self) {
        let since = *self.interrupted.get_or_insert_with(now);
        if since.elapsed() >= PATIENCE && !std::mem::replace(&mut self.is_asked, true) {
            let pid = i32::try_from(self.child.id()).map(Pid::from_raw);
            // It may have ended meanwhile.
            _ = pid.map(|pid| kill(pid, Signal::SIGTERM));
        }
    }

    /// Whether it ended with an error.
    pub(super) fn has_failed(&self) -> bool {
        self.status.is_some_and(|status| !status.success())
    }

    /// Its exit code, as a shell has it.
    pub(super) fn exit_code(&self) -> anyhow::Result<u8> {
        let status = self.status.ok_or_else(|| anyhow!("the command still runs"))?;
        let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
        Ok(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
    }

    /// How it ended, in words.
    pub(super) fn line(&self) -> String {
        self.status.map_or_else(String::new, |status| format!("the command ended: {status}"))
    }
}

#[expect(clippy::disallowed_methods, reason = "a command has time to end")]
fn now() -> Instant {
    Instant::now()
}
