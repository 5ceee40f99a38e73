//! `railscope agent` as a process, and its pages.

use std::io::Read as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Child, Command, ExitStatus, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::clock::eventually;
use crate::data_base::free_port;
use crate::http;

/// A running agent, killed when the handle is dropped.
pub struct Agent {
    child: Child,
    address: SocketAddr,
}

impl Agent {
    /// Starts an agent of the program `railscope` with these settings and waits until it observes.
    #[must_use]
    pub fn start(railscope: &str, settings: &[&str]) -> Self {
        let agent = Self::begin(railscope, settings);
        eventually("the agent starts", || agent.get("/readyz").is_some());
        agent
    }

    /// The same for a command that starts railscope its own way.
    #[must_use]
    pub fn start_as(railscope: Command, settings: &[&str]) -> Self {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()));
        let agent = Self::begin_at(railscope, address, settings);
        eventually("the agent starts", || agent.get("/readyz").is_some());
        agent
    }

    /// Starts an agent with these settings and waits until it serves pages.
    #[must_use]
    pub fn begin(railscope: &str, settings: &[&str]) -> Self {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()));
        Self::begin_at(Command::new(railscope), address, settings)
    }

    /// The same with this standard error.
    ///
    /// # Panics
    ///
    /// It cannot be started.
    #[must_use]
    pub fn begin_with(railscope: &str, settings: &[&str], stderr: Stdio) -> Self {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()));
        Self::spawn(Command::new(railscope), address, settings, stderr)
    }

    /// The same for a command that starts railscope elsewhere, whose pages are at `address`.
    ///
    /// # Panics
    ///
    /// The command cannot be started.
    #[must_use]
    pub fn begin_at(railscope: Command, address: SocketAddr, settings: &[&str]) -> Self {
        Self::spawn(railscope, address, settings, Stdio::piped())
    }

    fn spawn(
        mut railscope: Command,
        address: SocketAddr,
        settings: &[&str],
        stderr: Stdio,
    ) -> Self {
        railscope.arg("agent").args(["--set", &format!("prometheus.listen=\"{address}\"")]);
        for setting in settings {
            railscope.args(["--set", setting]);
        }
        let child = railscope.stderr(stderr).spawn().unwrap();
        let agent = Self { child, address };
        eventually("the agent serves pages", || agent.get("/healthz").is_some());
        agent
    }

    /// The address of its pages.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// A page; `None` if there is none, or not yet.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<String> {
        http::get(self.address, path)
    }

    /// Status and body of a page; `None` without an answer.
    #[must_use]
    pub fn answer(&self, path: &str) -> Option<(String, String)> {
        http::answer(self.address, path)
    }

    /// The latest report.
    ///
    /// # Panics
    ///
    /// There is none, or it is not JSON.
    #[must_use]
    pub fn report(&self) -> Value {
        serde_json::from_str(&self.get("/report.json").unwrap()).unwrap()
    }

    /// Private memory in use, KiB.
    ///
    /// # Panics
    ///
    /// The agent has ended.
    #[must_use]
    pub fn memory_kib(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    /// Stops it with SIGTERM, as Kubernetes does; returns what it printed.
    ///
    /// # Panics
    ///
    /// The agent fails.
    #[expect(clippy::must_use_candidate, reason = "most callers only want it to end")]
    pub fn stop(mut self) -> String {
        self.signal(Signal::SIGTERM);
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert!(self.child.wait().unwrap().success(), "{said}");
        said
    }

    /// Stops it with SIGTERM; returns how it ended.
    ///
    /// # Panics
    ///
    /// It is not there any more.
    #[must_use]
    pub fn end(mut self) -> ExitStatus {
        self.signal(Signal::SIGTERM);
        self.child.wait().unwrap()
    }

    /// Kills it with SIGKILL.
    ///
    /// # Panics
    ///
    /// It has ended before.
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
