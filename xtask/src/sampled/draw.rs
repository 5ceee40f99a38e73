//! Draws packets as a switch does, and writes its datagrams to a capture.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use fastrand::Rng;

use super::encoder::{Drawn, datagram, flow_sample, frame};
use super::truth::{Iteration, Job, Pairs};

/// Samples that fit into a datagram of 1,400 bytes.
const FULL: usize = 7;

/// The longest time that an agent may keep a sample, ns.
const HELD_NS: u64 = 1_000_000_000;

/// ifIndex of the port that packets came in through: it does not matter here.
const INPUT: u32 = 99;

/// What truly passed.
#[derive(Debug, Default)]
pub(super) struct Passed {
    pub(super) pairs: Pairs,
    /// Mean length of a training step, from the first start to the last one.
    pub(super) iteration_ns: f64,
}

/// Writes a capture of one draw from a job of `count` training steps, each of which is one of the simulated ones
/// or, in a steady job, always the same. Their lengths differ by so much, 0 to 1, in standard deviations.
pub(super) fn write(
    path: &Path,
    job: &Job,
    rate: u32,
    count: usize,
    variation: f64,
    seed: u64,
) -> Result<Passed> {
    let mut agent = Agent::new(rate);
    let mut random = Rng::with_seed(seed);
    let always = random.usize(..job.iterations.len());
    let mut passed = Passed::default();
    // The packets from one drawn one to the next are geometric.
    let miss = (1.0 - 1.0 / f64::from(rate)).ln();
    let gap = |random: &mut Rng| ((1.0 - random.f64()).ln() / miss) as u64;
    let mut to_draw = gap(&mut random);
    let (mut start_ns, mut last_ns) = (0, 0);
    for _ in 0..count {
        let at = if variation > 0.0 { random.usize(..job.iterations.len()) } else { always };
        let iteration = &job.iterations[at];
        for (pair, sums) in &iteration.pairs {
            let known = passed.pairs.entry(pair.clone()).or_default();
            *known = known.with(sums);
        }
        let of = iteration.packets.len() as u64;
        while to_draw < of {
            agent.draw(iteration, start_ns, usize::try_from(to_draw)?);
            to_draw += 1 + gap(&mut random);
        }
        to_draw -= of;
        last_ns = start_ns;
        start_ns += varied(iteration, job.iterations[always].length_ns, variation, &mut random);
    }
    passed.iteration_ns = last_ns as f64 / (count - 1) as f64;
    agent.flush(agent.due_ns.min(start_ns));
    fs::write(path, agent.file).with_context(|| format!("write {}", path.display()))?;
    Ok(passed)
}

/// How long a training step takes: its traffic, and then some computing.
fn varied(iteration: &Iteration, usual_ns: u64, variation: f64, random: &mut Rng) -> u64 {
    let traffic_ns = iteration.packets.last().map_or(0, |packet| packet.time_ns);
    let even = 3_f64.sqrt() * (2.0 * random.f64() - 1.0);
    ((usual_ns as f64 * (1.0 + variation * even)) as u64).max(traffic_ns + 1)
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

    /// Draws a packet of a training step.
    fn draw(&mut self, iteration: &Iteration, start_ns: u64, place: usize) {
        let packet = &iteration.packets[place];
        let time_ns = start_ns + packet.time_ns;
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
