//! The truth of one simulated job, limited to what the gallery uses.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

/// A job.
#[derive(Debug, Default)]
pub(super) struct Truth {
    /// 16 hexadecimal digits.
    pub(super) comm_hash: String,
    pub(super) expected: Vec<Expected>,
    pub(super) stragglers: Vec<Straggler>,
    /// First data byte of each training step, epoch ns.
    pub(super) iterations: BTreeMap<u32, u64>,
}

/// Stands in a scenario for a port that depends on the seed: the one that marked most frames.
const MOST_MARKED: &str = "most_marked";

/// A finding that a scenario must or may cause.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct Expected {
    pub(super) finding: String,
    pub(super) rank: Option<u32>,
    pub(super) cause: Option<String>,
    /// Address or name of the port it is about; [`MOST_MARKED`] is resolved.
    pub(super) place: Option<String>,
    /// It may be reported; otherwise it must be.
    #[serde(default)]
    pub(super) is_possible: bool,
}

/// A rank that the scenario makes late.
#[derive(Clone, Debug)]
pub(super) struct Straggler {
    pub(super) rank: u32,
    pub(super) cause: String,
    pub(super) first: u32,
    pub(super) last: u32,
}

#[derive(Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
enum Line {
    Job {
        comm_hash: String,
    },
    Expected(Expected),
    Fault(Fault),
    Collective {
        sequence: u64,
        iteration: Option<u32>,
    },
    RingStep {
        sequence: u64,
        role: String,
        first_byte_ns: Option<u64>,
    },
    Port {
        port: String,
        frames_marked: u64,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct Fault {
    kind: String,
    rank: Option<u32>,
    cause: Option<String>,
    first_iteration: Option<u32>,
    last_iteration: Option<u32>,
}

impl Truth {
    pub(super) fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?;
        Self::parse(&text).with_context(|| format!("read {}", path.display()))
    }

    fn parse(text: &str) -> Result<Self> {
        let mut truth = Self::default();
        let mut iteration_of = BTreeMap::new();
        let mut first_bytes: BTreeMap<u64, u64> = BTreeMap::new();
        let mut marking: Option<(u64, String)> = None;
        for (number, line) in (1..).zip(text.lines()) {
            let line: Line =
                serde_json::from_str(line).with_context(|| format!("line {number}"))?;
            match line {
                Line::Job { comm_hash } => {
                    truth.comm_hash = comm_hash.trim_start_matches("0x").to_owned();
                }
                Line::Expected(expected) => truth.expected.push(expected),
                Line::Fault(fault) => truth.stragglers.extend(fault.straggler()),
                Line::Collective { sequence, iteration } => {
                    iteration_of.extend(iteration.map(|iteration| (sequence, iteration)));
                }
                Line::RingStep { sequence, role, first_byte_ns } if role == "sender" => {
                    let Some(time) = first_byte_ns else { continue };
                    let first = first_bytes.entry(sequence).or_insert(time);
                    *first = time.min(*first);
                }
                Line::Port { port, frames_marked } => {
                    let is_more = marking.as_ref().is_none_or(|(most, _)| frames_marked > *most);
                    if is_more && frames_marked > 0 {
                        marking = Some((frames_marked, port));
                    }
                }
                Line::RingStep { .. } | Line::Other => {}
            }
        }
        for expected in &mut truth.expected {
            if expected.place.as_deref() == Some(MOST_MARKED) {
                let (_, port) = marking.as_ref().context("no port has marked a frame")?;
                expected.place = Some(port.clone());
            }
        }
        for (sequence, iteration) in iteration_of {
            let Some(time) = first_bytes.get(&sequence) else { continue };
            let first = truth.iterations.entry(iteration).or_insert(*time);
            *first = *time.min(first);
        }
        Ok(truth)
    }

    /// The rank that the scenario makes late in a training step, and why.
    pub(super) fn straggler(&self, iteration: u32) -> Option<&Straggler> {
        self.stragglers.iter().find(|one| (one.first..=one.last).contains(&iteration))
    }
}

impl Fault {
    /// The cause as railscope names it.
    fn straggler(self) -> Option<Straggler> {
        let cause = match self.kind.as_str() {
            "straggler" => self.cause?,
            "slow_receiver" => "receiver".to_owned(),
            _ => return None,
        };
        let (first, last) =
            (self.first_iteration.unwrap_or(0), self.last_iteration.unwrap_or(u32::MAX));
        Some(Straggler { rank: self.rank?, cause, first, last })
    }
}

#[cfg(test)]
mod tests {
    use super::Truth;

    #[test]
    fn a_training_step_begins_with_its_first_byte() {
        let text = r#"{"record":"job","schema":"railscope.truth/1","comm_hash":"0x0a"}
{"record":"fault","kind":"straggler","rank":2,"cause":"compute","first_iteration":1,"last_iteration":3}
{"record":"collective","sequence":0,"iteration":null}
{"record":"collective","sequence":1,"iteration":0}
{"record":"collective","sequence":2,"iteration":0}
{"record":"ring_step","sequence":0,"role":"sender","first_byte_ns":5}
{"record":"ring_step","sequence":1,"role":"sender","first_byte_ns":30}
{"record":"ring_step","sequence":1,"role":"receiver","first_byte_ns":10}
{"record":"ring_step","sequence":2,"role":"sender","first_byte_ns":20}"#;
        let truth = Truth::parse(text).unwrap();
        assert_eq!(truth.iterations.into_iter().collect::<Vec<_>>(), [(0, 20)]);
        assert_eq!(truth.comm_hash, "0a");
        assert_eq!(truth.stragglers.len(), 1);
    }

    #[test]
    fn the_port_that_marked_most_is_looked_up() {
        let text = r#"{"record":"expected","finding":"congestion","place":"most_marked"}
{"record":"port","port":"leaf0:uplink0","frames_marked":3}
{"record":"port","port":"leaf0:uplink1","frames_marked":5}
{"record":"port","port":"host0","frames_marked":0}"#;
        let truth = Truth::parse(text).unwrap();
        assert_eq!(truth.expected[0].place.as_deref(), Some("leaf0:uplink1"));
        let unmarked = text.lines().next().unwrap();
        assert!(Truth::parse(unmarked).is_err());
    }
}
