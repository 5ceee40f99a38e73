//! Rings of NCCL's profiler plugin: what an agent that sees no packet knows of a job, the deep mode, and
//! what hostile processes can do with files of that name. How a ring is read is in `decode::profiler`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use railscope_testbed::agent::Agent;
use railscope_testbed::clock::eventually;
use serde_json::Value;
use tempfile::TempDir;

use super::host::{ALL, host};
use super::{verdict, visible};
use crate::support::clock;
use crate::support::railscope::PROGRAM;
use crate::support::{receivers, require};

const SEES: &str = "waits in rings of NCCL's profiler plugin";

#[test]
fn rings_of_other_users_need_capabilities() {
    assert_eq!(verdict(SEES, &host(ALL, &[])).to_string(), format!("{SEES}: yes"));
    let without = verdict(SEES, &host("0", &[]));
    assert!(without.runs());
    assert!(without.lesser[0].contains("containers are not read"), "{:?}", without.lesser);
}

/// The plugin as Cargo builds it, beside the program, and a folder for rings; `None` if something is missing.
fn place(test: &str) -> Option<(PathBuf, TempDir)> {
    let path = Path::new(PROGRAM).with_file_name("libnccl_profiler_railscope.so");
    if !path.exists() {
        require::lacks(test, "the profiler plugin: cargo build -p railscope-profiler");
        return None;
    }
    let folder = folder(test)?;
    Some((path, folder))
}

fn folder(test: &str) -> Option<TempDir> {
    let folder = tempfile::tempdir_in("/dev/shm").ok();
    if folder.is_none() {
        require::lacks(test, "a file system in memory at /dev/shm");
    }
    folder
}

/// An agent that sees nothing but rings in this folder.
fn agent(folder: &Path, more: &[&str]) -> Agent {
    let rings = format!("profiles.folder=\"{}\"", folder.display());
    let mut settings = vec![
        "sources.packets=false",
        "sources.calls=false",
        "sources.processes=false",
        "sources.counters=false",
        "sources.ras=false",
        "labels.rank=true",
        "otlp.interval=\"500ms\"",
        &rings,
    ];
    settings.extend(more);
    Agent::begin(PROGRAM, &settings)
}

/// A job of four ranks that load the plugin.
fn drive(plugin: &Path, folder: &Path, mask: &str, words: &[&str]) -> Job {
    let mut command = Command::new(PROGRAM);
    for name in ["RANK", "WORLD_SIZE", "LOCAL_RANK", "RAILSCOPE_PROFILER_DIR"] {
        command.env_remove(name);
    }
    command.env("RAILSCOPE_PROFILER_SHM", folder).env("RAILSCOPE_PROFILER_MASK", mask);
    command.args(["drive", "--ranks", "4", "--buckets", "256KiB,100000", "--check", "0"]);
    command.args(words).arg("--profiler").arg(plugin);
    Job(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
}

/// A job, ended with the handle: its ranks end with it.
struct Job(Child);

impl Drop for Job {
    fn drop(&mut self) {
        let pid = nix::unistd::Pid::from_raw(i32::try_from(self.0.id()).unwrap());
        let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT);
        let _ = self.0.wait();
    }
}

fn report(agent: &Agent) -> Value {
    let page = agent.get("/report.json").unwrap_or_default();
    serde_json::from_str(&page).unwrap_or_default()
}

/// The sum of all series of a metric that have these labels.
fn sum(metrics: &str, name: &str, labels: &[&str]) -> f64 {
    let start = format!("{name}{{");
    let is_it = |line: &&str| {
        (line.starts_with(&start) || line.starts_with(&format!("{name} ")))
            && labels.iter().all(|label| line.contains(label))
    };
    let values = metrics.lines().filter(is_it).filter_map(|line| line.split(' ').next_back());
    values.filter_map(|value| value.parse::<f64>().ok()).sum()
}

