//! The cost of the agent: driver jobs on this machine, alternately with the agent at their ports
//! and without it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::process::{cpu_seconds_of, cpu_seconds_of_children, peak_anon_bytes};
use crate::clock::timed;

/// A job paced by compute, so that its packet rate does not depend on the machine.
const PACED: Load = Load {
    options: "--ranks 4 --iterations 30 --warmup_iters 0 --check 0 --buckets 8MiB --compute 450ms",
    queue_pairs_per_connection: "1",
    taps: "[\"rank*\"]",
};

/// A job with 1,024 queue pairs at the two ports that are watched: as a node with two NICs and two
/// ranks, each with 32 channels to and from its neighbours, and eight queue pairs for each.
const MANY: Load = Load {
    options: "--ranks 4 --iterations 10 --warmup_iters 0 --check 0 --buckets 8MiB --channels 32 \
              --compute 2000ms",
    queue_pairs_per_connection: "8",
    taps: "[\"rank0\", \"rank1\"]",
};

/// A job that runs as fast as the machine allows, and longer than all turns.
const FAST: Load = Load {
    options: "--ranks 4 -b 16M -e 16M -n 100000 -w 5 -c 0",
    queue_pairs_per_connection: "1",
    taps: "[\"rank*\"]",
};

/// A job, and where it is watched.
struct Load {
    options: &'static str,
    /// `NCCL_IB_QPS_PER_CONNECTION`.
    queue_pairs_per_connection: &'static str,
    /// The agent's `taps.interfaces`.
    taps: &'static str,
}

/// The agent's address, in the namespace of the fabric.
const LISTEN: &str = "127.0.0.1:9474";

/// Goal and floor of the share of the machine's CPU time that watching uses, and of the share of
/// one core that the agent uses with many queue pairs.
const SHARE: [f64; 2] = [0.003, 0.01];

/// Goal and floor of the agent's memory with many queue pairs, MiB.
const MEMORY: [f64; 2] = [48.0, 64.0];

/// Watching must not cost more than this share of busbw, with 95 % certainty.
const LOST: f64 = 0.05;

/// `cargo xtask bench --watched`.
pub(super) fn run(railscope: &Path, pairs: usize) -> Result<()> {
    ensure!(
        fs::read_to_string(STATISTICS)?.trim() == "0",
        "{STATISTICS} is not 0: programs that are measured cost busbw. Perhaps a bench was killed; write 0 to it"
    );
    let cores = std::thread::available_parallelism()?.get() as f64;
    let [goal, floor] = SHARE.map(|share| 100.0 * share);
    let paced = Medians::measure(railscope, &PACED)?;
    let watching = |run: &Paced| run.agent + run.programs;
    println!(
        "watched at {:.0} frames/s, medians of {PACED_RUNS} runs",
        paced.median(|run| run.frames / run.seconds)
    );
    println!("  agent              {:.2} % of one core", paced.percent(|run| run.agent));
    println!("  kernel programs    {:.2} % of one core", paced.percent(|run| run.programs));
    println!("  memory, at most    {:.0} MiB", paced.median(|run| run.memory));
    println!("  to start, once     {:.2} s of one core", paced.median(|run| run.start));
    println!("  a report every     {:.1} s", paced.median(|run| run.seconds / run.reports));
    println!(
        "  of the {cores} cores     {:.2} % (goal {goal} %, floor {floor} %)",
        paced.percent(|run| watching(run) / cores)
    );
    println!(
        "  of what is used    {:.2} % (CPU time of ranks, agent and programs)",
        100.0 * paced.median(|run| watching(run) / run.total)
    );

    let many = Medians::measure(railscope, &MANY)?;
    println!(
        "1,024 queue pairs at {:.0} frames/s, medians of {PACED_RUNS} runs",
        many.median(|run| run.frames / run.seconds)
    );
    println!(
        "  agent              {:.2} % of one core (goal {goal} %, floor {floor} %)",
        many.percent(|run| run.agent)
    );
    println!("  a report every     {:.1} s", many.median(|run| run.seconds / run.reports));
    println!("  an export every    {:.1} s", many.median(|run| run.seconds / run.exports));
    let [goal, floor] = MEMORY;
    println!(
        "  memory, at most    {:.0} MiB (goal {goal}, floor {floor})",
        many.median(|run| run.memory)
    );

    let mut ratios = turns(railscope, pairs)?;
    ratios.sort_by(f64::total_cmp);
    let (low, high) = interval(&ratios);
    println!(
        "busbw watched over alone, {pairs} pairs of {TURNS} turns of {} s each, in one job",
        TURN.as_secs()
    );
    println!(
        "  median {:.3}, 95 % interval {low:.3} to {high:.3} (floor {})",
        median(ratios),
        1.0 - LOST
    );
    Ok(())
}

