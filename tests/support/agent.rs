//! `railscope agent` as a process, and its pages.

use std::io::Read as _;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use super::clock::eventually;
use super::data_base::free_port;
use super::http;

/// A running agent, killed when the handle is dropped.
pub struct Agent {
    child: Child,
    port: u16,
}

impl Agent {
    /// Starts an agent with these settings and waits until it observes.
    pub fn start(settings: &[&str]) -> Self {
        let agent = Self::begin(settings);
        eventually("the agent starts", || agent.get("/readyz").is_some());
        agent
    }

    /// Starts an agent with these settings and waits until it serves pages.
    pub fn begin(settings: &[&str]) -> Self {
        let port = free_port();
        let mut command = Command::new(env!("CARGO_BIN_EXE_railscope"));
        command.arg("agent").args(["--set", &format!("prometheus.listen=\"127.0.0.1:{port}\"")]);
        for setting in settings {
            command.args(["--set", setting]);
        }
        let child = command.stderr(Stdio::piped()).spawn().unwrap();
        let agent = Self { child, port };
        eventually("the agent serves pages", || agent.get("/healthz").is_some());
        agent
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// A page; `None` if there is none, or not yet.
    pub fn get(&self, path: &str) -> Option<String> {
        http::get(self.port, path)
    }

    /// Status and body of a page; `None` without an answer.
    pub fn answer(&self, path: &str) -> Option<(String, String)> {
        http::answer(self.port, path)
    }

    /// The latest report.
    pub fn report(&self) -> Value {
        serde_json::from_str(&self.get("/report.json").unwrap()).unwrap()
    }

    /// Private memory in use, KiB.
    pub fn memory_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    /// Stops it with SIGTERM, as Kubernetes does; returns what it printed.
    pub fn stop(mut self) -> String {
        self.signal(Signal::SIGTERM);
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert!(self.child.wait().unwrap().success(), "{said}");
        said
    }

    /// Kills it with SIGKILL.
    pub fn kill(mut self) {
        self.signal(Signal::SIGKILL);
        self.child.wait().unwrap();
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(i32::try_from(self.pid()).unwrap()), signal).unwrap();
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}
