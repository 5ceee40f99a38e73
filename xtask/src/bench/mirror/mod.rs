//! The frames of a 100 Gb/s mirror port at one core: kernel programs and packet sockets of railscope beside
//! tcpdump and dumpcap, at rates that rise until frames are lost.
//!
//! ```text
//! core 0: frames (sender) -> receive path -> RPS -+-> core 1: kernel programs, packet sockets, and who reads
//! ```
//!
//! RPS hands each frame to core 1 before any program or socket sees it, as a NIC with one queue would
//! interrupt that core. What core 1 has no time for is dropped before, as by a NIC whose ring is full.

mod frames;
mod sender;
mod sys;
mod taker;

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::{self, sleep};

use anyhow::{Context, Result, ensure};
use nix::net::if_::if_nametoindex;
use nix::sched::{CloneFlags, CpuSet, sched_setaffinity, setns};
use nix::unistd::Pid;

use self::frames::Frames;
use self::sender::Sender;
use self::taker::{SETTLE, TAKERS, Taken, Taker};
use super::process::cpu_seconds_of;
use crate::clock::timed;
use crate::repository::is_installed;

/// The namespace with the mirror port.
const NAMESPACE: &str = "railscope-bench-mirror";
const PORT: &str = "mirror0";

/// The core that sends, and the one that takes.
const SENDS: usize = 0;
const TAKES: usize = 1;

/// Tries at each rate.
const TRIES: usize = 3;

/// How long frames are sent.
const SECONDS: f64 = 3.0;

/// Frames a second; the last are 100 Gb/s of packets with 4 KiB.
const RATES: [f64; 8] = [0.25e6, 0.5e6, 0.7e6, 1e6, 1.4e6, 2e6, 2.5e6, 3e6];

/// A lower share of lost frames is none: it is what scheduling of a shared machine loses.
const LOST: f64 = 1e-4;

/// Frames that the kernel keeps for a core that is busy, as many as a large ring of a NIC holds.
const BACKLOG: &str = "/proc/sys/net/core/netdev_max_backlog";
const BACKLOG_FRAMES: &str = "8192";

/// One run.
struct Run {
    /// Frames a second.
    rate: f64,
    sent: u64,
    /// Dropped before any program or socket, because the core had no time for them.
    missed: u64,
    taken: Taken,
    /// CPU seconds of the process.
    cpu: f64,
    seconds: f64,
}

impl Run {
    fn lost(&self) -> u64 {
        self.sent.saturating_sub(self.taken.frames)
    }

    fn is_whole(&self) -> bool {
        (self.lost() as f64) < LOST * self.sent as f64
    }
}

/// `cargo xtask bench --mirror`.
pub(super) fn run(railscope: &Path, runs: usize) -> Result<()> {
    for program in ["tcpdump", "dumpcap", "taskset", "curl"] {
        ensure!(is_installed(program), "{program} is not installed");
    }
    let port = Port::new()?;
    for session in [false, true] {
        let sender = Sender::new(&Frames::new(session)).context("load the sender; as root")?;
        let title = if session { "ERSPAN II" } else { "plain" };
        println!("\n### {title}, frames of {} bytes\n", frames::LEN);
        println!(
            "| | without loss, frames/s | CPU of its process | at the next rate, frames/s | lost | of these \
             before any program or socket | said to be lost |"
        );
        println!("|---|--:|--:|--:|--:|--:|--:|");
        for taker in TAKERS {
            let mut ends = Vec::new();
            for _ in 0..runs {
                ends.push(port.climb(taker, railscope, &sender)?);
            }
            print(taker, ends);
        }
    }
    Ok(())
}

/// Prints the median climb.
fn print(taker: Taker, mut climbs: Vec<Climb>) {
    climbs.sort_by(|a, b| a.rate().total_cmp(&b.rate()));
    let middle = climbs.len() / 2;
    let Some(climb) = climbs.get(middle) else { return };
    let share = |part: f64, whole: f64| format!("{:.2} %", 100.0 * part / whole);
    let cpu = climb.whole.as_ref().map(|run| format!("{:.0} %", 100.0 * run.cpu / run.seconds));
    let lossy = climb.lossy.as_ref().map(|run| {
        let (lost, sent) = (run.lost() as f64, run.sent as f64);
        let (rate, before) = (run.rate, share(run.missed as f64, lost));
        let (lost, said) = (share(lost, sent), share(run.taken.said_lost as f64, lost));
        format!("{rate:.0} | {lost} | {before} | {said}")
    });
    println!(
        "| {} | {:.0} | {} | {} |",
        taker.title(),
        climb.rate(),
        cpu.unwrap_or_default(),
        lossy.unwrap_or_else(|| " | | | ".to_owned())
    );
}

/// The run with the highest rate without loss, and the first with loss.
struct Climb {
    whole: Option<Run>,
    lossy: Option<Run>,
}

