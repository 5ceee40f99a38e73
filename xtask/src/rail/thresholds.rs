//! What a script of thresholds around tshark names, and the frames from which a timeline is made.
//!
//! It reads every frame of every tap once, and the NICs' counters of pause. Per pair of ports it counts
//! retransmissions, RNR NAKs and CE marks. It knows nothing of NCCL.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::answer::Answer;
use crate::incident::judge::address;
use crate::incident::rival::{DATA_FRAME, FRAMES, Frame};
use crate::repository::command;

/// Share of retransmitted packets from which an exporter's alert fires.
const RESENT: f64 = 1e-3;

/// Share of CE marks: no universal threshold is published, one in a hundred is a common choice.
const MARKED: f64 = 0.01;

/// Share of the time that a NIC asks others to pause: a field report calls 21.7 % harmful.
const PAUSED: f64 = 0.2;

/// A pair of ports is dead if packets are sent so long and none arrives.
const DEAD_NS: u64 = 500_000_000;

/// A packet may be on its way for so long.
const ON_WAY_NS: u64 = 100_000;

/// Fewer packets sent in the meantime prove nothing.
const LEAST_SENT: usize = 2;

const FIELDS: [&str; 9] = [
    "frame.time_epoch",
    "ip.src",
    "ip.dst",
    "infiniband.bth.opcode",
    "infiniband.bth.destqp",
    "infiniband.bth.psn",
    "infiniband.aeth.syndrome",
    "ip.dsfield.ecn",
    "frame.len",
];

/// The opcodes of an ACK and of a congestion notification.
const ACK: u32 = 17;
const CNP: u32 = 129;

/// What was counted from one port to another.
#[derive(Debug, Default)]
struct Pair {
    sent_ns: Vec<u64>,
    received_ns: Vec<u64>,
    requests: u64,
    resent: u64,
    marked: u64,
    rnr_naks: u64,
}

/// All that a script knows of an incident.
#[derive(Debug, Default)]
pub(super) struct Counted {
    pairs: BTreeMap<(String, String), Pair>,
    /// Share of the time in which a NIC asked others to pause.
    paused: BTreeMap<String, f64>,
    /// The first data frames of each tap.
    pub(super) frames: Vec<Frame>,
}

/// A line of a file of counters.
#[derive(Debug, Deserialize)]
struct Line {
    time_ns: u64,
    address: String,
    counters: BTreeMap<String, u64>,
}

impl Counted {
    pub(super) fn read(captures: &[PathBuf], counters: Option<&Path>) -> Result<Self> {
        let mut counted = Self::default();
        for capture in captures {
            counted.read_capture(capture)?;
        }
        if let Some(counters) = counters {
            counted.read_counters(counters)?;
        }
        Ok(counted)
    }

    fn read_capture(&mut self, capture: &Path) -> Result<()> {
        let mut tshark = command("tshark");
        tshark.arg("-r").arg(capture).args(["-n", "-Y", "infiniband", "-T", "fields"]);
        tshark.args(["-E", "occurrence=f"]);
        for field in FIELDS {
            tshark.args(["-e", field]);
        }
        tshark.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut running = tshark.spawn().context("start tshark")?;
        let output = running.stdout.take().context("read tshark")?;
        let mut rows = Vec::new();
        for line in BufReader::new(output).lines() {
            rows.extend(Row::of(&line.context("read tshark")?));
        }
        let status = running.wait().context("wait for tshark")?;
        // 2: the file ends within a frame.
        ensure!(matches!(status.code(), Some(0 | 2)), "tshark {}: {status}", capture.display());
        let Some(own) = own_port(capture) else { return Ok(()) };
        let mut known: HashSet<(String, u32, u32)> = HashSet::new();
        let mut kept = 0;
        for row in rows {
            if kept < FRAMES {
                kept += 1;
                self.frames.extend(row.frame());
            }
            let pair = self.pairs.entry((row.source.clone(), row.destination.clone())).or_default();
            let is_request = row.opcode != ACK && row.opcode != CNP;
            if row.source == own {
                pair.sent_ns.push(row.time_ns);
                if is_request {
                    pair.requests += 1;
                    let is_new = known.insert((row.destination, row.queue_pair, row.psn));
                    pair.resent += u64::from(!is_new);
                }
            } else if row.destination == own {
                pair.received_ns.push(row.time_ns);
                pair.marked += u64::from(row.is_marked);
                pair.rnr_naks += u64::from(row.is_rnr_nak);
            }
        }
        Ok(())
    }

