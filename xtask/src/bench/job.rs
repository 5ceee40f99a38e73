//! A recorded NCCL job whose data traffic can be repeated as if the job had gone on.
//!
//! From the first RDMA packet to the last, everything that was sent arrived, every message had its
//! clear-to-send, and every buffer was used a whole number of rounds. So this stretch can be repeated:
//! sequence numbers of packets and messages, numbers of clear-to-sends and IPv4 identifications
//! continue; buffer addresses repeat by themselves.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};

use super::pcap::{self, Record};
use super::wire;
use crate::recording::Recording;

/// Between two laps: a short compute phase.
const PAUSE_NS: u64 = 10_000_000;

/// A job with a stretch (a lap) that can be repeated.
pub(super) struct Job {
    /// Names of the taps.
    pub(super) taps: Vec<String>,
    /// The control plane until the first RDMA packet, by time.
    pub(super) before: Vec<Frame>,
    /// By time. Frames without a shift are in the first lap only.
    pub(super) lap: Vec<Frame>,
    /// The end of the job, by time.
    pub(super) after: Vec<Frame>,
    pub(super) lap_ns: u64,
}

pub(super) struct Frame {
    pub(super) tap: u32,
    pub(super) time_ns: u64,
    pub(super) wire_len: u32,
    pub(super) bytes: Vec<u8>,
    /// `None`: not RDMA.
    pub(super) shift: Option<Shift>,
}

/// How much a packet's numbers grow per lap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Shift {
    pub(super) identification: u16,
    pub(super) psn: u32,
    /// `Some` for an ACK.
    pub(super) msn: Option<u32>,
    /// `Some` for a clear-to-send.
    pub(super) clear_to_sends: Option<u64>,
}

/// One direction of a queue pair: source, destination, UDP source port, which the Linux driver uses
/// for both directions.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Direction {
    source: Vec<u8>,
    destination: Vec<u8>,
    udp_source: u16,
}

/// Requests of one direction by PSN; both ends' taps see each.
#[derive(Default)]
struct Requests {
    psns: BTreeSet<u32>,
    last_of_message: BTreeSet<u32>,
    clear_to_sends: BTreeSet<u32>,
}

impl Job {
    pub(super) fn new(recording: &Recording) -> Result<Self> {
        let mut taps = Vec::new();
        let mut records: Vec<(u32, Record<'_>)> = Vec::new();
        for (tap, (name, capture)) in (0..).zip(recording.captures()) {
            let (name, _) = name.rsplit_once('.').unwrap_or((name, ""));
            taps.push(name.to_owned());
            let (_, of_tap) = pcap::parse(capture).with_context(|| format!("read {name}"))?;
            records.extend(of_tap.into_iter().map(|record| (tap, record)));
        }
        // Stable: frames of one tap keep their order.
        records.sort_by_key(|(_, record)| record.time_ns);
        let is_roce = |(_, record): &(u32, Record<'_>)| wire::is_roce(record.frame);
        let first = records.iter().position(is_roce).context("no RoCEv2 over plain IPv4 in it")?;
        let end = records.iter().rposition(is_roce).map_or(records.len(), |last| last + 1);
        let shifts = Shifts::new(&records[first..end])?;
        let frame = |(tap, record): &(u32, Record<'_>)| Frame {
            tap: *tap,
            time_ns: record.time_ns,
            wire_len: record.wire_len,
            bytes: record.frame.to_vec(),
            shift: wire::is_roce(record.frame).then(|| shifts.shift(record.frame)),
        };
        let frames = |records: &[(u32, Record<'_>)]| records.iter().map(frame).collect();
        let lap_ns = records[end - 1].1.time_ns - records[first].1.time_ns + PAUSE_NS;
        Ok(Self {
            taps,
            before: frames(&records[..first]),
            lap: frames(&records[first..end]),
            after: frames(&records[end..]),
            lap_ns,
        })
    }
}

/// Growth of each direction per lap.
struct Shifts {
    requests: BTreeMap<Direction, Requests>,
    /// By source and destination: one lap's growth.
    identifications: BTreeMap<(Vec<u8>, Vec<u8>), u16>,
}

impl Shifts {
    fn new(records: &[(u32, Record<'_>)]) -> Result<Self> {
        let mut requests: BTreeMap<Direction, Requests> = BTreeMap::new();
        let mut identifications = BTreeMap::new();
        for (_, record) in records.iter().filter(|(_, record)| wire::is_roce(record.frame)) {
            let frame = record.frame;
            let direction = Direction::from_frame(frame);
            let hosts = (direction.source.clone(), direction.destination.clone());
            let number = wire::identification(frame);
            let (_, last) = identifications.entry(hosts).or_insert((number, number));
            *last = number;
            if wire::opcode(frame) != wire::ACKNOWLEDGE {
                requests.entry(direction).or_default().push(frame);
            }
        }
        for requests in requests.values() {
            let span = requests.psns.first().zip(requests.psns.last());
            let is_whole = span.is_some_and(|(first, last)| {
                *first == 0 && *last as usize + 1 == requests.psns.len()
            });
            ensure!(is_whole, "requests are missing: the stretch cannot follow itself");
        }
        let growth = |(first, last): (u16, u16)| last.wrapping_sub(first).wrapping_add(1);
        let identifications =
            identifications.into_iter().map(|(hosts, span)| (hosts, growth(span))).collect();
        Ok(Self { requests, identifications })
    }

    fn shift(&self, frame: &[u8]) -> Shift {
        let direction = Direction::from_frame(frame);
        let hosts = (direction.source.clone(), direction.destination.clone());
        let identification = self.identifications.get(&hosts).copied().unwrap_or(0);
        let is_ack = wire::opcode(frame) == wire::ACKNOWLEDGE;
        let of = if is_ack { direction.reverse() } else { direction };
        let Some(requests) = self.requests.get(&of) else { return Shift::default() };
        Shift {
            identification,
            psn: requests.psns.len() as u32,
            msn: is_ack.then_some(requests.last_of_message.len() as u32),
            clear_to_sends: wire::clear_to_send::is(frame)
                .then_some(requests.clear_to_sends.len() as u64),
        }
    }
}

impl Direction {
    fn from_frame(frame: &[u8]) -> Self {
        Self {
            source: wire::source_address(frame).to_vec(),
            destination: wire::destination_address(frame).to_vec(),
            udp_source: wire::udp_source(frame),
        }
    }

    fn reverse(self) -> Self {
        Self { source: self.destination, destination: self.source, ..self }
    }
}

impl Requests {
    fn push(&mut self, frame: &[u8]) {
        let psn = wire::psn(frame);
        self.psns.insert(psn);
        if matches!(
            wire::opcode(frame),
            wire::WRITE_LAST
                | wire::WRITE_LAST_WITH_IMMEDIATE
                | wire::WRITE_ONLY
                | wire::WRITE_ONLY_WITH_IMMEDIATE
        ) {
            self.last_of_message.insert(psn);
        }
        if wire::clear_to_send::is(frame) {
            self.clear_to_sends.insert(psn);
        }
    }
}
