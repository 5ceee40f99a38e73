//! Draws packets as a switch does, and writes its datagrams to a capture.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use fastrand::Rng;

use super::encoder::{Drawn, datagram, flow_sample, frame};
use super::truth::Job;

/// Samples that fit into a datagram of 1,400 bytes.
const FULL: usize = 7;

/// The longest time that an agent may keep a sample, ns.
const HELD_NS: u64 = 1_000_000_000;

/// ifIndex of the port that packets came in through: it does not matter here.
const INPUT: u32 = 99;

/// Writes a capture of one draw from `repeat` runs of the job.
pub(super) fn write(path: &Path, job: &Job, rate: u32, repeat: u64, seed: u64) -> Result<()> {
    let mut agent = Agent::new(rate);
    let mut random = Rng::with_seed(seed);
    let count = job.packets.len() as u64;
    // The packets from one drawn one to the next are geometric.
    let miss = (1.0 - 1.0 / f64::from(rate)).ln();
    let mut place = 0;
    loop {
        place += ((1.0 - random.f64()).ln() / miss) as u64;
        if place >= count * repeat {
            break;
        }
        agent.draw(job, place);
        place += 1;
    }
    agent.flush(agent.due_ns.min(job.length_ns * repeat));
    fs::write(path, agent.file).with_context(|| format!("write {}", path.display()))
}

/// The switch's agent of sFlow.
struct Agent {
    rate: u32,
    file: Vec<u8>,
    samples: Vec<Vec<u8>>,
    sequences: [u32; 4],
    datagrams: u32,
    due_ns: u64,
}

impl Agent {
    fn new(rate: u32) -> Self {
        // A pcap file of nanoseconds and Ethernet.
        let mut file = Vec::new();
        for word in [0xa1b2_3c4d_u32, 4 << 16 | 2, 0, 0, 65_535, 1] {
            file.extend(word.to_le_bytes());
        }
        Self { rate, file, samples: Vec::new(), sequences: [0; 4], datagrams: 0, due_ns: HELD_NS }
    }

    /// Draws the packet at a place of all runs.
    fn draw(&mut self, job: &Job, place: u64) {
        let count = job.packets.len() as u64;
        let packet = &job.packets[(place % count) as usize];
        let time_ns = place / count * job.length_ns + packet.time_ns;
        while time_ns >= self.due_ns {
            let due_ns = self.due_ns;
            self.flush(due_ns);
            self.due_ns += HELD_NS;
        }
        let sequence = &mut self.sequences[packet.port as usize - 1];
        *sequence += 1;
        let drawn = Drawn {
            sequence: *sequence,
            source: packet.port,
            rate: self.rate,
            pool: sequence.wrapping_mul(self.rate),
            drops: 0,
            input: INPUT,
            output: packet.port,
            wire_len: packet.wire_len,
            header: &packet.header,
        };
        self.samples.push(flow_sample(&drawn, false));
        if self.samples.len() == FULL {
            self.flush(time_ns);
        }
    }

    /// Sends what was drawn.
    fn flush(&mut self, time_ns: u64) {
        if self.samples.is_empty() {
            return;
        }
        self.datagrams += 1;
        let datagram = datagram(self.datagrams, (time_ns / 1_000_000) as u32, &self.samples);
        self.samples.clear();
        let bytes = frame(&datagram);
        let since_1970_ns = 1_700_000_000_000_000_000 + time_ns;
        let (seconds, rest) = (since_1970_ns / 1_000_000_000, since_1970_ns % 1_000_000_000);
        for word in [seconds, rest, bytes.len() as u64, bytes.len() as u64] {
            self.file.extend((word as u32).to_le_bytes());
        }
        self.file.extend(bytes);
    }
}
