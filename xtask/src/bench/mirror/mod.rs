//! What a frame of a 100 Gb/s mirror port costs: kernel programs and packet sockets of railscope beside tcpdump
//! and dumpcap.
//!
//! ```text
//! core 0: sender -> veth -> driver (NAPI) -> kernel programs, packet sockets -+-> core 1: who reads
//! ```
//!
//! The sender makes 64 frames, and the kernel receives them before it makes more: so the sender is as fast as the
//! receive path, and nothing is lost on the way. What it needs alone is measured first, and subtracted.

mod frames;
mod sender;
mod sys;
mod taker;

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::{self, sleep};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use nix::net::if_::if_nametoindex;
use nix::sched::{CloneFlags, CpuSet, sched_setaffinity, setns};
use nix::unistd::Pid;

use self::frames::Frames;
use self::sender::Sender;
use self::taker::{SETTLE, TAKERS, Taker};
use super::process::cpu_seconds_of;
use crate::clock::timed;
use crate::repository::is_installed;

/// The namespace with the mirror port.
const NAMESPACE: &str = "railscope-bench-mirror";
const PORT: &str = "mirror0";
/// The other end of its cable.
const FAR: &str = "far";

/// The core that sends and receives, and the one of the process that reads.
const RECEIVES: usize = 0;
const READS: usize = 1;

/// Frames of a run: whole calls of the sender.
const FRAMES: u64 = 4 * sender::RUNS as u64;

/// Turns of all queue pairs after the frames of a run, and the time between two.
const LAST_TURNS: u64 = 150;
const LAST_PAUSE: Duration = Duration::from_millis(2);

/// One run; times are of a frame, ns.
struct Run {
    kernel: f64,
    process: f64,
    /// Shares of the frames that were dropped before any program or socket, and after.
    dropped: f64,
    lost: f64,
}

impl Run {
    /// Frames a second that a core has time for.
    fn rate(&self) -> f64 {
        1e9 / (self.kernel + self.process)
    }
}

/// `cargo xtask bench --mirror`.
pub(super) fn run(railscope: &Path, runs: usize) -> Result<()> {
    for program in ["tcpdump", "dumpcap", "taskset", "ethtool", "curl"] {
        ensure!(is_installed(program), "{program} is not installed");
    }
    let port = Port::new()?;
    for session in [false, true] {
        let sender = Sender::new(&Frames::new(session)).context("load the sender; as root")?;
        let title = if session { "ERSPAN II" } else { "plain" };
        println!("\n### {title}, frames of {} bytes\n", frames::LEN);
        println!(
            "| | kernel, ns a frame | its process, ns a frame | frames/s of one core | dropped before | lost |"
        );
        println!("|---|--:|--:|--:|--:|--:|");
        let mut all = TAKERS.map(|_| Vec::new());
        for _ in 0..runs {
            for (taker, own) in TAKERS.into_iter().zip(&mut all) {
                own.push(port.measure(taker, railscope, &sender)?);
            }
        }
        for (taker, own) in TAKERS.into_iter().zip(&all) {
            print(taker, own);
        }
    }
    Ok(())
}

/// Prints medians.
fn print(taker: Taker, runs: &[Run]) {
    let median = |value: fn(&Run) -> f64| {
        let mut values: Vec<f64> = runs.iter().map(value).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
    };
    println!(
        "| {} | {:.0} | {:.0} | {:.2} M | {:.3} % | {:.3} % |",
        taker.title(),
        median(|run| run.kernel),
        median(|run| run.process),
        median(Run::rate) / 1e6,
        100.0 * median(|run| run.dropped),
        100.0 * median(|run| run.lost)
    );
}

/// A mirror port in a namespace of its own.
struct Port;

impl Port {
    fn new() -> Result<Self> {
        _ = Command::new("ip").args(["netns", "del", NAMESPACE]).stderr(Stdio::null()).status();
        ip(&format!("netns add {NAMESPACE}"))?;
        let port = Self;
        let ends = [PORT, FAR].map(|end| format!("{end} numrxqueues 1 numtxqueues 1"));
        let [near, far] = ends;
        ip(&format!("-n {NAMESPACE} link add {near} type veth peer name {far}"))?;
        for end in [PORT, FAR, "lo"] {
            ip(&format!("-n {NAMESPACE} link set dev {end} addrgenmode none up"))?;
        }
        // Without, a veth without a program in it has no ring.
        succeed(inside("ethtool").args(["-K", PORT, "gro", "on"]))?;
        Ok(port)
    }

    fn measure(&self, taker: Taker, railscope: &Path, sender: &Sender) -> Result<Run> {
        let running = taker.start(railscope)?;
        let alone = send(sender, Target::Nowhere, FRAMES)?;
        let (before, cpu) = (received()?, cpu_seconds_of(running.id())?);
        let seconds = send(sender, Target::Port, FRAMES)? - alone;
        sleep(SETTLE);
        let cpu = cpu_seconds_of(running.id())? - cpu;
        // Kernel programs hold back the last packets of each flow until one comes that is late enough.
        for _ in 0..LAST_TURNS {
            send(sender, Target::Port, frames::TURN)?;
            sleep(LAST_PAUSE);
        }
        sleep(SETTLE);
        let sent = FRAMES + LAST_TURNS * frames::TURN;
        let received = received()? - before;
        let taken = running.end()?.unwrap_or(received);
        let what = || format!("{taken} of {received} of {sent} frames were taken");
        ensure!(taken <= received && received <= sent, "{}: {}", taker.title(), what());
        let [of_run, of_all] = [FRAMES, sent].map(|frames| frames as f64);
        Ok(Run {
            kernel: 1e9 * seconds / of_run,
            process: 1e9 * cpu / of_run,
            dropped: (sent - received) as f64 / of_all,
            lost: (received - taken) as f64 / of_all,
        })
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        _ = Command::new("ip").args(["netns", "del", NAMESPACE]).status();
    }
}

/// Where frames go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    Port,
    /// They are made, and dropped.
    Nowhere,
}

/// Sends from a thread of its own, which enters the namespace, and keeps its core; returns the seconds that it
/// took.
fn send(sender: &Sender, target: Target, frames: u64) -> Result<f64> {
    let work = || -> Result<f64> {
        let path = format!("/run/netns/{NAMESPACE}");
        let namespace = File::open(&path).with_context(|| format!("open {path}"))?;
        setns(&namespace, CloneFlags::CLONE_NEWNET).context("enter the namespace")?;
        let mut cores = CpuSet::new();
        cores.set(RECEIVES)?;
        sched_setaffinity(Pid::from_raw(0), &cores)?;
        let far = if_nametoindex(FAR)?;
        let (sent, seconds) = timed(|| sender.send(far, frames, target == Target::Port));
        sent.context("send")?;
        Ok(seconds)
    };
    thread::scope(|scope| scope.spawn(work).join())
        .unwrap_or_else(|_| anyhow::bail!("the sender failed"))
}

/// Frames that the kernel received at the port.
fn received() -> Result<u64> {
    let path = format!("/sys/class/net/{PORT}/statistics/rx_packets");
    let output = inside("cat").arg(&path).output()?;
    String::from_utf8_lossy(&output.stdout).trim().parse().with_context(|| format!("read {path}"))
}

/// A program in the namespace.
fn inside(program: &str) -> Command {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", NAMESPACE, program]);
    command
}

fn ip(line: &str) -> Result<()> {
    succeed(Command::new("ip").args(line.split(' ')))
}

fn succeed(command: &mut Command) -> Result<()> {
    let status = command.status()?;
    ensure!(status.success(), "{command:?}: {status}; this needs root");
    Ok(())
}
