//! Who takes the frames of the mirror port, and how many it says it has.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use super::{PORT, READS, inside};

/// Long enough for buffers to be handed over, and for a report.
pub(super) const SETTLE: Duration = Duration::from_millis(1500);

/// Most looks at an agent's counts, a [`SETTLE`] apart, until they stand still.
const LOOKS: usize = 20;

const SNAP: &str = "128";
const BUFFER_MEBIBYTES: u32 = 32;
const LISTEN: &str = "127.0.0.1:9474";

/// What takes frames.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Taker {
    /// What the receive path of the kernel takes alone.
    Nobody,
    Programs,
    /// In the driver, as at a mirror port.
    Driver,
    Sockets,
    Capture,
    Tcpdump,
    Dumpcap,
}

pub(super) const TAKERS: [Taker; 7] = [
    Taker::Nobody,
    Taker::Driver,
    Taker::Programs,
    Taker::Sockets,
    Taker::Capture,
    Taker::Tcpdump,
    Taker::Dumpcap,
];

impl Taker {
    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Nobody => "nobody",
            Self::Driver => "kernel programs in the driver (`taps.mirrors`) and `railscope agent`",
            Self::Programs => "kernel programs at traffic control and `railscope agent`",
            Self::Sockets => "packet sockets and `railscope agent`",
            Self::Capture => "`railscope capture -o /dev/null`",
            Self::Tcpdump => "`tcpdump -w /dev/null`",
            Self::Dumpcap => "`dumpcap -w /dev/null`",
        }
    }

    const fn is_agent(self) -> bool {
        matches!(self, Self::Driver | Self::Programs | Self::Sockets)
    }

    /// Starts it on its core.
    pub(super) fn start(self, railscope: &Path) -> Result<Running> {
        let mut command = inside("taskset");
        command.args(["-c", &READS.to_string()]);
        let buffer = BUFFER_MEBIBYTES;
        match self {
            Self::Nobody => command.args(["sleep", "1h"]),
            // Without the capability for programs, the agent opens packet sockets.
            Self::Sockets => {
                command.args(["setpriv", "--bounding-set", "-bpf,-sys_admin"]).arg(railscope)
            }
            Self::Driver | Self::Programs | Self::Capture => command.arg(railscope),
            Self::Tcpdump => {
                command.args(["tcpdump", "-i", PORT, "-s", SNAP, "-B", &(buffer << 10).to_string()])
            }
            Self::Dumpcap => {
                command.args(["dumpcap", "-q", "-i", PORT, "-s", SNAP, "-B", &buffer.to_string()])
            }
        };
        match self {
            Self::Driver | Self::Programs | Self::Sockets => {
                command.args(["agent", "--set", &format!("taps.interfaces=[\"{PORT}\"]")]);
                command.args(["--set", "sources.calls=false", "--set", "sources.processes=false"]);
                if self == Self::Driver {
                    command.args(["--set", &format!("taps.mirrors=[\"{PORT}\"]")]);
                }
                command.args(["--set", "otlp.interval=\"1s\""]);
                command.args(["--set", &format!("prometheus.listen=\"{LISTEN}\"")]);
            }
            Self::Capture => {
                command.args(["capture", "-i", PORT, "-s", SNAP, "-o", "/dev/null"]);
                command.args(["--buffer", &format!("{buffer}MiB")]);
            }
            Self::Tcpdump | Self::Dumpcap => _ = command.args(["-w", "/dev/null"]),
            Self::Nobody => {}
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let child = command.spawn().with_context(|| format!("start {}", self.title()))?;
        let running = Running { taker: self, child };
        sleep(2 * SETTLE);
        Ok(running)
    }
}

/// A program that takes frames.
pub(super) struct Running {
    taker: Taker,
    child: Child,
}