#[test]
fn a_late_rank_is_named_without_any_packet() {
    let test = "a_late_rank_is_named_without_any_packet";
    let Some((plugin, folder)) = place(test) else { return };
    let agent = agent(folder.path(), &[]);
    let late = "rank=2,delay=60ms";
    let words = ["--iterations", "400", "--compute", "30ms", "--straggler", late];
    let job = drive(&plugin, folder.path(), "30", &words);
    eventually("the late rank is named", || {
        let report = report(&agent);
        let late = &report["call_records"]["late_by_proxies"][0];
        let verdict = &report["verdicts"][0];
        late["rank"] == 2
            && late["why"] == "enqueue"
            && verdict["id"] == "late_rank"
            && verdict["by_profiles"] == "alone"
    });
    eventually("training steps are counted, and what each rank took", || {
        let metrics = agent.get("/metrics").unwrap();
        let observed = |rank: u32| {
            let rank = format!("nccl_rank=\"{rank}\"");
            sum(&metrics, "nccl_rank_observed_time_seconds_total", &[&rank])
        };
        sum(&metrics, "nccl_training_step_duration_seconds_count", &[]) > 15.0
            && (0..4).all(|rank| observed(rank) > 0.5)
    });
    let metrics = agent.get("/metrics").unwrap();
    let seconds = sum(&metrics, "nccl_training_step_duration_seconds_sum", &[]);
    let count = sum(&metrics, "nccl_training_step_duration_seconds_count", &[]);
    // A step computes for 30 ms, and waits 60 ms for rank 2.
    assert!((0.08..0.5).contains(&(seconds / count)), "{seconds} s in {count}");
    let verdict = ["railscope_verdict=\"late_rank\"", "nccl_rank=\"2\""];
    assert!(sum(&metrics, "railscope_verdict_active", &verdict) > 0.0, "{metrics}");
    let waits = |wait: &str| {
        let label = format!("nccl_transfer_wait=\"{wait}\"");
        sum(&metrics, "nccl_transfer_wait_time_seconds_total", &[&label])
    };
    assert!(waits("recv") > 0.5 && waits("send") > 0.0, "{metrics}");
    let share = |rank: u32, cause: &str| {
        let rank = format!("nccl_rank=\"{rank}\"");
        let cause = format!("nccl_straggler_cause=\"{cause}\"");
        sum(&metrics, "nccl_rank_own_time_seconds_total", &[&rank, &cause])
            / sum(&metrics, "nccl_rank_observed_time_seconds_total", &[&rank])
    };
    // What recording rules compare between hosts.
    let others = [0, 1, 3].map(|rank| share(rank, "enqueue"));
    assert!(others.iter().all(|other| share(2, "enqueue") > other + 0.2), "{metrics}");
    assert_eq!(visible(&metrics, "profiles", "all").as_deref(), Some("1"));
    let health = report(&agent)["health"].clone();
    assert!(health.get("profiles.overwritten_words").is_none(), "{health}");
    drop(job);
    eventually("the rings are gone", || {
        visible(&agent.get("/metrics").unwrap(), "profiles", "all").is_none()
    });
    agent.stop();
}

/// Masks that NCCL has now in the processes of a job, by their rings.
fn masks(folder: &Path) -> Vec<u64> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mask = |path: PathBuf| {
        let mut word = [0; 8];
        File::open(path).ok()?.read_exact_at(&mut word, 18 * 8).ok()?;
        Some(u64::from_le_bytes(word))
    };
    entries.filter_map(|entry| mask(entry.ok()?.path())).collect()
}

/// A job whose calls alone are recorded, and one slow training step now and then: on a busy machine the
/// agent may not have found the rings before the first of them.
const WORDS: [&str; 18] = [
    "--iterations",
    "4000",
    "--compute",
    "20ms",
    "--straggler",
    "rank=1,delay=1500ms,iterations=60..60",
    "--straggler",
    "rank=1,delay=1500ms,iterations=200..200",
    "--straggler",
    "rank=1,delay=1500ms,iterations=340..340",
    "--straggler",
    "rank=1,delay=1500ms,iterations=480..480",
    "--straggler",
    "rank=1,delay=1500ms,iterations=620..620",
    "--straggler",
    "rank=1,delay=1500ms,iterations=760..760",
    "--straggler",
    "rank=1,delay=1500ms,iterations=900..900",
];