const PACED_RUNS: usize = 3;

/// Some runs of a paced job.
struct Medians(Vec<Paced>);

impl Medians {
    fn measure(railscope: &Path, load: &Load) -> Result<Self> {
        let _measured = Measured::begin()?;
        (0..PACED_RUNS).map(|_| Paced::measure(railscope, load)).collect::<Result<_>>().map(Self)
    }

    fn median(&self, figure: impl Fn(&Paced) -> f64) -> f64 {
        median(self.0.iter().map(figure).collect())
    }

    /// CPU seconds as a part of the time that the job took, in hundredths.
    fn percent(&self, figure: impl Fn(&Paced) -> f64) -> f64 {
        self.median(|run| 100.0 * figure(run) / run.seconds)
    }
}

/// Whether the kernel measures BPF programs all the time; the agent enables that now and then.
const STATISTICS: &str = "/proc/sys/kernel/bpf_stats_enabled";

/// The kernel measures BPF programs while this exists.
struct Measured(String);

impl Measured {
    fn begin() -> Result<Self> {
        let before =
            fs::read_to_string(STATISTICS).with_context(|| format!("read {STATISTICS}"))?;
        fs::write(STATISTICS, "1").with_context(|| format!("write {STATISTICS}"))?;
        Ok(Self(before))
    }
}

impl Drop for Measured {
    fn drop(&mut self) {
        if let Err(error) = fs::write(STATISTICS, &self.0) {
            eprintln!("{STATISTICS} stays 1: {error}");
        }
    }
}

/// CPU seconds of the BPF programs that a process holds, as the kernel measured them.
fn programs_of(pid: u32) -> Result<f64> {
    let mut times = BTreeMap::new();
    for entry in fs::read_dir(format!("/proc/{pid}/fdinfo"))? {
        // Files and connections come and go.
        let Ok(text) = fs::read_to_string(entry?.path()) else { continue };
        let field = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            line.trim().parse::<u64>().ok()
        };
        if let (Some(program), Some(time)) = (field("prog_id:"), field("run_time_ns:")) {
            times.insert(program, time);
        }
    }
    Ok(times.values().sum::<u64>() as f64 / 1e9)
}

/// One paced job, watched once the agent has made its first report: seconds, frames, reports, CPU
/// seconds, MiB.
struct Paced {
    seconds: f64,
    frames: f64,
    reports: f64,
    /// How often flow metrics were exported: with each report and in between.
    exports: f64,
    agent: f64,
    programs: f64,
    /// CPU seconds of the ranks, in which the BPF programs run, and of the agent.
    total: f64,
    /// Peak memory of the agent, MiB.
    memory: f64,
    /// CPU seconds of the agent before the job.
    start: f64,
}

impl Paced {
    fn measure(railscope: &Path, load: &Load) -> Result<Self> {
        let before = cpu_seconds_of_children()?;
        let mut job = Job::start(railscope, load)?;
        let watcher = Agent::start(railscope, job.fabric()?, load)?;
        watcher.wait_for_report()?;
        let (start, frames) = (watcher.used()?, watcher.frames()?);
        let (reports, updates) = (watcher.reports()?, watcher.updates()?);
        let (memory, seconds) = timed(|| watcher.peak_memory_while(|| job.wait()));
        let ranks = cpu_seconds_of_children()? - before;
        let end = watcher.used()?;
        let (reports, updates) = (watcher.reports()? - reports, watcher.updates()? - updates);
        let frames = watcher.settled_frames()? - frames;
        watcher.end()?;
        Ok(Self {
            seconds,
            frames,
            reports,
            exports: reports + updates,
            agent: end.agent - start.agent,
            programs: end.programs - start.programs,
            total: ranks + end.agent - start.agent,
            memory: memory? as f64 / f64::from(1 << 20),
            start: start.agent,
        })
    }
}

/// Length of a turn with or without the agent. In longer turns the machine itself changes more.
const TURN: Duration = Duration::from_secs(6);
/// Turns of each kind in a pair.
const TURNS: u32 = 2;

