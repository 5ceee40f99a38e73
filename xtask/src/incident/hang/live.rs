//! `cargo xtask incidents --hangs --live`: the same hangs, played to agents in real time.
//!
//! The frames that each host's capture has arrive at an interface of their own. One agent watches all of
//! them, as one behind mirror ports of all hosts does; another watches that of host 0 alone. Then it
//! is silent, and the first critical verdict counts, if it comes within ten seconds of the stall.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::draw::{self, AFTERWARDS_MS, GIVE_UP_S};
use super::groups;
use super::judge::mark_verdict;
use super::kind::HangKind;
use crate::clock::{Deadline, Stopwatch};
use crate::incident::judge::Verdict;
use crate::incident::{make, workers};
use crate::repository::root;

/// A verdict that comes later than this after the stall is none.
const LIMIT: Duration = Duration::from_secs(10);

/// Time between two looks at the agents' verdicts.
const POLL: Duration = Duration::from_millis(250);

/// Jobs at a time: they wait most of the time.
const AT_ONCE: usize = 3;

const VIEWS: [&str; 2] = ["all hosts", "one host"];

/// One job, by view: when the first critical verdict came after the stall, and whether it is right.
pub(in crate::incident) struct Watched {
    kind: HangKind,
    by_view: [(bool, Option<Duration>); VIEWS.len()],
}

/// Plays so many jobs of each kind.
///
/// # Errors
///
/// A job cannot be made, or an agent does not start; needs root, iproute2, editcap, curl and python3.
pub(in crate::incident) fn measure(
    railscope: &Path,
    names: &[String],
    seeds: usize,
    is_judging: bool,
) -> Result<Vec<Watched>> {
    let is_chosen = |kind: &HangKind| {
        // A replay that ends is a hang of a job that runs.
        !matches!(kind, HangKind::Running | HangKind::CaptureStopped)
            && (names.is_empty() || names.iter().any(|name| name == kind.name()))
    };
    let of_kind = |kind: HangKind| {
        let all = (0..).map(|at: u64| 2 * at + u64::from(is_judging));
        // A healthy job beside hangs, too, when the replay ends: long after the first, if that one does.
        let fits =
            move |seed: &u64| kind.class().is_some() || draw::draw(kind, *seed).second.is_none();
        all.filter(fits).take(seeds).map(move |seed| (kind, seed))
    };
    let jobs: Vec<(HangKind, u64)> =
        HangKind::ALL.into_iter().filter(is_chosen).flat_map(of_kind).collect();
    workers(AT_ONCE, &jobs, |at, (kind, seed)| {
        let folder = root().join("target/incidents/live").join(at.to_string());
        let watched = watch(railscope, *kind, *seed, at, &folder)
            .with_context(|| format!("{}, seed {seed}", kind.name()))?;
        fs::remove_dir_all(&folder).with_context(|| format!("remove {}", folder.display()))?;
        Ok(watched)
    })
}

fn watch(railscope: &Path, kind: HangKind, seed: u64, at: usize, folder: &Path) -> Result<Watched> {
    let mut drawn = draw::draw(kind, seed);
    // The replay fills cut frames with zeros: as payload of TCP they would be read.
    drawn.is_cut &= !kind.is_over_tcp();
    let inputs = make::make(railscope, &drawn, folder)?;
    let place = Place::new(&format!("railscope-hang-{at}"), inputs.captures.len())?;
    let mut files = Vec::new();
    for (host, capture) in inputs.captures.iter().enumerate() {
        let path = folder.join(format!("{host}.pcap"));
        let mut editcap = crate::repository::command("editcap");
        editcap.args(["-F", "nsecpcap"]).arg(capture).arg(&path);
        make::output_of(editcap)?;
        files.push(format!("out{host}={}", path.display()));
    }
    let all: Vec<String> = (0..files.len()).map(|host| format!("in{host}")).collect();
    let agent = |interfaces| place.agent(railscope, interfaces, folder);
    let agents = [agent(&all)?, agent(&all[..1])?];
    // A job that never came up gives up at the end of its captures.
    let before = match kind {
        HangKind::Bootstrap => 0.0,
        _ if kind.is_over_tcp() => GIVE_UP_S as f64,
        _ => AFTERWARDS_MS / 1000.0,
    };
    let mark = folder.join("stalled");
    // That of a run that failed.
    _ = fs::remove_file(&mark);
    let mut replay = place.within("python3");
    replay.arg(root().join("xtask/src/incident/hang/replay.py"));
    replay.arg(&mark).arg(before.to_string()).args(&files);
    let mut replay = Ended(replay.spawn().context("start python3")?);
    let clock = Stopwatch::start();
    let mut stalled: Option<Duration> = None;
    let mut first: [Option<(Duration, Verdict)>; VIEWS.len()] = [const { None }; VIEWS.len()];
    while stalled.is_none_or(|at| clock.elapsed() < at + LIMIT) {
        let status = replay.0.try_wait().context("wait for python3")?;
        ensure!(status.is_none_or(|status| status.success()), "the replay failed");
        if stalled.is_none()
            && let Ok(made) = mark.metadata().and_then(|file| file.modified())
        {
            let age = made.elapsed().unwrap_or_default();
            stalled = Some(clock.elapsed().saturating_sub(age));
        }
        ensure!(stalled.is_some() || status.is_none(), "the replay made no mark");
        for (first, agent) in first.iter_mut().zip(&agents) {
            if first.is_none()
                && let Some(verdict) = place.first_critical(agent, kind)?
            {
                *first = Some((clock.elapsed(), verdict));
            }
        }
        sleep(POLL);
    }
    let stalled = stalled.unwrap_or_default();
    let mut by_view = [(drawn.expected.classes.is_empty(), None); VIEWS.len()];
    for (view, first) in first.into_iter().enumerate() {
        let Some((at, verdict)) = first else {
            if !drawn.expected.classes.is_empty() {
                eprintln!("{} {seed}, {}: said nothing", kind.name(), VIEWS[view]);
            }
            continue;
        };
        let after = at.saturating_sub(stalled);
        let is_right = at >= stalled && after < LIMIT && mark_verdict(&verdict, &drawn.expected);
        if !is_right {
            let after = after.as_secs_f64();
            let (kind, view) = (kind.name(), VIEWS[view]);
            eprintln!("{kind} {seed}, {view}: said after {after:.1} s: {}", verdict.title);
        }
        by_view[view] = (is_right, Some(after));
    }
    Ok(Watched { kind, by_view })
}

