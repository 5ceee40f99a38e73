//! One job with its agents, its Prometheus and its captures.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use railscope_testbed::agent::Agent;
use railscope_testbed::clock::eventually;
use railscope_testbed::fabric::Fabric;
use railscope_testbed::pace;
use railscope_testbed::prometheus::{self, Setup};
use railscope_testbed::tcpdump::Capture;

use super::scenario::Scenario;
use super::verdict::{self, LateRank};
use crate::repository::root;

/// Of the ranges and waiting times of rules: 5 minutes are 30 seconds.
const PACE: f64 = 0.1;

/// Between scrapes, and between evaluations of rules.
const SCRAPE: Duration = Duration::from_secs(1);

/// Agents that see the packets of their own host and nothing of the machine around it.
const SETTINGS: [&str; 7] = [
    "taps.interfaces=[\"eth0\"]",
    "sources.counters=false",
    "sources.calls=false",
    "sources.processes=false",
    "otlp.interval=\"1s\"",
    "labels.rank=true",
    "labels.peer=true",
];

/// What was said of a job.
pub(super) struct Outcome {
    by_rules: Option<LateRank>,
    offline: Option<LateRank>,
    /// tcpdump lost packets: what is said of its captures is no measure.
    is_lossy: bool,
}

/// Runs `scenario`.
pub(super) fn run(scenario: &Scenario, railscope: &Path) -> Result<Outcome> {
    let program = railscope.to_str().context("the path of railscope is not UTF-8")?;
    let folder = root().join("target/boards").join(scenario.name);
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("empty {}", folder.display()))?;
    }
    fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
    let rules = root().join("dashboards/prometheus/recording.yaml");
    let rules = fs::read_to_string(&rules).with_context(|| format!("read {}", rules.display()))?;
    let rules = [("recording.yaml", pace::scaled(&rules, PACE))];
    let job = format!("--warmup_iters 0 --check 0 {}", scenario.job);
    let (hosts, place) = (scenario.hosts, folder.clone());
    let watched = Fabric::run(program, hosts, move |fabric| watch(fabric, &job, &place, &rules));
    let (by_rules, captures) = watched?;
    let is_lossy = captures.iter().any(Option::is_none);
    let captures: Vec<PathBuf> = captures.into_iter().flatten().collect();
    let offline = verdict::offline(railscope, &captures)?;
    Ok(Outcome { by_rules, offline, is_lossy })
}

/// Runs the job; what the rules say two scrapes after all agents have reported all of it, and the
/// captures of all hosts.
fn watch(
    fabric: &Fabric,
    job: &str,
    folder: &Path,
    rules: &[(&str, String)],
) -> Result<(Option<LateRank>, Vec<Option<PathBuf>>)> {
    let hosts = 0..fabric.hosts();
    let captures = hosts.clone().map(|host| Capture::start(&format!("port{host}"), folder));
    let captures: Vec<Capture> = captures.collect();
    let agents: Vec<Agent> = hosts.map(|host| fabric.agent(host, &SETTINGS)).collect();
    let targets: Vec<_> = agents.iter().map(Agent::address).collect();
    let data_base = prometheus::start(folder, Setup { rules, ..Setup::of("1s", &targets) });
    for mut rank in fabric.drive(job) {
        ensure!(rank.wait().context("wait for a rank")?.success(), "a rank of the job failed");
    }
    for agent in &agents {
        await_last_report(agent);
    }
    std::thread::sleep(SCRAPE * 2);
    let late = verdict::by_rules(&data_base);
    Ok((late, captures.into_iter().map(Capture::end).collect()))
}

/// Waits until two reports of an agent in a row have the same collectives.
fn await_last_report(agent: &Agent) {
    let reports = || {
        let metrics = agent.get("/metrics").unwrap_or_default();
        let value = |name: &str| {
            let line = metrics.lines().find(|line| line.starts_with(name));
            line.and_then(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).unwrap_or(0.0)
        };
        (value("railscope_report_count_total"), value("nccl_collective_duration_seconds_count"))
    };
    let mut known = reports();
    eventually("the agent has reported the whole job", || {
        let now = reports();
        if now.0 == known.0 {
            return false;
        }
        std::mem::replace(&mut known, now).1 == now.1
    });
}

impl Outcome {
    /// Whether rules and analysis name the rank of the fault and its cause, or nobody in a clean job.
    pub(super) fn is_right(&self, scenario: &Scenario) -> bool {
        let is_injected = |named: &Option<LateRank>| match (named, scenario.late) {
            (Some(named), Some((rank, cause))) => named.rank == rank && named.cause == cause,
            (None, None) => true,
            _ => false,
        };
        is_injected(&self.by_rules) && (self.is_lossy || is_injected(&self.offline))
    }

    /// A row of the table.
    pub(super) fn row(&self, scenario: &Scenario) -> String {
        let named = |late: &Option<LateRank>| match late {
            Some(late) => format!("rank {}, {}", late.rank, late.cause),
            None => "nobody".to_owned(),
        };
        let injected = scenario
            .late
            .map_or("nothing".to_owned(), |(rank, cause)| format!("rank {rank}, {cause}"));
        let cost = self.by_rules.as_ref().map_or(String::new(), |late| format!("{:.3}", late.cost));
        let offline = match (&self.offline, self.is_lossy) {
            (_, true) => "packets lost in capture".to_owned(),
            (late, false) => named(late),
        };
        let Scenario { name, hosts, .. } = scenario;
        format!(
            "| {name} | {hosts} | {injected} | {} | {cost} | {offline} |",
            named(&self.by_rules)
        )
    }
}