const DEEP: [&str; 3] =
    ["profiles.deep-on=[\"step:3x\"]", "profiles.deep-for=\"4s\"", "profiles.deep-pause=\"2s\""];

#[test]
fn a_slow_training_step_turns_events_on_for_a_while() {
    let test = "a_slow_training_step_turns_events_on_for_a_while";
    let Some((plugin, folder)) = place(test) else { return };
    let agent = agent(folder.path(), &DEEP);
    let job = drive(&plugin, folder.path(), "2", &WORDS);
    eventually("the ranks have rings", || masks(folder.path()).len() == 4);
    eventually("calls alone are recorded", || masks(folder.path()) == [2; 4]);
    eventually("events are on", || masks(folder.path()) == [30; 4]);
    let begun = clock::now();
    eventually("events are off", || masks(folder.path()) == [2; 4]);
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    eventually("transfers are seen", || {
        report(&agent)["call_records"]["proxies"][0]["transfers"].as_u64() > Some(0)
    });
    drop(job);
    let said = agent.stop();
    assert!(said.contains("events are asked for, because of slow step"), "{said}");
    assert!(said.contains("events are on for 4s in 4 of 4 processes"), "{said}");
}

#[test]
fn a_job_that_begins_while_events_are_on_gives_them_too() {
    let test = "a_job_that_begins_while_events_are_on_gives_them_too";
    let Some((plugin, folder)) = place(test) else { return };
    let alarm = folder.path().join("alarm");
    File::create(&alarm).unwrap();
    let deep_on = format!("profiles.deep-on=[\"log:{}:now\"]", alarm.display());
    let settings = [deep_on.as_str(), "profiles.deep-for=\"60s\"", "profiles.deep-pause=\"1h\""];
    let agent = agent(folder.path(), &settings);
    let words = ["--iterations", "4000", "--compute", "20ms"];
    let masks = || -> Vec<u64> {
        masks(folder.path()).into_iter().filter(|mask| [2, 30].contains(mask)).collect()
    };
    let first = drive(&plugin, folder.path(), "2", &words);
    eventually("the ranks of the first job have rings", || masks() == [2; 4]);
    let mut alarm = File::options().append(true).open(&alarm).unwrap();
    // A line that comes before the agent has found the rings asks for nothing.
    eventually("events are on", || {
        alarm.write_all(b"now\n").unwrap();
        masks() == [30; 4]
    });
    let second = drive(&plugin, folder.path(), "2", &words);
    eventually("events are on in both jobs", || masks() == [30; 8]);
    drop((first, second));
    let said = agent.stop();
    assert!(said.contains(" more, found meanwhile"), "{said}");
}

/// Series of `/metrics` that recording rules compare, each with its values at several times.
fn watched(agent: &Agent, times: usize) -> BTreeMap<String, Vec<f64>> {
    let mut series: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for time in 0..times {
        std::thread::sleep(Duration::from_millis(500));
        let metrics = agent.get("/metrics").unwrap();
        for line in metrics.lines().filter(|line| line.starts_with("nccl_rank_")) {
            let (name, value) = line.rsplit_once(' ').unwrap();
            let values = series.entry(name.to_owned()).or_default();
            // A series that begins later was 0 before.
            values.resize(time, 0.0);
            values.push(value.parse().unwrap());
        }
    }
    series
}

/// A query, and the labels of the series that it must yield, with the value 1; `None` if it must yield nothing.
type Expected<'a> = (&'a str, Option<&'a str>);

