//! The virtual machine: QEMU's command line, one boot, and when it has failed.

use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::accelerator::Accelerator;
use super::build::Built;
use super::console;
use super::kernel::Kernel;
use super::share::Share;
use super::tree;
use crate::clock::Deadline;
use crate::repository::root;

const MEMORY_MIB: &str = "2048";

/// `oops=panic`: a kernel oops ends the run at once, with its console output.
/// `no_timer_check`: on a busy host a guest's timer may look broken.
const KERNEL_ARGUMENTS: &str = "console=ttyS0 panic=-1 oops=panic quiet mitigations=off nokaslr \
     tsc=unstable no_timer_check";

/// Who uses the job's terminal.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Terminal {
    /// Nobody: the job's output is shown.
    None,
    /// Whoever started this program.
    Own,
}

impl Terminal {
    /// Settings of stty in the guest: raw output, or a terminal of this size.
    pub(super) fn settings(self) -> String {
        let size = || {
            let output = Command::new("stty").arg("size").stdin(Stdio::inherit()).output().ok()?;
            let size = String::from_utf8(output.stdout).ok()?;
            let (rows, columns) = size.trim().split_once(' ')?;
            Some(format!("sane rows {rows} columns {columns}"))
        };
        match self {
            Self::None => "raw -echo".to_owned(),
            Self::Own => size().unwrap_or_else(|| "sane".to_owned()),
        }
    }
}

/// One guest.
pub(super) struct Machine<'a> {
    pub(super) built: &'a Built,
    pub(super) kernel: &'a Kernel,
    pub(super) accelerator: Accelerator,
    pub(super) share: &'a Share,
    pub(super) terminal: Terminal,
}

impl Machine<'_> {
    /// Boots, runs the share's job to its end and returns its exit status.
    ///
    /// # Errors
    /// If the guest hangs until `limit`, panics or ends without a status; with its last console lines.
    pub(super) fn boot(&self, limit: Duration) -> Result<u8> {
        let console = self.built.folder.join("console.log");
        let complaints = self.built.folder.join("qemu.log");
        let mut qemu = self.command(&console);
        let file =
            |path: &Path| File::create(path).with_context(|| format!("create {}", path.display()));
        file(&console)?;
        qemu.stderr(file(&complaints)?);
        if self.terminal == Terminal::None {
            qemu.stdin(Stdio::null());
        }
        let mut child = qemu.spawn().context("start QEMU through setpriv (of util-linux)")?;
        let in_time = wait(&mut child, limit)?;
        if let Some(status) = self.share.status().filter(|_| in_time) {
            return Ok(status);
        }
        let what = if in_time { "ended without a result" } else { "did not end in time" };
        bail!(
            "the guest {what} ({:?}, limit {} s)\nits console's last lines:\n{}\nQEMU: {}",
            self.accelerator,
            limit.as_secs(),
            console::tail(&console),
            console::tail(&complaints)
        )
    }

    fn command(&self, console: &Path) -> Command {
        let Built { tree, .. } = self.built;
        let Kernel { image, initramfs } = self.kernel;
        let mut qemu = tree::program(tree, "qemu-system-x86_64", "usr/bin/qemu-system-x86_64");
        for folder in ["usr/share/qemu", "usr/share/seabios"] {
            qemu.arg("-L").arg(tree.join(folder));
        }
        qemu.args(["-M", "q35", "-accel", self.accelerator.option(), "-cpu", "max", "-smp", "1"]);
        qemu.args(["-m", MEMORY_MIB, "-nodefaults", "-no-user-config", "-no-reboot"]);
        qemu.args(["-display", "none", "-append", KERNEL_ARGUMENTS]);
        qemu.arg("-kernel").arg(image).arg("-initrd").arg(initramfs);
        // The first serial port is the console, the second the job's terminal.
        qemu.arg("-chardev").arg(format!("file,id=console,path={}", comma_doubled(console)));
        qemu.args(["-serial", "chardev:console"]);
        qemu.args(["-chardev", "stdio,id=job,signal=off", "-serial", "chardev:job"]);
        let shares = [(tree.as_path(), "tree", ",readonly=on"), (root(), "repo", ",readonly=on")];
        for (path, tag, access) in shares.into_iter().chain([(&*self.share.folder, "host", "")]) {
            let path = comma_doubled(path);
            qemu.arg("-virtfs").arg(format!(
                "local,path={path},mount_tag={tag},security_model=none,multidevs=remap{access}"
            ));
        }
        bound(&qemu)
    }
}

/// `program`, which the kernel kills when this process ends in any way.
fn bound(program: &Command) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL"]).arg(program.get_program()).args(program.get_args());
    for (name, value) in program.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    command
}

/// A path as QEMU's options take it.
fn comma_doubled(path: &Path) -> String {
    path.display().to_string().replace(',', ",,")
}

/// Whether `child` ended within `limit`; otherwise it is killed.
fn wait(child: &mut Child, limit: Duration) -> Result<bool> {
    let deadline = Deadline::after(limit);
    loop {
        if child.try_wait().context("wait for QEMU")?.is_some() {
            return Ok(true);
        }
        if deadline.has_passed() {
            child.kill().context("end QEMU")?;
            child.wait().context("wait for QEMU")?;
            return Ok(false);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
