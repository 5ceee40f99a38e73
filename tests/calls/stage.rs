//! A library with NCCL's and libibverbs' functions, programs that call them, and a watcher.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use railscope::ingest::probe::{ProbeConfig, ProbeEvent, Probes};
use railscope_core::model::call::Call;
use railscope_testbed::clock::PATIENCE;
use tempfile::TempDir;

use crate::support::clock::now;
use crate::support::require;

/// A folder with `libnccl.so.2`, and with `caller`, `flood` and `rank`, which load the library from there.
pub(super) struct Stage(pub(super) TempDir);

impl Stage {
    /// Builds everything; `None`, with a message, if building or watching is not possible.
    pub(super) fn set(test: &str) -> Option<Self> {
        let header = Path::new("/usr/include/infiniband/verbs.h");
        if !require::root(test) || !require::has(test, "cc") {
            return None;
        }
        if !header.exists() {
            require::lacks(test, "libibverbs-dev");
            return None;
        }
        let stage = Self(tempfile::tempdir().unwrap());
        let sources = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/calls"));
        let build = |words: &[&str], source: &str| {
            let mut compile = Command::new("cc");
            compile.current_dir(stage.0.path()).args(["-O1", "-Wall", "-Wextra", "-Werror"]);
            assert!(compile.arg(sources.join(source)).args(words).status().unwrap().success());
        };
        let library = ["-shared", "-fPIC", "-Wl,-soname,libnccl.so.2", "-o", "libnccl.so.2"];
        build(&library, "library.c");
        for program in ["caller", "flood", "rank"] {
            let linked = ["-L.", "-l:libnccl.so.2", "-Wl,-rpath,$ORIGIN", "-o", program];
            build(&linked, &format!("{program}.c"));
        }
        Some(stage)
    }

    pub(super) fn library(&self) -> PathBuf {
        self.0.path().join("libnccl.so.2")
    }

    pub(super) fn caller(&self) -> Command {
        Command::new(self.0.path().join("caller"))
    }

    pub(super) fn flood(&self) -> Command {
        Command::new(self.0.path().join("flood"))
    }

    pub(super) fn rank(&self) -> Command {
        Command::new(self.0.path().join("rank"))
    }
}

/// Watches calls of all processes.
pub(super) fn watch() -> Watcher {
    let config = ProbeConfig {
        calls: true,
        connections: false,
        proc: "/proc".into(),
        ring_mebibytes: 4,
        logs: false,
    };
    Watcher {
        probes: Probes::open(&config).unwrap(),
        calls: Vec::new(),
        said: Vec::new(),
        missed: BTreeMap::new(),
    }
}

/// Calls and messages so far.
pub(super) struct Watcher {
    probes: Probes,
    pub(super) calls: Vec<Call>,
    /// Paths of watched libraries, and warnings.
    pub(super) said: Vec<String>,
    /// What was missed, by counter.
    pub(super) missed: BTreeMap<&'static str, u64>,
}

impl Watcher {
    pub(super) fn poll(&mut self) {
        let Self { probes, calls, said, missed } = self;
        probes
            .poll(false, &mut |event| match event {
                ProbeEvent::Call(call) => calls.push(*call),
                ProbeEvent::Missed { event, count } => {
                    *missed.entry(event.name()).or_default() += count;
                }
                ProbeEvent::Watched { path, .. } => said.push(path),
                ProbeEvent::Warning(words) => said.push(words),
                other => panic!("{other:?}"),
            })
            .unwrap();
        std::thread::sleep(Duration::from_millis(10));
    }

    /// Waits for a message that contains these words.
    #[track_caller]
    pub(super) fn until_said(&mut self, words: &str) {
        let begun = now();
        while !self.said.iter().any(|said| said.contains(words)) {
            assert!(begun.elapsed() < PATIENCE, "{words} in {:?}", self.said);
            self.poll();
        }
    }

    /// Lets a waiting program run until it succeeds; returns its calls.
    #[track_caller]
    pub(super) fn watch(&mut self, child: Child) -> Vec<Call> {
        let (calls, is_success) = self.watch_to_the_end(child);
        assert!(is_success);
        calls
    }

    /// Like [`Self::watch`], for a program that may fail; also returns whether it succeeded.
    #[track_caller]
    pub(super) fn watch_to_the_end(&mut self, mut child: Child) -> (Vec<Call>, bool) {
        child.stdin.take().unwrap().write_all(b"\n").unwrap();
        let begun = now();
        while child.try_wait().unwrap().is_none() {
            assert!(begun.elapsed() < PATIENCE, "the program hangs");
            self.poll();
        }
        let is_success = child.wait().unwrap().success();
        self.poll();
        let is_own = |call: &&Call| call.caller.pid == child.id();
        (self.calls.iter().filter(is_own).cloned().collect(), is_success)
    }

    /// Waits until the programs are detached from a library that no process maps any more.
    pub(super) fn until_left(&mut self) {
        let begun = now();
        while begun.elapsed() < Duration::from_secs(3) {
            self.poll();
        }
    }
}

/// Starts a program that waits for a line of input.
pub(super) fn start(command: &mut Command) -> Child {
    command.stdin(Stdio::piped()).spawn().unwrap()
}