impl Running {
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Lets it end, and asks it what it has; `None` of nobody.
    pub(super) fn end(mut self) -> Result<Option<u64>> {
        if self.taker == Taker::Nobody {
            return Ok(None);
        }
        let of_agent = if self.taker.is_agent() { Some(settled()?) } else { None };
        let status = Command::new("kill").args(["-INT", &self.id().to_string()]).status()?;
        ensure!(status.success(), "kill: {status}");
        let mut said = String::new();
        if let Some(stderr) = &mut self.child.stderr {
            stderr.read_to_string(&mut said)?;
        }
        let status = self.child.wait()?;
        ensure!(status.success(), "{}: {status}: {said}", self.taker.title());
        let uses_sockets = said.contains("packet sockets instead of kernel programs");
        let taken = match (self.taker, of_agent) {
            (_, Some(frames)) => {
                let is_other = said.contains("is not read in its driver")
                    || uses_sockets != (self.taker == Taker::Sockets);
                ensure!(!is_other, "another source: {said}");
                Ok(frames)
            }
            (Taker::Tcpdump, _) => tcpdump(&said),
            (Taker::Dumpcap, _) => dumpcap(&said),
            _ => capture(&said),
        };
        let silent = || format!("{} does not say what it has: {said}", self.taker.title());
        taken.map(Some).with_context(silent)
    }
}

impl Drop for Running {
    /// A failed bench leaves nothing behind.
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// What the agent has once that stands still.
fn settled() -> Result<u64> {
    let mut before = None;
    for _ in 0..LOOKS {
        let output = inside("curl")
            .args(["--silent", "--fail", &format!("http://{LISTEN}/metrics")])
            .output()?;
        ensure!(output.status.success(), "curl {LISTEN}: {}", output.status);
        let text = String::from_utf8_lossy(&output.stdout);
        let sum = |metric: &str| -> f64 {
            let lines = text.lines().filter(|line| line.starts_with(metric));
            lines.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok()).sum()
        };
        let frames = sum("railscope_tap_frames_total{") as u64;
        if before == Some(frames) {
            return Ok(frames);
        }
        before = Some(frames);
        sleep(2 * SETTLE);
    }
    bail!("the agent's counts do not stand still")
}

/// "captured 2,000 frames in 2.9 s, lost 10"
fn capture(said: &str) -> Result<u64> {
    let line = said.lines().find(|line| line.starts_with("captured "));
    before(line.context("no summary")?, " frames")
}

/// "2000 packets captured"
fn tcpdump(said: &str) -> Result<u64> {
    let end = " packets captured";
    let line = said.lines().find(|line| line.ends_with(end));
    before(line.context("no summary")?, end)
}

/// "Packets received/dropped on interface 'mirror0': 2000/10 (pcap:10/...)"
fn dumpcap(said: &str) -> Result<u64> {
    let line = said.lines().find(|line| line.starts_with("Packets received/dropped"));
    let (_, numbers) = line.and_then(|line| line.rsplit_once("': ")).context("no summary")?;
    number(numbers.split('/').next().unwrap_or_default())
}

/// The number before some words.
fn before(line: &str, words: &str) -> Result<u64> {
    let (text, _) = line.split_once(words).context("other words")?;
    number(text.rsplit(' ').next().unwrap_or_default())
}

fn number(text: &str) -> Result<u64> {
    text.replace(',', "").parse().with_context(|| format!("`{text}` is no number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_says_what_it_has_in_its_own_words() {
        let ours = "captured 1,234,567 frames in 2.9 s, lost 1,000\n  1,000 frames dropped by the kernel\n";
        let theirs = "tcpdump: listening on mirror0\n2000 packets captured\n2010 packets received by \
                      filter\n10 packets dropped by kernel\n";
        let dumpcaps = "Packets captured: 2000\nPackets received/dropped on interface 'mirror0': \
                        2000/10 (pcap:10/dumpcap:0/flushed:0/ps_ifdrop:0) (99.5%)\n";
        assert_eq!(capture(ours).unwrap(), 1_234_567);
        assert_eq!(tcpdump(theirs).unwrap(), 2000);
        assert_eq!(dumpcap(dumpcaps).unwrap(), 2000);
        assert!(capture("error: no interface").is_err());
    }
}