/// Settling times: of the job until it runs at full speed ...
const WARM_UP: Duration = Duration::from_secs(4);
/// ... of the agent from its first report on, until the kernel stops measuring its programs and it
/// has touched all pages of the ring ...
const START: Duration = Duration::from_secs(3);
/// ... and of the machine after the agent ended.
const END: Duration = Duration::from_millis(500);

/// Ratio of one job's bus bandwidth with the agent to that without it, in turns. The bandwidth is
/// taken from the bytes at a port, which differ from what nccl-tests counts only by headers.
fn turns(railscope: &Path, pairs: usize) -> Result<Vec<f64>> {
    let job = Job::start(railscope, &FAST)?;
    let fabric = job.fabric()?;
    sleep(WARM_UP);
    let mut ratios = Vec::new();
    for pair in 0..pairs {
        let [mut watched, mut alone] = [0.0; 2];
        for place in 0..2 * TURNS {
            // The order alternates: the machine may change between turns.
            if (place + pair as u32).is_multiple_of(2) {
                watched += watched_turn(railscope, &fabric)?;
            } else {
                alone += bandwidth(&fabric)?;
            }
        }
        ensure!(alone > 0.0, "railscope drive ended, or sends nothing");
        let [watched, alone] = [watched, alone].map(|sum| sum / f64::from(TURNS));
        eprintln!("pair {}: {watched:.3} watched, {alone:.3} GB/s alone", pair + 1);
        ratios.push(watched / alone);
    }
    Ok(ratios)
}

fn watched_turn(railscope: &Path, fabric: &Path) -> Result<f64> {
    let agent = Agent::start(railscope, fabric.to_owned(), &FAST)?;
    agent.wait_for_report()?;
    sleep(START);
    let watched = bandwidth(fabric)?;
    agent.end()?;
    sleep(END);
    Ok(watched)
}

/// Bandwidth of a port over a turn, GB/s.
fn bandwidth(fabric: &Path) -> Result<f64> {
    let before = received(fabric)?;
    let (rest, seconds) = timed(|| {
        sleep(TURN);
        received(fabric)
    });
    Ok((rest? - before) / seconds / 1e9)
}

/// Bytes that a port has received.
fn received(fabric: &Path) -> Result<f64> {
    let output = inside(fabric, "cat").arg("/proc/self/net/dev").output()?;
    let text = String::from_utf8(output.stdout)?;
    let port = text.lines().find_map(|line| line.trim_start().strip_prefix("rank0:"));
    let bytes = port.and_then(|line| line.split_whitespace().next());
    Ok(bytes.context("the fabric has no port rank0")?.parse()?)
}

/// A job of the driver.
struct Job(Child);

impl Job {
    fn start(railscope: &Path, load: &Load) -> Result<Self> {
        let mut drive = Command::new(railscope);
        drive.arg("drive").args(load.options.split_whitespace());
        drive.env("NCCL_IB_QPS_PER_CONNECTION", load.queue_pairs_per_connection);
        let drive = drive.stdout(Stdio::null()).spawn().context("start railscope drive")?;
        Ok(Self(drive))
    }

    /// The network namespace with the ports of all ranks.
    fn fabric(&self) -> Result<PathBuf> {
        let path = PathBuf::from(format!("/proc/{}/ns/net", self.0.id()));
        let own = fs::read_link("/proc/self/ns/net")?;
        for _ in 0..200 {
            if fs::read_link(&path)? != own && has_port(&path) {
                return Ok(path);
            }
            sleep(Duration::from_millis(5));
        }
        anyhow::bail!("the driver makes no network namespaces here: that needs root")
    }

    fn wait(&mut self) -> Result<()> {
        let status = self.0.wait()?;
        ensure!(status.success(), "railscope drive: {status}");
        Ok(())
    }
}

impl Drop for Job {
    /// Ends its processes, too.
    fn drop(&mut self) {
        end(&mut self.0);
    }
}

/// Kills a process that still runs: a failed bench leaves nothing behind.
fn end(child: &mut Child) {
    _ = child.kill();
    _ = child.wait();
}

fn has_port(fabric: &Path) -> bool {
    let mut ip = inside(fabric, "ip");
    ip.args(["link", "show", "rank3", "up"]).stdout(Stdio::piped()).stderr(Stdio::null());
    ip.output().is_ok_and(|output| !output.stdout.is_empty())
}

fn inside(fabric: &Path, program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new("nsenter");
    command.arg(format!("--net={}", fabric.display())).arg("--").arg(program);
    command
}

/// The agent in the fabric's namespace.
struct Agent {
    child: Child,
    fabric: PathBuf,
}

