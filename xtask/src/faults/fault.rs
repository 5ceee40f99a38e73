//! The faults: system calls of the agent that fail, as strace has the kernel answer; signals; its clock; a mount.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use railscope_testbed::agent::Agent;

use super::stage::Stage;
use crate::clock::Stopwatch;
use crate::repository::command;

/// How long a fault lasts.
const LENGTH: Duration = Duration::from_secs(2);

/// How long a mount hangs: the agent looks for libraries every few seconds.
const HUNG: Duration = Duration::from_secs(10);

/// How long the clock is wrong: reports are made of it.
const SET: Duration = Duration::from_secs(5);

/// Something that goes wrong.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fault {
    /// Every third call of this name, by any thread, fails with this error.
    Call(&'static str, &'static str),
    /// SIGSTOP, and SIGCONT.
    Stopped,
    /// The clock of its host is set this many seconds ahead, or back.
    Clock(i64),
    /// A process has loaded NCCL from a mount that hangs from then on.
    HungMount,
}

/// What the agent calls while it runs. Not `close`, which would only leak what it should close, nor what
/// takes memory: without memory it ends, and is started again.
pub(super) const ALL: [Fault; 23] = [
    Fault::Call("accept4", "EMFILE"),
    Fault::Call("bpf", "EPERM"),
    Fault::Call("clock_nanosleep", "EINTR"),
    Fault::Call("epoll_ctl", "ENOMEM"),
    Fault::Call("epoll_wait", "EINTR"),
    Fault::Call("getdents64", "EIO"),
    Fault::Call("newfstatat", "EIO"),
    Fault::Call("openat", "EMFILE"),
    Fault::Call("openat", "EACCES"),
    Fault::Call("read", "EIO"),
    Fault::Call("read", "EINTR"),
    Fault::Call("recvfrom", "ECONNRESET"),
    Fault::Call("recvmsg", "ENOBUFS"),
    Fault::Call("sendto", "ENOBUFS"),
    Fault::Call("shutdown", "ENOTCONN"),
    Fault::Call("socket", "EMFILE"),
    Fault::Call("statx", "EIO"),
    Fault::Call("write", "ENOSPC"),
    Fault::Call("writev", "EPIPE"),
    Fault::Stopped,
    Fault::Clock(3600),
    Fault::Clock(-3600),
    Fault::HungMount,
];

impl Fault {
    /// As the table has it.
    pub(super) fn name(self) -> String {
        match self {
            Self::Call(call, error) => format!("`{call}`: {error}"),
            Self::Stopped => format!("stopped for {} s (SIGSTOP)", LENGTH.as_secs()),
            Self::Clock(seconds) => format!("clock set by {:+} h, and back", seconds / 3600),
            Self::HungMount => {
                format!("NCCL on a FUSE mount that hangs for {} s", HUNG.as_secs())
            }
        }
    }

    /// Whether it is among these; all are if there are none.
    pub(super) fn is_one_of(self, calls: &[String]) -> bool {
        let own = match self {
            Self::Call(call, _) => call,
            Self::Stopped => "stopped",
            Self::Clock(_) => "clock",
            Self::HungMount => "mount",
        };
        calls.is_empty() || calls.iter().any(|call| call == own)
    }

    /// Has it happen to an agent whose pages are asked for meanwhile; returns how often it did.
    ///
    /// # Errors
    ///
    /// strace is missing, or the agent has ended.
    pub(super) fn inject(self, agent: &Agent, stage: &Stage, folder: &Path) -> Result<u64> {
        match self {
            Self::Call(call, error) => fail(agent, call, error, &folder.join("strace")),
            Self::Stopped => {
                let pid = Pid::from_raw(i32::try_from(agent.pid()).context("a process's number")?);
                kill(pid, Signal::SIGSTOP).context("stop the agent")?;
                sleep(LENGTH);
                kill(pid, Signal::SIGCONT).context("let the agent go on")?;
                Ok(1)
            }
            Self::Clock(seconds) => {
                stage.set_clock(seconds)?;
                answers_for(agent, SET)?;
                stage.set_clock(0)?;
                Ok(1)
            }
            Self::HungMount => {
                let _hung = stage.hang()?;
                answers_for(agent, HUNG)?;
                Ok(1)
            }
        }
    }
}

/// Its pages are answered all the time.
fn answers_for(agent: &Agent, length: Duration) -> Result<()> {
    let age = Stopwatch::start();
    while age.elapsed() < length {
        ensure!(agent.get("/metrics").is_some(), "the agent gives no metrics meanwhile");
        sleep(Duration::from_millis(200));
    }
    Ok(())
}

fn fail(agent: &Agent, call: &str, error: &str, log: &Path) -> Result<u64> {
    let mut strace = command("strace");
    strace.args(["-f", "-qq", "-p", &agent.pid().to_string()]);
    strace.args(["-e", &format!("trace={call}")]);
    strace.args(["-e", &format!("inject={call}:error={error}:when=1+3")]);
    strace.arg("-o").arg(log).stdin(Stdio::null()).stderr(Stdio::null());
    let mut strace = strace.spawn().context("start strace")?;
    let age = Stopwatch::start();
    while age.elapsed() < LENGTH {
        sleep(Duration::from_millis(200));
        // Answers may fail; requests are what makes some of the calls.
        for page in ["metrics", "report.json"] {
            let mut curl = command("curl");
            curl.args(["--silent", "--max-time", "1", "--output", "/dev/null"]);
            _ = curl.arg(format!("http://{}/{page}", agent.address())).status();
        }
    }
    let pid = Pid::from_raw(i32::try_from(strace.id()).context("a process's number")?);
    kill(pid, Signal::SIGINT).context("stop strace")?;
    strace.wait().context("wait for strace")?;
    let status = fs::read_to_string(format!("/proc/{}/status", agent.pid()));
    let has_ended = status.map_or(true, |status| status.contains("State:\tZ"));
    ensure!(!has_ended, "{call}: the agent has ended");
    let text = fs::read_to_string(log).with_context(|| format!("read {}", log.display()))?;
    Ok(text.matches("(INJECTED)").count() as u64)
}
