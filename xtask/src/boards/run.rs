//! One job with its agents, its Prometheus and its captures.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use railscope_testbed::agent::Agent;
use railscope_testbed::clock::eventually;
use railscope_testbed::fabric::Fabric;
use railscope_testbed::pace;
use railscope_testbed::prometheus::{self, Setup};
use railscope_testbed::tcpdump::Capture;

use super::answer::{self, Answers, Panels, When};
use super::counters::Nics;
use super::question::{self, Question};
use super::scenario::{Late, Scenario, Trouble};
use super::verdict::{self, LateRank};
use crate::repository::root;

/// Of the ranges and waiting times of rules: 5 minutes are 30 seconds.
const PACE: f64 = 0.1;

/// Between scrapes, and between evaluations of rules.
const SCRAPE: Duration = Duration::from_secs(1);

/// Agents that see packets and nothing of the machine around them.
const SETTINGS: [&str; 6] = [
    "sources.counters=false",
    "sources.calls=false",
    "sources.processes=false",
    "otlp.interval=\"1s\"",
    "labels.rank=true",
    "labels.peer=true",
];

/// For hosts without a job, whose NICs have counters: no packets can be seen, and nobody takes exports.
pub(crate) const COUNTER_SETTINGS: [&str; 8] = [
    "taps.interfaces=[\"bond0\"]",
    "otlp.endpoint=\"http://127.0.0.1:9\"",
    "otlp.queue=\"64 KiB\"",
    "sources.calls=false",
    "sources.processes=false",
    "sources.counters=true",
    "counters.interval=\"1s\"",
    "otlp.interval=\"1s\"",
];

/// How long made counters rise, and how long a job runs before a rank freezes and thereafter.
const COUNTED: Duration = Duration::from_secs(40);
const BEFORE_FREEZE: Duration = Duration::from_secs(12);
const FROZEN: Duration = Duration::from_secs(16);

fn settings(interface: &str) -> Vec<String> {
    let interface = format!("taps.interfaces=[{interface:?}]");
    SETTINGS.into_iter().map(str::to_owned).chain([interface]).collect()
}

/// An agent that sees the packets of its own host.
pub(crate) fn agent(fabric: &Fabric, host: usize) -> Agent {
    fabric.agent(host, &words(&settings("eth0")))
}

fn words(settings: &[String]) -> Vec<&str> {
    settings.iter().map(String::as_str).collect()
}

/// What was said of a job.
pub(super) struct Outcome {
    by_rules: Option<LateRank>,
    offline: Option<LateRank>,
    /// tcpdump lost packets: what is said of its captures is no measure.
    is_lossy: bool,
    pub(super) answers: Answers,
}

/// What is seen while a job runs.
struct Watched {
    late: Option<LateRank>,
    captures: Vec<Option<PathBuf>>,
    answers: Answers,
}

/// What a scenario needs.
struct Plan {
    scenario: Scenario,
    folder: PathBuf,
    rules: Vec<(&'static str, String)>,
    questions: Vec<Question>,
}

/// Runs `scenario`.
pub(super) fn run(scenario: &Scenario, railscope: &Path) -> Result<Outcome> {
    let program = railscope.to_str().context("the path of railscope is not UTF-8")?;
    let folder = folder().join(scenario.name);
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("empty {}", folder.display()))?;
    }
    fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
    let rules = root().join("dashboards/prometheus/recording.yaml");
    let rules = fs::read_to_string(&rules).with_context(|| format!("read {}", rules.display()))?;
    let rules = vec![("recording.yaml", pace::scaled(&rules, PACE))];
    let plan = Plan { scenario: *scenario, folder, rules, questions: question::all(PACE)? };
    let watched = Fabric::run(program, scenario.hosts, move |fabric| watch(fabric, &plan));
    let Watched { late, captures, answers } = watched?;
    let is_lossy = captures.iter().any(Option::is_none);
    let captures: Vec<PathBuf> = captures.into_iter().flatten().collect();
    let is_judged = scenario.late != Late::NotJudged;
    let offline = if is_judged { verdict::offline(railscope, &captures)? } else { None };
    Ok(Outcome { by_rules: late, offline, is_lossy, answers })
}

/// Where what scenarios leave behind is kept.
pub(crate) fn folder() -> PathBuf {
    root().join("target/boards")
}

