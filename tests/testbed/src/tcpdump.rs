//! tcpdump on an interface.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// A running capture.
pub struct Capture {
    tcpdump: Child,
    file: PathBuf,
}

impl Capture {
    /// Captures `interface` into a file of its name in `folder`.
    ///
    /// 4096 bytes of a packet hold every bootstrap message. As tcpdump's ring slots have that size,
    /// the ring still holds one second of packets.
    ///
    /// # Panics
    ///
    /// tcpdump does not listen.
    #[must_use]
    pub fn start(interface: &str, folder: &Path) -> Self {
        let file = folder.join(format!("{interface}.pcap"));
        let mut tcpdump = Command::new("tcpdump")
            .args(["-i", interface, "--immediate-mode", "-s", "4096", "-B", "65536"])
            .args(["-Z", "root", "-w"])
            .arg(&file)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(tcpdump.stderr.as_mut().unwrap());
        let mut line = String::new();
        while !line.contains("listening on") {
            line.clear();
            assert!(said.read_line(&mut line).unwrap() > 0, "tcpdump does not listen");
        }
        Self { tcpdump, file }
    }

    /// Ends it; the file, or `None` if packets were lost.
    ///
    /// # Panics
    ///
    /// tcpdump does not say how many packets it lost.
    #[must_use]
    pub fn end(self) -> Option<PathBuf> {
        kill(Pid::from_raw(i32::try_from(self.tcpdump.id()).unwrap()), Signal::SIGINT).unwrap();
        let said = self.tcpdump.wait_with_output().unwrap().stderr;
        let said = String::from_utf8(said).unwrap();
        assert!(said.contains(" packets dropped by kernel"), "{said}");
        said.contains("\n0 packets dropped by kernel").then_some(self.file)
    }
}
