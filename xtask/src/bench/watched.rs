//! What it costs to be watched: jobs of the driver on this machine with the agent at their ports and
//! without it, in turns.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::process::cpu_seconds_of_children;
use crate::clock::timed;

/// A job whose packets come at a rate of their own: compute is most of it.
const PACED: &str =
    "--ranks 4 --iterations 100 --warmup_iters 0 --check 0 --buckets 2MiB --compute 80ms";

/// A job as fast as the machine goes; its bus bandwidth counts, once the agent has started and the kernel
/// no longer measures its programs.
const FAST: &str = "--ranks 4 -b 4M -e 4M -n 80 -w 60 -c 0";

/// Where the agent is asked, in the namespace of the fabric.
const LISTEN: &str = "127.0.0.1:9474";

/// Goal and floor of the share of CPU time that watching takes.
const SHARE: [f64; 2] = [0.005, 0.01];

/// Beyond this part, busbw must not be lost, with 95 % certainty.
const LOST: f64 = 0.05;

/// `cargo xtask bench --watched`.
pub(super) fn run(railscope: &Path, folder: &Path, pairs: usize) -> Result<()> {
    let mut paced = Vec::new();
    let measured = Measured::begin()?;
    for _ in 0..PACED_RUNS {
        paced.push(Paced::measure(railscope)?);
    }
    drop(measured);
    let middle = |figure: fn(&Paced) -> f64| median(paced.iter().map(figure).collect());
    let share = middle(|run| (run.agent + run.programs) / run.total);
    println!("watched at {:.0} frames/s, medians of {PACED_RUNS} runs", middle(|run| run.rate));
    println!(
        "  agent              {:.2} % of one core",
        100.0 * middle(|run| run.agent / run.seconds)
    );
    println!(
        "  kernel programs    {:.2} % of one core",
        100.0 * middle(|run| run.programs / run.seconds)
    );
    println!("  memory             {:.0} MiB", middle(|run| run.memory));
    println!("  to start, once     {:.2} s of one core", middle(|run| run.start));
    let [goal, floor] = SHARE.map(|share| 100.0 * share);
    println!("  of all CPU time    {:.2} % (goal {goal} %, floor {floor} %)", 100.0 * share);

    let mut ratios = Vec::new();
    for pair in 0..pairs {
        // Whoever comes first may find the machine another.
        let order = [pair % 2 == 0, pair % 2 == 1];
        let [first, second] = order.map(|is_watched| busbw(railscope, folder, is_watched));
        let (watched, alone) = if order[0] { (first?, second?) } else { (second?, first?) };
        ratios.push(watched / alone);
    }
    ratios.sort_by(f64::total_cmp);
    let (low, high) = interval(&ratios);
    println!("busbw watched over alone, {pairs} pairs in turns");
    println!(
        "  median {:.3}, 95 % interval {low:.3} to {high:.3} (floor {})",
        median(ratios),
        1.0 - LOST
    );
    Ok(())
}

const PACED_RUNS: usize = 5;

/// Whether the kernel measures programs all the time; the agent has it do so now and then.
const STATISTICS: &str = "/proc/sys/kernel/bpf_stats_enabled";

/// The kernel measures programs while this is there.
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

/// What the kernel measured of the programs that a process holds, in seconds.
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

/// One paced job, watched once the agent has made its first report: seconds, frames a second, CPU
/// seconds, MiB.
struct Paced {
    seconds: f64,
    rate: f64,
    agent: f64,
    programs: f64,
    /// Of the ranks, the agent and its programs.
    total: f64,
    memory: f64,
    /// Of the agent before.
    start: f64,
}

impl Paced {
    fn measure(railscope: &Path) -> Result<Self> {
        let before = cpu_seconds_of_children()?;
        let mut job = Job::start(railscope, PACED, None)?;
        let watcher = Agent::start(railscope, job.fabric()?)?;
        let start = watcher.first_figures()?;
        let (ended, seconds) = timed(|| job.wait());
        ended?;
        // The last report is up to a second old.
        std::thread::sleep(Duration::from_millis(1500));
        let end = watcher.figures()?;
        watcher.end()?;
        let programs = end.programs - start.programs;
        Ok(Self {
            seconds,
            rate: (end.frames - start.frames) / seconds,
            agent: end.agent - start.agent,
            programs,
            total: cpu_seconds_of_children()? - before - start.agent + programs,
            memory: end.memory,
            start: start.agent,
        })
    }
}

/// Bus bandwidth of a fast job, GB/s.
fn busbw(railscope: &Path, folder: &Path, is_watched: bool) -> Result<f64> {
    let table = folder.join("busbw.json");
    let mut job = Job::start(railscope, FAST, Some(&table))?;
    let agent = if is_watched { Some(Agent::start(railscope, job.fabric()?)?) } else { None };
    job.wait()?;
    if let Some(agent) = agent {
        agent.end()?;
    }
    let text = fs::read_to_string(&table).with_context(|| format!("read {}", table.display()))?;
    let table: Value = serde_json::from_str(&text)?;
    table["average_bus_bandwidth"]["bandwidth"].as_f64().context("the table has no bandwidth")
}

/// A job of the driver.
struct Job(Child);

impl Job {
    fn start(railscope: &Path, options: &str, table: Option<&PathBuf>) -> Result<Self> {
        let mut drive = Command::new(railscope);
        drive.arg("drive").args(options.split_whitespace());
        if let Some(table) = table {
            drive.arg("--json").arg(table);
        }
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
            std::thread::sleep(Duration::from_millis(5));
        }
        anyhow::bail!("the driver makes no network namespaces here: that needs root")
    }

    fn wait(&mut self) -> Result<()> {
        let status = self.0.wait()?;
        ensure!(status.success(), "railscope drive: {status}");
        Ok(())
    }
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

/// What the agent says of itself: frames, CPU seconds, MiB.
struct Figures {
    frames: f64,
    agent: f64,
    programs: f64,
    memory: f64,
}

impl Agent {
    fn start(railscope: &Path, fabric: PathBuf) -> Result<Self> {
        let up = inside(&fabric, "ip").args(["link", "set", "dev", "lo", "up"]).status()?;
        ensure!(up.success(), "ip link set dev lo up: {up}");
        let mut agent = inside(&fabric, railscope);
        agent.args([
            "agent",
            "--set",
            "taps.interfaces=[\"rank*\"]",
            "--set",
            "otlp.interval=\"1s\"",
        ]);
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

    /// Once there is a report.
    fn first_figures(&self) -> Result<Figures> {
        for _ in 0..200 {
            if self.page("/readyz").is_ok() {
                return self.figures();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        anyhow::bail!("the agent makes no report")
    }

    fn figures(&self) -> Result<Figures> {
        let text = self.page("/metrics")?;
        let sum = |wanted: &dyn Fn(&str) -> bool| -> f64 {
            let lines = text.lines().filter(|line| wanted(line));
            lines.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok()).sum()
        };
        let time = "railscope_cpu_time_seconds_total{";
        let is_agent = |line: &str| line.starts_with(time) && line.contains("\"agent\"");
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let memory = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
        let memory = memory.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
        Ok(Figures {
            frames: sum(&|line| line.starts_with("railscope_tap_frames_total{")),
            agent: sum(&is_agent),
            programs: programs_of(self.child.id())?,
            memory: memory.context("the agent's memory")? / 1024.0,
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

/// The middle value; of an even number the mean of both.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

/// The 95 % interval of the median of sorted values, by their order: as many lie below the median as
/// heads come up (normal approximation of the binomial distribution).
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
