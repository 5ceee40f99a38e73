//! What faults need that must be there before the agent starts: a clock that can be set for it alone, and a mount
//! that can hang.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::clock::Stopwatch;
use crate::repository::command;

/// How long a mount takes, at most.
const PATIENCE: Duration = Duration::from_secs(10);

/// The name that the agent looks for in maps.
const LIBRARY: &str = "libnccl.so.2";

/// The library that moves the clock, the file that says how far, and the mount.
pub(super) struct Stage {
    clock: PathBuf,
    seconds: PathBuf,
    mount: PathBuf,
    /// The process that serves the mount.
    server: Child,
}

impl Stage {
    /// # Errors
    ///
    /// There is no C compiler, or no bindfs.
    pub(super) fn set(folder: &Path) -> Result<Self> {
        let [clock, seconds] = ["clock.so", "seconds"].map(|name| folder.join(name));
        let source = folder.join("clock.c");
        write(&source, include_bytes!("clock.c"))?;
        write(&seconds, &0_i64.to_ne_bytes())?;
        let mut compile = command("cc");
        compile.args(["-shared", "-fPIC", "-o"]).arg(&clock).arg(&source);
        ensure!(compile.status().context("start cc")?.success(), "compile the clock");
        let [library, mount] = ["library", "mount"].map(|name| folder.join(name));
        for path in [&library, &mount] {
            fs::create_dir_all(path).with_context(|| format!("create {}", path.display()))?;
        }
        // Any library: what is in it is not read as long as the mount hangs.
        fs::copy(&clock, library.join(LIBRARY)).context("copy the library")?;
        let mut serve = command("bindfs");
        serve.args(["-f", "-o", "attr_timeout=0,entry_timeout=0"]).arg(&library).arg(&mount);
        serve.stdin(Stdio::null()).stderr(Stdio::null());
        let server = serve.spawn().context("start bindfs")?;
        let stage = Self { clock, seconds, mount, server };
        let age = Stopwatch::start();
        while !stage.mount.join(LIBRARY).exists() {
            ensure!(age.elapsed() < PATIENCE, "bindfs does not serve {}", stage.mount.display());
            sleep(Duration::from_millis(50));
        }
        Ok(stage)
    }

    /// What makes the clock of a program one that can be set.
    pub(super) fn environment(&self) -> [(&'static str, &Path); 2] {
        [("LD_PRELOAD", &self.clock), ("CLOCK_SECONDS", &self.seconds)]
    }

    /// Sets that clock so far from the host's.
    pub(super) fn set_clock(&self, seconds: i64) -> Result<()> {
        // In place: it is mapped.
        write(&self.seconds, &seconds.to_ne_bytes())
    }

    /// A process with a library on the mount, which hangs from then on.
    pub(super) fn hang(&self) -> Result<Hung<'_>> {
        let library = self.mount.join(LIBRARY);
        let mut user = command("sleep");
        let user = user.arg("600").env("LD_PRELOAD", &library).stdin(Stdio::null()).spawn();
        let hung = Hung { stage: self, user: user.context("start a process")? };
        let maps = format!("/proc/{}/maps", hung.user.id());
        let age = Stopwatch::start();
        while !fs::read_to_string(&maps).is_ok_and(|maps| maps.contains(LIBRARY)) {
            ensure!(age.elapsed() < PATIENCE, "no process loads {}", library.display());
        }
        self.signal(Signal::SIGSTOP)?;
        Ok(hung)
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        let pid = i32::try_from(self.server.id()).context("a process's number")?;
        kill(Pid::from_raw(pid), signal).context("signal bindfs")
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        _ = self.signal(Signal::SIGCONT);
        let mut unmount = command("umount");
        _ = unmount.arg("--lazy").arg(&self.mount).status();
        _ = self.server.kill();
        _ = self.server.wait();
    }
}

/// The mount hangs until this is dropped.
pub(super) struct Hung<'a> {
    stage: &'a Stage,
    user: Child,
}

impl Drop for Hung<'_> {
    fn drop(&mut self) {
        _ = self.stage.signal(Signal::SIGCONT);
        _ = self.user.kill();
        _ = self.user.wait();
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(path, bytes).with_context(|| format!("write {}", path.display()))
}
