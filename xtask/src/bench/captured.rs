//! The cost of `railscope capture` beside tcpdump and dumpcap: the same frames, sent over a veth pair by
//! tcpreplay, at the same snap length and with the same buffer in the kernel.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::pcap::{self, record_header};
use super::process::cpu_seconds_of;
use super::template::Template;
use super::traffic;
use crate::repository::is_installed;

/// The namespace with the wire.
const NAMESPACE: &str = "railscope-bench-capture";

/// Frames that tcpreplay holds in memory and repeats.
const FRAMES: u64 = 100_000;

const SNAP: &str = "128";
const BUFFER_MEBIBYTES: u32 = 32;

/// How long frames are sent.
const SECONDS: u32 = 8;

/// Frames a second; 0 is as fast as tcpreplay can.
const RATES: [u32; 3] = [25_000, 100_000, 0];

/// Long enough for buffers to be handed over.
const SETTLE: Duration = Duration::from_millis(1500);

/// What captures.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Captor {
    Tcpdump,
    Dumpcap,
    File,
    Ring,
    Analysed,
}

const CAPTORS: [Captor; 5] =
    [Captor::Tcpdump, Captor::Dumpcap, Captor::File, Captor::Ring, Captor::Analysed];

impl Captor {
    const fn title(self) -> &'static str {
        match self {
            Self::Tcpdump => "`tcpdump -w`",
            Self::Dumpcap => "`dumpcap`",
            Self::File => "`railscope capture -o FILE`",
            Self::Ring => "`railscope capture --keep 1m`",
            Self::Analysed => "`railscope capture --keep 1m --on finding:critical`",
        }
    }

    fn command(self, railscope: &Path, folder: &Path) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", NAMESPACE]);
        let file = folder.join("captured.pcapng");
        let buffer = BUFFER_MEBIBYTES;
        match self {
            Self::Tcpdump => {
                command.args(["tcpdump", "-i", "b", "-s", SNAP, "-B", &(buffer << 10).to_string()]);
                command.arg("-w").arg(file);
            }
            Self::Dumpcap => {
                command.args(["dumpcap", "-q", "-i", "b", "-s", SNAP, "-B", &buffer.to_string()]);
                command.arg("-w").arg(file);
            }
            Self::File | Self::Ring | Self::Analysed => {
                command.arg(railscope).args(["capture", "-i", "b", "-s", SNAP]);
                command.args(["--buffer", &format!("{buffer}MiB")]);
            }
        }
        match self {
            Self::File => _ = command.arg("-o").arg(folder.join("captured.pcapng")),
            Self::Ring => _ = command.args(["--keep", "1m", "-o"]).arg(folder),
            Self::Analysed => {
                _ = command.args(["--keep", "1m", "--on", "finding:critical", "-o"]).arg(folder);
            }
            Self::Tcpdump | Self::Dumpcap => {}
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        command
    }

    /// How many frames it has, from its file or from what it says.
    fn captured(self, said: &str, folder: &Path) -> Result<u64> {
        if matches!(self, Self::Ring | Self::Analysed) {
            let after = said.rsplit_once("captured ").map(|(_, after)| after);
            let digits = after.and_then(|after| after.split_once(' ')).map(|(number, _)| number);
            return digits
                .and_then(|digits| digits.replace(',', "").parse().ok())
                .with_context(|| format!("railscope does not say what it captured: {said}"));
        }
        let file = folder.join("captured.pcapng");
        let output = Command::new("capinfos").args(["-c", "-M", "-T", "-r"]).arg(&file).output()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        fs::remove_file(&file)?;
        let number = text.split_whitespace().last().and_then(|number| number.parse().ok());
        number.with_context(|| format!("capinfos counts no packets: {text}"))
    }
}

/// One run.
struct Run {
    sent: u64,
    seconds: f64,
    captured: u64,
    cpu_seconds: f64,
}

/// `cargo xtask bench --captured`.
pub(super) fn run(railscope: &Path, template: &Template, folder: &Path, runs: usize) -> Result<()> {
    for program in ["tcpdump", "dumpcap", "tcpreplay", "capinfos"] {
        ensure!(is_installed(program), "{program} is not installed");
    }
    // Its own, because captures may save files of their own accord.
    let folder = &folder.join("captured");
    fs::create_dir_all(folder)?;
    let traffic = folder.join("traffic.pcap");
    fs::write(&traffic, padded(template)?)?;
    let wire = Wire::new()?;
    for rate in RATES {
        let mut all: Vec<(Captor, Vec<Run>)> = CAPTORS.map(|one| (one, Vec::new())).into();
        for _ in 0..runs {
            // They take turns, so that all meet the same machine.
            for (captor, results) in &mut all {
                results.push(wire.measure(*captor, railscope, &traffic, folder, rate)?);
            }
        }
        print(rate, &all);
    }
    fs::remove_dir_all(folder)?;
    Ok(())
}