/// A test of the shipped rules for promtool: what rules say of these series at the end, half a minute from
/// value to value.
fn rules_test(
    series: &BTreeMap<String, Vec<f64>>,
    times: usize,
    expected: &[Expected<'_>],
) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dashboards/prometheus");
    let folder = folder.canonicalize().unwrap();
    let mut text = String::from("rule_files:\n");
    for file in ["recording.yaml", "alerts.yaml"] {
        writeln!(text, "  - {}", folder.join(file).display()).unwrap();
    }
    text.push_str("evaluation_interval: 30s\ntests:\n  - interval: 30s\n    input_series:\n");
    for (name, values) in series {
        let values: Vec<String> = values.iter().map(f64::to_string).collect();
        writeln!(text, "      - series: '{name}'\n        values: {}", values.join(" ")).unwrap();
    }
    text.push_str("    promql_expr_test:\n");
    for (query, labels) in expected {
        let end = (times - 1) / 2;
        write!(text, "      - expr: {query}\n        eval_time: {end}m\n").unwrap();
        match labels {
            Some(labels) => write!(
                text,
                "        exp_samples:\n          - labels: '{labels}'\n            value: 1\n"
            ),
            None => writeln!(text, "        exp_samples: []"),
        }
        .unwrap();
    }
    text
}

