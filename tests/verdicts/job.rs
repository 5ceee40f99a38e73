//! Jobs of the simulator, and of the driver, with the report on them.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::cli::railscope;

/// A job in virtual time: one rank a host, one small collective in each training step.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub hosts: u32,
    pub seed: u64,
    /// After the one that warms up.
    pub iterations: u32,
    pub compute_ms: u32,
    pub jitter_ms: u32,
    /// Keys of the job, then tables of faults.
    pub more: String,
}

impl Default for Job {
    fn default() -> Self {
        Self {
            hosts: 4,
            seed: 1,
            iterations: 30,
            compute_ms: 60,
            jitter_ms: 1,
            more: String::new(),
        }
    }
}

impl Job {
    /// The same with a rank that is late in all of these training steps.
    pub fn with_late(mut self, rank: u32, delay_ms: u32, during: [u32; 2]) -> Self {
        self.more += &format!(
            "[[straggler]]\nrank = {rank}\ndelay = \"{delay_ms}ms\"\ncause = \"compute\"\n\
             iterations = [{}, {}]\n",
            during[0], during[1]
        );
        self
    }

    /// Simulates it, and runs `railscope analyze` with `options` on the captures.
    pub fn analyze(&self, options: &[&str]) -> String {
        let Self { hosts, seed, iterations, compute_ms, jitter_ms, more } = self;
        let scenario = format!(
            "title = \"late\"\nseed = {seed}\n[fabric]\nhosts = {hosts}\nhosts_per_leaf = 4\n\
             [capture]\npause_frames = false\n[[job]]\niterations = {iterations}\n\
             compute = \"{compute_ms}ms\"\njitter = \"{jitter_ms}ms\"\nchannels = 1\n\
             buckets = [\"64KiB\"]\n{more}"
        );
        let folder = tempfile::tempdir().unwrap();
        let job = simulate(folder.path(), &scenario);
        analyze(&job, (0..*hosts).map(|host| format!("host{host}.pcapng")), options)
    }

    pub fn report(&self) -> Value {
        serde_json::from_str(&self.analyze(&["--format", "json"])).unwrap()
    }
}

/// Simulates a scenario in `folder`; returns where its captures are.
pub(super) fn simulate(folder: &Path, scenario: &str) -> PathBuf {
    let path = folder.join("scenario.toml");
    std::fs::write(&path, scenario).unwrap();
    let job = folder.join("job");
    railscope(["simulate", path.to_str().unwrap(), "--out", job.to_str().unwrap()]).warns();
    job
}

/// `railscope analyze` on the captures of a job.
pub(super) fn analyze(
    job: &Path,
    captures: impl Iterator<Item = String>,
    options: &[&str],
) -> String {
    let captures = captures.map(|name| job.join(name).to_str().unwrap().to_owned());
    let arguments = ["analyze"].iter().chain(options).map(|text| (*text).to_owned());
    railscope(arguments.chain(captures)).warns()
}

/// The verdicts that say that something is wrong.
pub(super) fn problems(report: &Value) -> Vec<&Value> {
    let all = report["verdicts"].as_array().unwrap().iter();
    all.filter(|verdict| verdict["severity"] != "info").collect()
}
