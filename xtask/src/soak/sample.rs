//! What an agent costs at one moment.

use std::fs;

use anyhow::{Context, Result};
use serde_json::Value;

/// One look at an agent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sample {
    pub(super) seconds: f64,
    pub(super) jobs: u64,
    pub(super) values: [f64; COLUMNS.len()],
}

/// What is watched, and how much of it may come and go by chance.
pub(super) const COLUMNS: [(&str, f64); 9] = [
    ("memory, RssAnon MiB", 1.0),
    ("CPU seconds", f64::INFINITY),
    ("file descriptors", 2.0),
    ("threads", 1.0),
    ("series", 20.0),
    ("report KiB", 50.0),
    ("communicators in the report", 1.0),
    ("queue pairs in the report", 20.0),
    ("flows in the report", 40.0),
];

impl Sample {
    /// Looks at the process, and at what it said.
    pub(super) fn take(
        process: u32,
        metrics: &str,
        report: &str,
        parsed: &Value,
        at: (f64, u64),
    ) -> Result<Self> {
        let status = read(process, "status")?;
        let of_status = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse::<f64>().ok()
        };
        let folder = format!("/proc/{process}/fd");
        let descriptors = fs::read_dir(&folder).with_context(|| format!("list {folder}"))?.count();
        let series = metrics.lines().filter(|line| !line.starts_with('#')).count();
        let count = |key: &str| parsed[key].as_array().map_or(0, Vec::len) as f64;
        let values = [
            of_status("RssAnon:").context("memory of the agent")? / 1024.0,
            cpu_seconds(&read(process, "stat")?).context("processor time of the agent")?,
            descriptors as f64,
            of_status("Threads:").context("threads of the agent")?,
            series as f64,
            report.len() as f64 / 1024.0,
            count("communicators"),
            count("queue_pairs"),
            count("flows"),
        ];
        Ok(Self { seconds: at.0, jobs: at.1, values })
    }

    /// As a line of CSV.
    pub(super) fn line(&self) -> String {
        let values = self.values.map(|value| format!("{value:.2}"));
        format!("{:.1},{},{}", self.seconds, self.jobs, values.join(","))
    }

    /// The names of the columns.
    pub(super) fn header() -> String {
        let names = COLUMNS.map(|(name, _)| name.replace(',', ""));
        format!("seconds,jobs,{}", names.join(","))
    }
}

fn read(process: u32, file: &str) -> Result<String> {
    let path = format!("/proc/{process}/{file}");
    fs::read_to_string(&path).with_context(|| format!("read {path}: the agent has ended"))
}

/// User and system time: fields 14 and 15 of `proc_pid_stat(5)`, in hundredths of a second.
fn cpu_seconds(stat: &str) -> Option<f64> {
    // Field 2 is a name in parentheses that may hold spaces.
    let (_, fields) = stat.rsplit_once(')')?;
    let ticks = fields.split_whitespace().skip(11).take(2).map(str::parse::<f64>);
    Some(ticks.sum::<Result<f64, _>>().ok()? / 100.0)
}