fn print(rate: u32, all: &[(Captor, Vec<Run>)]) {
    let wish =
        if rate == 0 { "as fast as possible".to_owned() } else { format!("{rate} frames/s") };
    println!("\n### Sent: {wish}, cut to {SNAP} bytes, {BUFFER_MEBIBYTES} MiB in the kernel\n");
    println!("| | sent, frames/s | captured, frames/s | lost | CPU of one core | CPU a frame |");
    println!("|---|--:|--:|--:|--:|--:|");
    for (captor, runs) in all {
        let median = |figure: &dyn Fn(&Run) -> f64| median(runs.iter().map(figure).collect());
        println!(
            "| {} | {:.0} | {:.0} | {:.3} % | {:.1} % | {:.2} us |",
            captor.title(),
            median(&|run| run.sent as f64 / run.seconds),
            median(&|run| run.captured as f64 / run.seconds),
            median(&|run| 100.0 * run.sent.saturating_sub(run.captured) as f64 / run.sent as f64),
            median(&|run| 100.0 * run.cpu_seconds / run.seconds),
            median(&|run| 1e6 * run.cpu_seconds / run.captured.max(1) as f64),
        );
    }
}

/// The median; of an even number of values the upper one of the middle.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Whole frames of RoCEv2 of one queue pair, nothing lost.
fn padded(template: &Template) -> Result<Vec<u8>> {
    let mut cut = Vec::new();
    traffic::write(template, 1, FRAMES, &mut cut)?;
    let (header, records) = pcap::parse(&cut)?;
    let mut out = header.to_vec();
    for record in records {
        let wire_len = record.wire_len as usize;
        out.write_all(&record_header(record.time_ns, wire_len, record.wire_len))?;
        let end = out.len() + wire_len;
        out.write_all(record.frame.get(..wire_len).unwrap_or(record.frame))?;
        out.resize(end, 0);
    }
    Ok(out)
}

/// A veth pair in a namespace of its own.
struct Wire;

impl Wire {
    fn new() -> Result<Self> {
        _ = Command::new("ip").args(["netns", "del", NAMESPACE]).stderr(Stdio::null()).status();
        ip(&format!("netns add {NAMESPACE}"))?;
        let wire = Self;
        ip(&format!("-n {NAMESPACE} link add name a mtu 9000 type veth peer name b mtu 9000"))?;
        for end in ["a", "b"] {
            ip(&format!("-n {NAMESPACE} link set dev {end} addrgenmode none up"))?;
        }
        Ok(wire)
    }

    fn measure(
        &self,
        captor: Captor,
        railscope: &Path,
        traffic: &PathBuf,
        folder: &Path,
        rate: u32,
    ) -> Result<Run> {
        let mut child = captor.command(railscope, folder).spawn().context("start a capture")?;
        let result = send(&mut child, traffic, rate);
        let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status()?;
        ensure!(status.success(), "kill: {status}");
        let output = child.wait_with_output()?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let (sent, seconds, cpu_seconds) = result.with_context(|| said.clone())?;
        ensure!(output.status.success(), "{}: {said}", captor.title());
        Ok(Run { sent, seconds, captured: captor.captured(&said, folder)?, cpu_seconds })
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        _ = Command::new("ip").args(["netns", "del", NAMESPACE]).status();
    }
}

/// Sends frames to a capture; returns how many, in which time, and the CPU time of the capture.
fn send(child: &mut Child, traffic: &PathBuf, rate: u32) -> Result<(u64, f64, f64)> {
    sleep(SETTLE);
    let before = cpu_seconds_of(child.id())?;
    let mut tcpreplay = Command::new("ip");
    tcpreplay.args(["netns", "exec", NAMESPACE, "tcpreplay", "-i", "a", "-K", "-l", "0"]);
    match rate {
        0 => tcpreplay.arg("--topspeed"),
        rate => tcpreplay.arg(format!("--pps={rate}")),
    };
    let output = tcpreplay.arg(format!("--duration={SECONDS}")).arg(traffic).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    sleep(SETTLE);
    let after = cpu_seconds_of(child.id())?;
    // "Actual: 200000 packets (21660000 bytes) sent in 8.00 seconds"
    let line = text.lines().find_map(|line| line.trim().strip_prefix("Actual: "));
    let line = line.with_context(|| format!("tcpreplay: {text}"))?;
    let number = |word: Option<&str>| word.and_then(|word| word.parse::<f64>().ok());
    let sent = number(line.split_whitespace().next());
    let seconds = line.rsplit_once(" sent in ").map(|(_, rest)| rest);
    let seconds = number(seconds.and_then(|rest| rest.split_whitespace().next()));
    let (Some(sent), Some(seconds)) = (sent, seconds) else { anyhow::bail!("tcpreplay: {text}") };
    Ok((sent as u64, seconds, after - before))
}

fn ip(line: &str) -> Result<()> {
    let status = Command::new("ip").args(line.split(' ')).status()?;
    ensure!(status.success(), "ip {line}: {status}; this needs root");
    Ok(())
}