/// A process that ends with its owner.
struct Ended(Child);

/// A namespace with a pair of interfaces for each host.
struct Place(String);

/// An agent, and the port of its pages.
struct Agent {
    _process: Ended,
    port: u16,
}

impl Place {
    fn new(name: &str, hosts: usize) -> Result<Self> {
        let ip = |line: &str| -> Result<()> {
            let mut ip = Command::new("ip");
            ip.args(line.split_whitespace());
            make::output_of(ip).map(drop)
        };
        // What an earlier run left.
        _ = ip(&format!("netns delete {name}"));
        ip(&format!("netns add {name}"))?;
        let place = Self(name.to_owned());
        ip(&format!("-n {name} link set lo up"))?;
        for host in 0..hosts {
            let ends = format!("out{host} mtu 9216 type veth peer name in{host} mtu 9216");
            ip(&format!("-n {name} link add {ends}"))?;
            for end in ["out", "in"] {
                ip(&format!("-n {name} link set {end}{host} addrgenmode none up"))?;
            }
        }
        Ok(place)
    }

    fn within(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.0]).arg(program);
        command
    }

    fn agent(&self, railscope: &Path, interfaces: &[String], folder: &Path) -> Result<Agent> {
        let port = if interfaces.len() == 1 { 9474 } else { 9475 };
        let names: Vec<String> = interfaces.iter().map(|name| format!("{name:?}")).collect();
        let mut agent = self.within(railscope);
        agent.arg("agent");
        for setting in [
            format!("taps.interfaces=[{}]", names.join(",")),
            format!("prometheus.listen=\"127.0.0.1:{port}\""),
            "otlp.interval=\"1s\"".to_owned(),
            "sources.calls=false".to_owned(),
            "sources.counters=false".to_owned(),
            "sources.processes=false".to_owned(),
        ] {
            agent.args(["--set", &setting]);
        }
        let log = folder.join(format!("agent.{port}.log"));
        let out = File::create(&log).with_context(|| format!("create {}", log.display()))?;
        agent.stdin(Stdio::null()).stdout(Stdio::null()).stderr(out);
        let process = Ended(agent.spawn().context("start an agent")?);
        let agent = Agent { _process: process, port };
        let deadline = Deadline::after(Duration::from_secs(30));
        while self.page(&agent, "readyz")? != b"ok\n" {
            ensure!(!deadline.has_passed(), "the agent is not ready: see {}", log.display());
            sleep(Duration::from_millis(100));
        }
        Ok(agent)
    }

    /// A page of an agent; empty if it does not answer.
    fn page(&self, agent: &Agent, name: &str) -> Result<Vec<u8>> {
        let mut curl = self.within("curl");
        curl.args(["-s", "--max-time", "5", &format!("http://127.0.0.1:{}/{name}", agent.port)]);
        Ok(curl.output().context("start curl")?.stdout)
    }

    /// The first critical verdict; not that a job which is over TCP is so.
    fn first_critical(&self, agent: &Agent, kind: HangKind) -> Result<Option<Verdict>> {
        /// The part of a report that matters here.
        #[derive(serde::Deserialize)]
        struct Report {
            verdicts: Vec<Verdict>,
        }
        let page = self.page(agent, "report.json")?;
        let report: Report = serde_json::from_slice(&page).context("read the agent's report")?;
        let is_known = |verdict: &Verdict| kind.is_over_tcp() && verdict.id == "socket_fallback";
        let mut verdicts = report.verdicts.into_iter();
        Ok(verdicts.find(|verdict| verdict.severity == "critical" && !is_known(verdict)))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        _ = Command::new("ip").args(["netns", "delete", &self.0]).status();
    }
}

impl Drop for Ended {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

/// The table: right within ten seconds, and the median time from the stall to the verdict.
pub(in crate::incident) fn table(watched: &[Watched]) -> String {
    let mut text = "| kind | jobs | all hosts | seconds | one host | seconds |\n\
                    | --- | --: | --: | --: | --: | --: |\n"
        .to_owned();
    for (name, jobs) in groups(watched, |one| one.kind) {
        row(&mut text, &name, &jobs);
    }
    text
}

fn row(text: &mut String, name: &str, watched: &[&Watched]) {
    let _ = write!(text, "| {name} | {} |", watched.len());
    for view in 0..VIEWS.len() {
        let by_view = || watched.iter().map(|one| one.by_view[view]);
        let right = by_view().filter(|(is_right, _)| *is_right).count();
        let mut after: Vec<Duration> = by_view().filter_map(|(_, after)| after).collect();
        after.sort_unstable();
        let median = after.get(after.len() / 2);
        let median = median.map_or("-".to_owned(), |after| format!("{:.1}", after.as_secs_f64()));
        let _ = write!(text, " {right} | {median} |");
    }
    text.push('\n');
}