impl Climb {
    /// The highest rate without loss; 0 if there is none.
    fn rate(&self) -> f64 {
        self.whole.as_ref().map_or(0.0, |run| run.rate)
    }
}

/// A mirror port in a namespace of its own, whose frames core 1 takes.
struct Port {
    backlog: String,
}

impl Port {
    fn new() -> Result<Self> {
        let backlog = fs::read_to_string(BACKLOG).with_context(|| format!("read {BACKLOG}"))?;
        _ = Command::new("ip").args(["netns", "del", NAMESPACE]).stderr(Stdio::null()).status();
        ip(&format!("netns add {NAMESPACE}"))?;
        let port = Self { backlog };
        fs::write(BACKLOG, BACKLOG_FRAMES).with_context(|| format!("write {BACKLOG}"))?;
        ip(&format!("-n {NAMESPACE} link add {PORT} type veth peer name far"))?;
        for end in [PORT, "far", "lo"] {
            ip(&format!("-n {NAMESPACE} link set dev {end} addrgenmode none up"))?;
        }
        let cores = format!("echo {:x} > /sys/class/net/{PORT}/queues/rx-0/rps_cpus", 1 << TAKES);
        let status = inside("sh").args(["-c", &cores]).status()?;
        ensure!(status.success(), "RPS of {PORT}: {status}");
        Ok(port)
    }

    /// Sends faster until frames are lost each time: others on this machine make anyone lose some.
    fn climb(&self, taker: Taker, railscope: &Path, sender: &Sender) -> Result<Climb> {
        let mut climb = Climb { whole: None, lossy: None };
        for rate in RATES {
            for _ in 0..TRIES {
                let run = self.measure(taker, railscope, sender, rate)?;
                eprintln!(
                    "{}: {:.0} frames/s, {} sent, {} lost, {} of them before, {} said to be lost",
                    taker.title(),
                    run.rate,
                    run.sent,
                    run.lost(),
                    run.missed,
                    run.taken.said_lost
                );
                let is_whole = run.is_whole();
                let place = if is_whole { &mut climb.whole } else { &mut climb.lossy };
                *place = Some(run);
                if is_whole {
                    climb.lossy = None;
                    break;
                }
            }
            if climb.lossy.is_some() {
                break;
            }
        }
        Ok(climb)
    }

    fn measure(&self, taker: Taker, railscope: &Path, sender: &Sender, rate: f64) -> Result<Run> {
        let running = taker.start(railscope)?;
        let before = (dropped()?, cpu_seconds_of(running.id())?);
        let frames = (rate * SECONDS) as u64;
        let (sent, seconds) = timed(|| send(sender, frames, rate));
        sent?;
        let cpu = cpu_seconds_of(running.id())? - before.1;
        // Kernel programs hold back the last packets of each flow until another one comes.
        sleep(SETTLE);
        send(sender, frames::LAP, LAST_FRAMES)?;
        sleep(SETTLE);
        let missed = dropped()? - before.0;
        let sent = frames + frames::LAP;
        let taken =
            running.end()?.unwrap_or(Taken { frames: sent.saturating_sub(missed), said_lost: 0 });
        Ok(Run { rate: frames as f64 / seconds, sent, missed, taken, cpu, seconds })
    }
}

/// Frames a second that nothing loses.
const LAST_FRAMES: f64 = 50_000.0;

impl Drop for Port {
    fn drop(&mut self) {
        _ = Command::new("ip").args(["netns", "del", NAMESPACE]).status();
        if let Err(error) = fs::write(BACKLOG, self.backlog.trim()) {
            eprintln!("{BACKLOG} stays {BACKLOG_FRAMES}: {error}");
        }
    }
}

/// Sends from a thread of its own: it enters the namespace, and keeps its core.
fn send(sender: &Sender, frames: u64, rate: f64) -> Result<()> {
    let work = || -> Result<()> {
        let path = format!("/run/netns/{NAMESPACE}");
        let namespace = File::open(&path).with_context(|| format!("open {path}"))?;
        setns(&namespace, CloneFlags::CLONE_NEWNET).context("enter the namespace")?;
        let mut cores = CpuSet::new();
        cores.set(SENDS)?;
        sched_setaffinity(Pid::from_raw(0), &cores)?;
        sys::run_first().context("send before all others")?;
        sender.send(if_nametoindex(PORT)?, frames, (1e9 / rate) as u64).context("send")
    };
    thread::scope(|scope| scope.spawn(work).join())
        .unwrap_or_else(|_| anyhow::bail!("the sender failed"))
}

/// Frames that were dropped at the port before any program or socket saw them.
fn dropped() -> Result<u64> {
    let path = format!("/sys/class/net/{PORT}/statistics/rx_dropped");
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
    let status = Command::new("ip").args(line.split(' ')).status()?;
    ensure!(status.success(), "ip {line}: {status}; this needs root");
    Ok(())
}