    fn read_counters(&mut self, path: &Path) -> Result<()> {
        let text = fs::read_to_string(path).context("read counters")?;
        let mut ends: BTreeMap<String, [(u64, u64); 2]> = BTreeMap::new();
        for line in text.lines() {
            let line: Line = serde_json::from_str(line).context("read counters")?;
            let is_asked =
                |name: &str| name.starts_with("tx_prio") && name.ends_with("_pause_duration");
            let asked = line.counters.iter().filter(|(name, _)| is_asked(name));
            let now = (line.time_ns, asked.map(|(_, value)| value).sum());
            ends.entry(line.address).or_insert([now, now])[1] = now;
        }
        for (port, [first, last]) in ends {
            // The duration is in microseconds.
            let paused_ns = 1000.0 * last.1.saturating_sub(first.1) as f64;
            self.paused.insert(port, paused_ns / last.0.saturating_sub(first.0).max(1) as f64);
        }
        Ok(())
    }

    /// The first of these thresholds that is passed: a dead pair, pause, retransmissions, RNR NAKs, CE marks.
    pub(super) fn answer(&self, incident: &str) -> Answer {
        let first = self.dead().or_else(|| self.pause()).or_else(|| {
            let resent = self.most("loss", RESENT, |pair| (pair.resent, pair.requests));
            let not_ready = || self.not_ready();
            let received = |pair: &Pair| (pair.marked, pair.received_ns.len() as u64);
            resent.or_else(not_ready).or_else(|| self.most("congestion", MARKED, received))
        });
        Answer { incident: incident.to_owned(), ..first.unwrap_or_default() }
    }

    fn dead(&self) -> Option<Answer> {
        let dead: Vec<&(String, String)> =
            self.pairs.iter().filter(|(_, pair)| pair.is_dead()).map(|(name, _)| name).collect();
        let (source, destination) = dead.first()?;
        let of_port = |port: &str, is_towards: bool| {
            let end =
                |pair: &(String, String)| if is_towards { pair.1 == port } else { pair.0 == port };
            let all = self.pairs.keys().filter(|pair| end(pair)).count();
            all > 1 && dead.iter().filter(|pair| end(pair)).count() == all
        };
        let ports = || dead.iter().flat_map(|(one, other)| [one, other]);
        let both = ports().find(|port| of_port(port, true) && of_port(port, false));
        let one_way = || {
            let towards = ports().find(|port| of_port(port, true)).map(|port| (port, "towards"));
            towards.or_else(|| ports().find(|port| of_port(port, false)).map(|port| (port, "from")))
        };
        let port = both.map(|port| (port, "both")).or_else(one_way);
        Some(match port {
            Some((port, direction)) => said("port_down", port, None, Some(direction)),
            None => said("path_dead", destination, Some(source), Some("towards")),
        })
    }

    fn pause(&self) -> Option<Answer> {
        let (port, share) = self.paused.iter().max_by(|one, other| one.1.total_cmp(other.1))?;
        (*share > PAUSED).then(|| said("pause", port, None, None))
    }

    fn not_ready(&self) -> Option<Answer> {
        let ((source, _), pair) = self.pairs.iter().max_by_key(|(_, pair)| pair.rnr_naks)?;
        (pair.rnr_naks > 0).then(|| said("receiver_not_ready", source, None, None))
    }