/// Runs the job, and asks all queries. The rules' verdict is that of two scrapes after all agents have
/// reported all of the job.
fn watch(fabric: &Fabric, plan: &Plan) -> Result<Watched> {
    let Plan { scenario, folder, rules, questions } = plan;
    if scenario.trouble == Trouble::Counters {
        return watch_counters(fabric, plan);
    }
    let hosts = 0..fabric.hosts();
    let is_judged = scenario.late != Late::NotJudged;
    let captures = hosts.clone().filter(|_| is_judged);
    let captures: Vec<Capture> =
        captures.map(|host| Capture::start(&format!("port{host}"), folder)).collect();
    let agents: Vec<Agent> = match scenario.trouble {
        // One agent that sees the ports of all hosts, as at a switch's mirror port.
        Trouble::Mirror => vec![fabric.mirror_agent(&words(&settings("port*")))],
        _ => hosts.map(|host| agent(fabric, host)).collect(),
    };
    let targets: Vec<_> = agents.iter().map(Agent::address).collect();
    let data_base = prometheus::start(folder, Setup { rules, ..Setup::of("1s", &targets) });
    let begin = now();
    let mut ranks = fabric.drive(&format!("--warmup_iters 0 --check 0 {}", scenario.job));
    let at = match scenario.trouble {
        Trouble::Freeze(rank) => {
            std::thread::sleep(BEFORE_FREEZE);
            Fabric::freeze(&ranks[rank]);
            std::thread::sleep(FROZEN);
            for rank in &mut ranks {
                rank.kill().context("end a rank")?;
                rank.wait().context("wait for a rank")?;
            }
            now()
        }
        _ => {
            for rank in &mut ranks {
                ensure!(rank.wait().context("wait for a rank")?.success(), "a rank failed");
            }
            let end = now();
            for agent in &agents {
                await_last_report(agent);
            }
            end - 1.0
        }
    };
    std::thread::sleep(SCRAPE * 2);
    let late = verdict::by_rules(&data_base);
    let when = When { begin, end: now(), at };
    let answers = answer::ask(&data_base, questions, when, folder)?;
    let captures = captures.into_iter().map(Capture::end).collect();
    Ok(Watched { late, captures, answers })
}

/// Lets the counters of made NICs rise, and asks all queries.
fn watch_counters(fabric: &Fabric, plan: &Plan) -> Result<Watched> {
    let Plan { folder, rules, questions, .. } = plan;
    let nics = Nics::new(folder, fabric.hosts(), true)?;
    let start = |host| {
        let sysfs = format!("host.sysfs={:?}", nics.tree(host));
        fabric.agent(host, &[&COUNTER_SETTINGS[..], &[sysfs.as_str()]].concat())
    };
    let agents: Vec<Agent> = (0..fabric.hosts()).map(start).collect();
    let targets: Vec<_> = agents.iter().map(Agent::address).collect();
    let data_base = prometheus::start(folder, Setup { rules, ..Setup::of("1s", &targets) });
    let begin = now();
    for second in 1..=COUNTED.as_secs() {
        nics.set(second)?;
        std::thread::sleep(Duration::from_secs(1));
    }
    let when = When { begin, end: now(), at: now() };
    let answers = answer::ask(&data_base, questions, when, folder)?;
    Ok(Watched { late: None, captures: Vec::new(), answers })
}

/// Seconds of Unix time.
#[expect(clippy::disallowed_methods, reason = "Prometheus is asked about this machine's time")]
fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
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
    /// Whether rules and analysis name the rank of the fault and its cause, or nobody in a clean job;
    /// and whether Prometheus took all queries and the panels show what the scenario is about.
    pub(super) fn is_right(&self, scenario: &Scenario) -> bool {
        let is_injected = |named: &Option<LateRank>| match (named, scenario.late) {
            (Some(named), Late::Rank(rank, cause)) => named.rank == rank && named.cause == cause,
            (None, Late::Nobody) | (_, Late::NotJudged) => true,
            _ => false,
        };
        is_injected(&self.by_rules)
            && (self.is_lossy || is_injected(&self.offline))
            && self.answers.refused.is_empty()
            && self.silent(scenario).is_empty()
    }

    /// Panels that should show something and do not, or the other way round.
    pub(super) fn silent(&self, scenario: &Scenario) -> Vec<String> {
        let find = |all: &Panels, name: &str| {
            let name = name.split_once(": ");
            name.is_some_and(|(board, title)| all.contains(&(board.to_owned(), title.to_owned())))
        };
        let shown = scenario.shown_by.iter().filter(|name| !find(&self.answers.shown, name));
        let shown = shown.map(|name| match find(&self.answers.answered, name) {
            true => format!("{name} (0)"),
            false => format!("{name} (empty)"),
        });
        let is_quiet =
            |name: &str| find(&self.answers.answered, name) && !find(&self.answers.shown, name);
        let loud = scenario.quiet.iter().filter(|name| !is_quiet(name));
        shown.chain(loud.map(|name| format!("{name} (not 0)"))).collect()
    }

    /// A row of the table.
    pub(super) fn row(&self, scenario: &Scenario) -> String {
        let named = |late: &Option<LateRank>| match late {
            Some(late) => format!("rank {}, {}", late.rank, late.cause),
            None => "nobody".to_owned(),
        };
        let injected = match scenario.late {
            Late::Rank(rank, cause) => format!("rank {rank}, {cause}"),
            Late::Nobody => "nobody".to_owned(),
            Late::NotJudged => String::new(),
        };
        let cost = self.by_rules.as_ref().map_or(String::new(), |late| format!("{:.3}", late.cost));
        let offline = match (&self.offline, self.is_lossy) {
            _ if scenario.late == Late::NotJudged => String::new(),
            (_, true) => "packets lost in capture".to_owned(),
            (late, false) => named(late),
        };
        let Scenario { name, hosts, shown_by, quiet, .. } = scenario;
        let Answers { asked, refused, panels, answered, .. } = &self.answers;
        format!(
            "| {name} | {hosts} | {injected} | {} | {cost} | {offline} | {asked} | {} | {} of {} | {} | {} |",
            named(&self.by_rules),
            refused.len(),
            answered.len(),
            panels.len(),
            shown_by.len() + quiet.len(),
            self.silent(scenario).len(),
        )
    }
}
