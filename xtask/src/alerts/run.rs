//! One case: hosts, agents, Prometheus, Alertmanager, and what fires when.

use std::collections::BTreeMap;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Duration;

use anyhow::{Context, Result};
use railscope_testbed::agent::Agent;
use railscope_testbed::alertmanager::Alertmanager;
use railscope_testbed::fabric::Fabric;
use railscope_testbed::pace;
use railscope_testbed::prometheus::{self, Setup};

use super::case::{Case, Trouble};
use crate::boards::{self, COUNTER_SETTINGS, Nics};
use crate::clock::Stopwatch;
use crate::repository::root;

/// Of the ranges and waiting times of rules: 5 minutes are 15 seconds.
pub(super) const PACE: f64 = 0.05;

/// How long a fault may last until its alerts fire, and how long a case goes on after that, or after
/// its job: other alerts would come too.
const PATIENCE: Duration = Duration::from_secs(90);
const AFTERWARDS: Duration = Duration::from_secs(5);

/// How long everything is well before something happens.
const BEFORE: Duration = Duration::from_secs(10);

/// An agent whose only interface does not exist.
const BLIND_SETTINGS: [&str; 4] = [
    "taps.interfaces=[\"bond0\"]",
    "sources.calls=false",
    "sources.processes=false",
    "sources.counters=false",
];

/// The rules, and where a case leaves its files.
struct Plan {
    case: Case,
    folder: PathBuf,
    rules: Vec<(&'static str, String)>,
    program: String,
}

/// Runs a case; returns the alerts that reached Alertmanager, and how long after the fault began.
pub(super) fn run(case: &Case, railscope: &Path) -> Result<BTreeMap<String, Duration>> {
    let folder = root().join("target/alerts");
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("empty {}", folder.display()))?;
    }
    fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
    let rules = ["recording.yaml", "alerts.yaml"].map(|name| {
        let path = root().join("dashboards/prometheus").join(name);
        let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
        Ok((name, pace::scaled(&text, PACE)))
    });
    let rules = rules.into_iter().collect::<Result<_>>()?;
    let program = railscope.to_str().context("the path of railscope is not UTF-8")?.to_owned();
    let plan = Plan { case: *case, folder, rules, program: program.clone() };
    Fabric::run(&program, case.hosts, move |fabric| watch(fabric, &plan))
}

fn watch(fabric: &Fabric, plan: &Plan) -> Result<BTreeMap<String, Duration>> {
    let Plan { case, folder, rules, .. } = plan;
    let nics = Nics::new(folder, fabric.hosts(), case.trouble != Trouble::Counters)?;
    let mut agents: Vec<Option<Agent>> =
        (0..fabric.hosts()).map(|host| Some(agent(fabric, plan, &nics, host))).collect();
    let targets: Vec<SocketAddr> = agents.iter().flatten().map(Agent::address).collect();
    let alertmanager = Alertmanager::start(folder);
    let setup =
        Setup { rules, alertmanager: Some(alertmanager.address()), ..Setup::of("1s", &targets) };
    let data_base = prometheus::start(folder, setup);
    let mut ranks = match case.trouble {
        Trouble::Job(job) | Trouble::Freeze(job, _) => {
            fabric.drive(&format!("--warmup_iters 0 --check 0 {job}"))
        }
        Trouble::Counters | Trouble::AgentEnds | Trouble::AgentIsBlind => Vec::new(),
    };
    match case.trouble {
        Trouble::Freeze(_, rank) => {
            std::thread::sleep(BEFORE);
            Fabric::freeze(&ranks[rank]);
        }
        Trouble::AgentEnds => {
            std::thread::sleep(BEFORE);
            drop(agents[0].take());
        }
        Trouble::Job(_) | Trouble::Counters | Trouble::AgentIsBlind => {}
    }
    let since = Stopwatch::start();
    let mut fired: BTreeMap<String, Duration> = BTreeMap::new();
    let mut end = PATIENCE;
    while since.elapsed() < end {
        std::thread::sleep(Duration::from_millis(500));
        nics.set(since.elapsed().as_secs())?;
        for name in alertmanager.firing() {
            fired.entry(name).or_insert_with(|| since.elapsed());
        }
        let is_over = if case.alerts.is_empty() {
            ranks.iter_mut().all(has_ended)
        } else {
            case.alerts.iter().all(|alert| fired.contains_key(*alert))
        };
        if is_over {
            end = end.min(since.elapsed() + AFTERWARDS);
        }
    }
    for rank in &mut ranks {
        // It may have ended.
        _ = rank.kill();
        rank.wait().context("wait for a rank")?;
    }
    drop(data_base);
    Ok(fired)
}

fn has_ended(rank: &mut Child) -> bool {
    rank.try_wait().is_ok_and(|status| status.is_some())
}

fn agent(fabric: &Fabric, plan: &Plan, nics: &Nics, host: usize) -> Agent {
    match plan.case.trouble {
        Trouble::Counters => {
            let sysfs = format!("host.sysfs={:?}", nics.tree(host));
            fabric.agent(host, &[&COUNTER_SETTINGS[..], &[sysfs.as_str()]].concat())
        }
        Trouble::AgentIsBlind if host == 0 => {
            let address = Ipv4Addr::new(10, 0, 0, 1);
            let command = fabric.on(host, &plan.program);
            Agent::begin_at(command, SocketAddr::from((address, 9474)), &BLIND_SETTINGS)
        }
        _ => boards::agent(fabric, host),
    }
}
