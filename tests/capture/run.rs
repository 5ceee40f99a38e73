//! A running `railscope capture`, on a wire of its own.

use std::io::{BufRead, BufReader};
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};

use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use railscope_testbed::clock::eventually;

use crate::support::railscope::PROGRAM;
use crate::support::require;

/// Runs `test` on a thread in its own network namespace, with a veth pair: `a` has 10.9.0.1.
pub fn on_a_wire(name: &str, test: impl FnOnce() + Send + 'static) {
    if !require::root(name) || !require::has(name, "ip") {
        return;
    }
    let enter = move || {
        unshare(CloneFlags::CLONE_NEWNET).unwrap();
        ip("link set dev lo up");
        ip("link add name a type veth peer name b");
        ip("addr add 10.9.0.1/24 dev a");
        for end in ["a", "b"] {
            ip(&format!("link set dev {end} addrgenmode none up"));
        }
        ip("neigh add 10.9.0.2 lladdr 02:00:00:00:00:0b dev a");
        test();
    };
    std::thread::spawn(enter).join().unwrap();
}

pub fn ip(line: &str) {
    let status = Command::new("ip").args(line.split(' ')).status().unwrap();
    assert!(status.success(), "ip {line}");
}

/// Sends UDP to the other end of the wire.
pub fn send(count: usize, port: u16, bytes: usize) {
    let socket = UdpSocket::bind("10.9.0.1:0").unwrap();
    for number in 0..count {
        let payload = vec![number as u8; bytes];
        socket.send_to(&payload, ("10.9.0.2", port)).unwrap();
    }
}

/// A capture that runs.
pub struct Capture {
    child: Child,
    said: Arc<Mutex<String>>,
}

impl Capture {
    /// Starts one on `a`, and waits until it captures.
    pub fn start(arguments: &[&str]) -> Self {
        let mut command = Command::new(PROGRAM);
        command.args(["capture", "-i", "a"]).args(arguments);
        let capture = Self::spawn(&mut command);
        capture.waits_for("packet sockets at");
        capture
    }

    pub fn spawn(command: &mut Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let said = Arc::new(Mutex::new(String::new()));
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let to = said.clone();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                *to.lock().unwrap() += &(line + "\n");
            }
        });
        Self { child, said }
    }

    pub fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    pub fn waits_for(&self, text: &str) {
        eventually(&format!("the capture says `{text}`"), || self.said().contains(text));
    }

    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(i32::try_from(self.child.id()).unwrap()), signal).unwrap();
    }

    /// Waits for its end.
    pub fn ends(&mut self) -> ExitStatus {
        let mut status = None;
        eventually("the capture ends", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        // The rest of what it said.
        std::thread::sleep(std::time::Duration::from_millis(50));
        status.unwrap()
    }

    /// Ctrl-C; returns what it said.
    pub fn interrupted(mut self) -> String {
        self.signal(Signal::SIGINT);
        let status = self.ends();
        let said = self.said();
        assert!(status.success(), "{status}: {said}");
        said
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// The files in a folder, without hidden ones.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let is_shown = |path: &PathBuf| !path.file_name().unwrap().to_string_lossy().starts_with('.');
    let mut files: Vec<_> = entries.filter(is_shown).collect();
    files.sort();
    files
}

/// The payload lengths of the UDP packets in a capture.
pub fn sizes(path: &Path) -> Vec<u64> {
    let packets = crate::support::railscope::packets(path);
    packets.iter().map(|packet| packet["wire_bytes"].as_u64().unwrap()).collect()
}