    /// The port and the direction with the greatest share.
    fn most(&self, class: &str, least: f64, of: impl Fn(&Pair) -> (u64, u64)) -> Option<Answer> {
        let mut places: BTreeMap<(&str, &str), (u64, u64)> = BTreeMap::new();
        for ((source, destination), pair) in &self.pairs {
            for place in [(destination.as_str(), "towards"), (source.as_str(), "from")] {
                let sum = places.entry(place).or_default();
                let (hits, all) = of(pair);
                *sum = (sum.0 + hits, sum.1 + all);
            }
        }
        let share = |(hits, all): (u64, u64)| hits as f64 / all.max(1) as f64;
        let ((port, direction), counts) =
            places.into_iter().max_by(|one, other| share(one.1).total_cmp(&share(other.1)))?;
        (share(counts) > least).then(|| said(class, port, None, Some(direction)))
    }
}

impl Pair {
    /// Whether packets were sent for a long time and none arrived.
    fn is_dead(&self) -> bool {
        let Some(last) = self.sent_ns.last() else { return false };
        let first = self.sent_ns.first().copied();
        let ends = self.received_ns.iter().copied().chain([*last]);
        let begins = first.into_iter().chain(self.received_ns.iter().copied());
        begins.zip(ends).any(|(begin, end)| {
            let from = self.sent_ns.partition_point(|at| *at <= begin + ON_WAY_NS);
            let until = self.sent_ns.partition_point(|at| *at + ON_WAY_NS < end);
            end.saturating_sub(begin) >= DEAD_NS && until.saturating_sub(from) >= LEAST_SENT
        })
    }
}

fn said(class: &str, host: &str, peer: Option<&str>, direction: Option<&str>) -> Answer {
    Answer {
        verdict: Some(class.to_owned()),
        host: Some(host.to_owned()),
        peer: peer.map(str::to_owned),
        direction: direction.map(str::to_owned),
        ..Answer::default()
    }
}

/// One frame as tshark prints it.
#[derive(Debug)]
struct Row {
    time_ns: u64,
    source: String,
    destination: String,
    opcode: u32,
    queue_pair: u32,
    psn: u32,
    is_rnr_nak: bool,
    is_marked: bool,
    bytes: u64,
}

impl Row {
    fn of(line: &str) -> Option<Self> {
        let fields: Vec<&str> = line.split('\t').collect();
        let [time, source, destination, opcode, queue_pair, psn, syndrome, ecn, bytes] = fields[..]
        else {
            return None;
        };
        let (seconds, nanos) = time.split_once('.')?;
        Some(Self {
            time_ns: seconds.parse::<u64>().ok()? * 1_000_000_000 + nanos.parse::<u64>().ok()?,
            source: source.to_owned(),
            destination: destination.to_owned(),
            opcode: opcode.parse().ok()?,
            queue_pair: u32::from_str_radix(queue_pair.trim_start_matches("0x"), 16).ok()?,
            psn: psn.parse().ok()?,
            // The upper three bits: 0 is an ACK, 1 an RNR NAK, 3 a NAK.
            is_rnr_nak: syndrome.parse::<u32>().is_ok_and(|syndrome| syndrome >> 5 == 1),
            is_marked: ecn == "3",
            bytes: bytes.parse().ok()?,
        })
    }

    fn frame(&self) -> Option<Frame> {
        (self.bytes >= DATA_FRAME).then(|| Frame {
            time_ns: self.time_ns,
            source: self.source.clone(),
            destination: self.destination.clone(),
            bytes: self.bytes,
        })
    }
}

/// The port of a tap, which whoever placed it knows: that of host 3 wrote `host3.pcapng`.
fn own_port(capture: &Path) -> Option<String> {
    let number = capture.file_stem()?.to_str()?.strip_prefix("host")?.parse::<u32>().ok()?;
    Some(address(number))
}