/// CPU seconds so far.
struct Used {
    agent: f64,
    programs: f64,
}

impl Agent {
    fn start(railscope: &Path, fabric: PathBuf, load: &Load) -> Result<Self> {
        let up = inside(&fabric, "ip").args(["link", "set", "dev", "lo", "up"]).status()?;
        ensure!(up.success(), "ip link set dev lo up: {up}");
        let mut agent = inside(&fabric, railscope);
        agent.args(["agent", "--set", &format!("taps.interfaces={}", load.taps)]);
        agent.args(["--set", "otlp.interval=\"1s\""]);
        agent.args(["--set", &format!("prometheus.listen=\"{LISTEN}\"")]);
        let child = agent.stderr(Stdio::null()).spawn().context("start railscope agent")?;
        let fabric = PathBuf::from(format!("/proc/{}/ns/net", child.id()));
        Ok(Self { child, fabric })
    }

    fn page(&self, path: &str) -> Result<String> {
        let mut curl = inside(&self.fabric, "curl");
        let output =
            curl.args(["--silent", "--fail", &format!("http://{LISTEN}{path}")]).output()?;
        ensure!(output.status.success(), "curl {LISTEN}{path}: {}", output.status);
        Ok(String::from_utf8(output.stdout)?)
    }

    fn wait_for_report(&self) -> Result<()> {
        for _ in 0..200 {
            if self.page("/readyz").is_ok() {
                return Ok(());
            }
            sleep(Duration::from_millis(20));
        }
        anyhow::bail!("the agent makes no report")
    }

    fn used(&self) -> Result<Used> {
        let pid = self.child.id();
        Ok(Used { agent: cpu_seconds_of(pid)?, programs: programs_of(pid)? })
    }

    /// Frames of the latest report.
    fn frames(&self) -> Result<f64> {
        self.sum("railscope_tap_frames_total{")
    }

    fn reports(&self) -> Result<f64> {
        self.sum("railscope_report_count_total ")
    }

    fn updates(&self) -> Result<f64> {
        self.sum("railscope_update_count_total ")
    }

    /// Sum of a metric's values: of the lines with this prefix.
    fn sum(&self, metric: &str) -> Result<f64> {
        let text = self.page("/metrics")?;
        let lines = text.lines().filter(|line| line.starts_with(metric));
        let values = lines.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok());
        Ok(values.sum())
    }

    /// Frames once reports stop growing: they are up to half a minute apart.
    fn settled_frames(&self) -> Result<f64> {
        let mut frames = self.frames()?;
        let mut unchanged = 0;
        while unchanged < 32 {
            sleep(Duration::from_secs(1));
            let now = self.frames()?;
            unchanged = if now > frames { 0 } else { unchanged + 1 };
            frames = now;
        }
        Ok(frames)
    }

    fn peak_memory_while(&self, work: impl FnOnce() -> Result<()>) -> Result<u64> {
        let ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let memory = scope.spawn(|| peak_anon_bytes(self.child.id(), &ended));
            let done = work();
            ended.store(true, Ordering::Relaxed);
            done.map(|()| memory.join().unwrap_or_default())
        })
    }

    fn end(mut self) -> Result<()> {
        let status = Command::new("kill").arg(self.child.id().to_string()).status()?;
        ensure!(status.success(), "kill: {status}");
        let status = self.child.wait()?;
        ensure!(status.success(), "railscope agent: {status}");
        Ok(())
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// The median; with an even number of values the mean of the middle two.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

/// The 95 % confidence interval of the median of sorted values: the number of values below the
/// median is binomial (normal approximation).
fn interval(sorted: &[f64]) -> (f64, f64) {
    let count = sorted.len() as f64;
    let reach = 0.98 * count.sqrt();
    let low = (count / 2.0 - reach).floor().max(0.0) as usize;
    let high = ((count / 2.0 + reach).ceil() as usize).min(sorted.len().saturating_sub(1));
    let at = |place: usize| sorted.get(place).copied().unwrap_or(f64::NAN);
    (at(low), at(high))
}

#[cfg(test)]
mod tests {
    use super::{interval, median};

    #[test]
    fn the_interval_is_about_the_median() {
        let values: Vec<f64> = (1..=30).map(f64::from).collect();
        assert_eq!(median(values.clone()), 15.5);
        assert_eq!(interval(&values), (10.0, 22.0));
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(interval(&[1.0]), (1.0, 1.0));
    }
}
