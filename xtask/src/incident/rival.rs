//! What two other ways to look at the same captures name first: an alert on retransmissions, and a
//! timeline of flows.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};

use super::judge::{Said, Subject, Verdict};
use super::make::{Inputs, output_of};
use crate::repository::command;

/// Share of retransmitted packets at a port from which an exporter's alert fires.
const RESENT: f64 = 1e-3;

/// Payload from which a frame carries data, in bytes on the wire.
pub(crate) const DATA_FRAME: u64 = 300;

/// Frames of a capture that the timeline reads: enough for several training steps.
pub(crate) const FRAMES: usize = 30_000;

/// A longer gap ends a training step.
const ITERATION_GAP_NS: u64 = 1_500_000;

/// A rank that begins last in this share of the iterations is named.
const OFTEN_LAST: f64 = 0.6;

/// Of a training step: later than the others by less is not late.
const LATE: f64 = 0.02;

/// Of the median rate: a slower path is named.
const SLOW: f64 = 0.7;

/// An alert on the share of retransmitted packets by receiving port, as on an exporter's counters.
pub(super) fn resend_alert(said: &Said) -> Option<Verdict> {
    let mut ports: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for pair in &said.queue_pairs {
        let port = ports.entry(&pair.dst).or_default();
        port.0 += pair.retransmitted_packets;
        port.1 += pair.frames;
    }
    let share = |(resent, frames): (u64, u64)| resent as f64 / frames.max(1) as f64;
    let (port, counts) =
        ports.into_iter().max_by(|(_, one), (_, other)| share(*one).total_cmp(&share(*other)))?;
    (share(counts) > RESENT).then(|| verdict("loss", port, Some("towards")))
}

/// A timeline from flows alone, after LLMPrism (Huang et al. 2025): training steps from gaps, the
/// rank that begins last in most of them, else the path with the lowest rate.
pub(super) fn timeline(inputs: &Inputs) -> Result<Option<Verdict>> {
    let mut frames = Vec::new();
    for capture in &inputs.captures {
        frames.extend(data_frames(capture)?);
    }
    Ok(timeline_of(frames))
}

/// The same, of data frames of all captures.
pub(crate) fn timeline_of(mut frames: Vec<Frame>) -> Option<Verdict> {
    frames.sort_unstable();
    frames.dedup();
    let mut iterations: Vec<Vec<Frame>> = Vec::new();
    let mut last_ns = None;
    for frame in frames {
        if last_ns.is_none_or(|last| frame.time_ns - last > ITERATION_GAP_NS) {
            iterations.push(Vec::new());
        }
        last_ns = Some(frame.time_ns);
        iterations.last_mut().into_iter().for_each(|iteration| iteration.push(frame.clone()));
    }
    // The first one sets up connections.
    let iterations = iterations.get(1..).unwrap_or_default();
    often_last(iterations).or_else(|| slowest(iterations))
}

/// One data frame: when, from where to where, and bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Frame {
    pub(crate) time_ns: u64,
    pub(crate) source: String,
    pub(crate) destination: String,
    pub(crate) bytes: u64,
}

fn data_frames(capture: &Path) -> Result<Vec<Frame>> {
    let mut tshark = command("tshark");
    tshark.arg("-r").arg(capture).args(["-n", "-c", &FRAMES.to_string(), "-Y", "udp.port==4791"]);
    tshark.args(["-T", "fields"]);
    for field in ["frame.time_epoch", "ip.src", "ip.dst", "frame.len"] {
        tshark.args(["-e", field]);
    }
    let output = String::from_utf8(output_of(tshark)?).context("read tshark")?;
    let frame = |line: &str| {
        let mut fields = line.split('\t');
        let (seconds, nanos) = fields.next()?.split_once('.')?;
        let time_ns = seconds.parse::<u64>().ok()? * 1_000_000_000 + nanos.parse::<u64>().ok()?;
        let (source, destination) = (fields.next()?.to_owned(), fields.next()?.to_owned());
        let bytes = fields.next()?.parse().ok()?;
        (bytes >= DATA_FRAME).then_some(Frame { time_ns, source, destination, bytes })
    };
    Ok(output.lines().filter_map(frame).collect())
}

fn often_last(iterations: &[Vec<Frame>]) -> Option<Verdict> {
    let mut last: BTreeMap<&str, u64> = BTreeMap::new();
    for iteration in iterations {
        let mut begins: BTreeMap<&str, u64> = BTreeMap::new();
        for frame in iteration {
            begins.entry(&frame.source).or_insert(frame.time_ns);
        }
        let length_ns = iteration.last()?.time_ns - iteration.first()?.time_ns;
        let mut order: Vec<(u64, &str)> = begins.into_iter().map(|(rank, at)| (at, rank)).collect();
        order.sort_unstable();
        if let [.., (before, _), (latest, rank)] = order[..]
            && (latest - before) as f64 > LATE * length_ns as f64
        {
            *last.entry(rank).or_default() += 1;
        }
    }
    let (rank, times) = last.into_iter().max_by_key(|(_, times)| *times)?;
    (times as f64 > OFTEN_LAST * iterations.len() as f64).then(|| verdict("late_rank", rank, None))
}

fn slowest(iterations: &[Vec<Frame>]) -> Option<Verdict> {
    let mut rates: BTreeMap<(&str, &str), Vec<f64>> = BTreeMap::new();
    for iteration in iterations {
        let mut paths: BTreeMap<(&str, &str), (u64, u64, u64)> = BTreeMap::new();
        for frame in iteration {
            let key = (frame.source.as_str(), frame.destination.as_str());
            let path = paths.entry(key).or_insert((frame.time_ns, frame.time_ns, 0));
            path.1 = frame.time_ns;
            path.2 += frame.bytes;
        }
        for (key, (first, last, bytes)) in paths {
            rates.entry(key).or_default().push(bytes as f64 / (last - first).max(1) as f64);
        }
    }
    let median = |mut rates: Vec<f64>| {
        rates.sort_unstable_by(f64::total_cmp);
        rates.get(rates.len() / 2).copied()
    };
    let medians: Vec<((&str, &str), f64)> =
        rates.into_iter().filter_map(|(path, rates)| Some((path, median(rates)?))).collect();
    let usual = median(medians.iter().map(|(_, rate)| *rate).collect())?;
    let ((_, destination), rate) =
        medians.into_iter().min_by(|(_, one), (_, other)| one.total_cmp(other))?;
    (rate < SLOW * usual).then(|| verdict("congestion", destination, Some("towards")))
}

fn verdict(id: &str, port: &str, direction: Option<&str>) -> Verdict {
    let subject = Subject {
        rank: rank_of(port),
        port: Some(port.to_owned()),
        peer_port: None,
        direction: direction.map(str::to_owned),
    };
    Verdict {
        id: id.to_owned(),
        title: String::new(),
        severity: "warning".to_owned(),
        alternatives: Vec::new(),
        subject,
    }
}

/// The rank at a port: ports are numbered from 10.0.0.1.
fn rank_of(port: &str) -> Option<u32> {
    port.rsplit('.').next()?.parse::<u32>().ok()?.checked_sub(1)
}