/// What rules and alerts say, quarter of an hour long, of a job of four ranks whose agent sees nothing but
/// their rings.
fn check_rules(test: &str, words: &[&str], expected: &[Expected<'_>]) {
    let Some((plugin, folder)) = place(test) else { return };
    let Some(mut promtool) = receivers::promtool(test) else { return };
    let agent = agent(folder.path(), &[]);
    let job = drive(&plugin, folder.path(), "30", words);
    eventually("what each rank took is counted", || {
        let metrics = agent.get("/metrics").unwrap();
        (0..4).all(|rank| {
            let rank = format!("nccl_rank=\"{rank}\"");
            sum(&metrics, "nccl_rank_own_time_seconds_total", &[&rank]) > 0.5
        })
    });
    // The alert waits for five minutes of a share over five minutes.
    let times = 31;
    let series = watched(&agent, times);
    assert_eq!(series.values().map(Vec::len).collect::<BTreeSet<_>>(), BTreeSet::from([times]));
    drop(job);
    agent.stop();
    // All ranks are compared: what is missing, or no number, would fire nothing either.
    let compared = "count(nccl:rank_late_start:share5m > -1) == bool 4";
    let expected: Vec<Expected<'_>> =
        std::iter::once((compared, Some("{}"))).chain(expected.iter().copied()).collect();
    let file = folder.path().join("rings.test.yaml");
    let text = rules_test(&series, times, &expected);
    std::fs::write(&file, &text).unwrap();
    let output = promtool.args(["test", "rules"]).arg(&file).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{complaints}{text}");
}

/// Alerts about ranks that fire.
const FIRING: &str = "count by (nccl_rank, nccl_straggler_cause) \
     (ALERTS{alertname=\"RailscopeRankLate\", alertstate=\"firing\"})";

#[test]
fn rules_and_alerts_name_the_late_rank_from_rings_alone() {
    let late = r#"{nccl_rank="2", nccl_straggler_cause="enqueue"}"#;
    let rules = "count by (nccl_rank, nccl_straggler_cause) (nccl:late_rank:share5m > 0.05)";
    check_rules(
        "rules_and_alerts_name_the_late_rank_from_rings_alone",
        &["--iterations", "1000", "--compute", "30ms", "--straggler", "rank=2,delay=60ms"],
        &[(rules, Some(late)), (FIRING, Some(late))],
    );
}

#[test]
fn a_clean_job_fires_no_alert_about_a_rank() {
    check_rules(
        "a_clean_job_fires_no_alert_about_a_rank",
        &["--iterations", "2000", "--compute", "30ms"],
        &[(FIRING, None)],
    );
}

#[test]
fn a_slow_network_fires_no_alert_about_a_rank() {
    let test = "a_slow_network_fires_no_alert_about_a_rank";
    for fault in [["--mark-ce", "edge=0-1,share=20%"], ["--loss", "edge=1-2,share=1%"]] {
        let words = [&["--iterations", "2000", "--compute", "30ms"][..], &fault].concat();
        check_rules(test, &words, &[(FIRING, None)]);
    }
}

#[test]
fn a_killed_agent_leaves_no_events_on() {
    let test = "a_killed_agent_leaves_no_events_on";
    let Some((plugin, folder)) = place(test) else { return };
    let agent = agent(folder.path(), &DEEP);
    let job = drive(&plugin, folder.path(), "2", &WORDS);
    eventually("events are on", || masks(folder.path()) == [30; 4]);
    agent.kill();
    let begun = clock::now();
    eventually("events are off", || masks(folder.path()) == [2; 4]);
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    drop(job);
}

/// Makes a file of a ring's name, maps it, and changes it all the time.
const HOSTILE: &str = r#"
import mmap, os, random, sys, time
folder, kind = sys.argv[1:]
path = f"{folder}/railscope-profiler.{os.getpid()}"
words = lambda *all: b"".join(word.to_bytes(8, "little") for word in all)
lane, size = 1024, 128 << 10
header = b"RAILPROF" + words(1 | 512 << 32, os.getpid(), 1, 1, 8 | lane << 32, 256 | 16 << 32, 0) + bytes(64)
if kind == "pipe":
    os.mkfifo(path)
elif kind == "link":
    os.symlink("/etc/passwd", path)
else:
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    os.ftruncate(file, 1 << 45 if kind == "huge" else size)
    if kind == "other":
        os.chown(file, 12345, 12345)
    memory = mmap.mmap(file, size)
    if kind != "huge":
        memory[:] = random.randbytes(size)
    if kind in ("ring", "cut"):
        memory[:128] = header
print("ready", flush=True)
while True:
    if kind == "ring":
        at = 128 + random.randrange(size - 4096)
        memory[at:at + 2048] = random.randbytes(2048)
    elif kind == "cut":
        for length in (64, 5000, size):
            os.ftruncate(file, length)
        os.pwrite(file, header, 0)
    else:
        time.sleep(0.1)
"#;

#[test]
fn hostile_rings_hurt_nobody() {
    let test = "hostile_rings_hurt_nobody";
    let Some((plugin, folder)) = place(test) else { return };
    if !require::has(test, "python3") {
        return;
    }
    let is_root = railscope_drive::place::user_id() == 0;
    let kinds = ["nonsense", "ring", "cut", "pipe", "link", "huge", "other"];
    let kinds = kinds.into_iter().filter(|kind| is_root || *kind != "other");
    let begin = |kind: &str| {
        let mut command = Command::new("python3");
        command.args(["-c", HOSTILE, folder.path().to_str().unwrap(), kind]);
        Hostile(command.stdout(Stdio::null()).spawn().unwrap())
    };
    let hostile: Vec<Hostile> = kinds.map(begin).collect();
    let agent = agent(folder.path(), &DEEP);
    eventually("what is no ring is refused", || {
        let refused = report(&agent)["health"]["profiles.refused"].as_u64();
        // Nonsense is no ring, nor are a pipe and a file that is too large.
        refused >= Some(3)
    });
    let words = ["--iterations", "400", "--compute", "20ms"];
    let job = drive(&plugin, folder.path(), "30", &words);
    eventually("a job is seen beside them", || {
        let proxies = report(&agent)["call_records"]["proxies"].clone();
        let seen = |one: &Value| one["transfers"].as_u64() > Some(50) && one["rank"].is_u64();
        proxies.as_array().is_some_and(|all| all.iter().filter(|one| seen(one)).count() >= 4)
    });
    assert!(agent.memory_kib() < 200 << 10, "{} KiB", agent.memory_kib());
    drop(job);
    drop(hostile);
    agent.stop();
}

struct Hostile(Child);

impl Drop for Hostile {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
