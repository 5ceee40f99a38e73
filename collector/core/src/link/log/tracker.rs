//! Lines in, facts out.

use std::collections::{BTreeMap, BTreeSet};

use super::process::Process;
use crate::decode::nccl_log::entry::{Entry, Level, Origin};
use crate::decode::nccl_log::message::Message;
use crate::decode::nccl_log::{clean, entries};
use crate::model::health::Health;
use crate::model::health::event::HealthEvent;
use crate::model::nccl::Release;
use crate::model::witness::{LogId, Witness};

/// State over the lines of logs.
#[derive(Clone, Debug, Default)]
pub struct LogTracker {
    files: Vec<LogFile>,
    hosts: BTreeMap<String, BTreeMap<u32, Process>>,
    processes: usize,
    /// Number of kept calls, edges and queue pairs.
    kept: [usize; 3],
    /// Releases of `NCCL version` lines without a process.
    releases: BTreeSet<Release>,
    unparsed: BTreeMap<String, Unparsed>,
    health: Health,
}

/// The content of logs.
#[derive(Clone, Debug, Default)]
pub struct LogFacts {
    /// The logs, by number.
    pub files: Vec<LogFile>,
    /// Processes by host and process id.
    pub processes: Vec<Process>,
    /// NCCL's unknown lines, by their first words.
    pub unparsed: BTreeMap<String, Unparsed>,
    /// What was dropped.
    pub health: Health,
}

/// A log file and how much of it is NCCL's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFile {
    /// Its name, as given on the command line.
    pub name: String,
    /// Total lines.
    pub lines: u64,
    /// Entries of NCCL.
    pub entries: u64,
}

/// Unknown lines with the same start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unparsed {
    /// Their number.
    pub count: u64,
    /// The first such line.
    pub first: Witness,
}

const PROCESS_CAPACITY: usize = 65_536;
/// Most calls over all processes; the first are kept. A call takes 56 bytes.
const CALL_CAPACITY: usize = 1 << 22;
/// Most edges over all processes: 64 channels of 1,000 ranks, both ends, several times over.
const EDGE_CAPACITY: usize = 1 << 20;
/// Most queue pairs over all processes.
const QUEUE_PAIR_CAPACITY: usize = 1 << 20;
const UNPARSED_CAPACITY: usize = 1_024;
/// Words by which unknown lines are grouped.
const UNPARSED_WORDS: usize = 3;

impl LogTracker {
    /// Adds the next log; logs are numbered from 0.
    pub fn add_log(&mut self, name: impl Into<String>) -> LogId {
        let id = LogId(self.files.len() as u32);
        self.files.push(LogFile { name: name.into(), lines: 0, entries: 0 });
        id
    }

    /// Processes the next line of a log, with or without its end; `number` counts from 1. Returns
    /// whether it has an entry of NCCL.
    pub fn observe(&mut self, log: LogId, number: u64, line: &[u8]) -> bool {
        // Most lines of a log come from other programs. Colour codes may hide the mark.
        let has_mark = line.windows(5).any(|bytes| bytes == b"NCCL ");
        let mut found = 0;
        if has_mark || line.trim_ascii_end().iter().any(u8::is_ascii_control) {
            let text = clean(line);
            let witness = Witness::Line { log, number };
            for entry in entries(&text) {
                self.entry(&entry, witness);
                found += 1;
            }
        }
        if let Some(file) = self.files.get_mut(log.0 as usize) {
            file.lines += 1;
            file.entries += found;
        }
        found > 0
    }

    fn entry(&mut self, entry: &Entry<'_>, witness: Witness) {
        self.health.add(HealthEvent::LogCutLines, u64::from(entry.is_cut));
        self.health.add(HealthEvent::LogGluedLines, u64::from(entry.is_glued));
        if entry.message == Message::Other && entry.level != Level::Warn {
            self.unparsed(entry.text, witness);
        }
        if !self.has_room(&entry.message) {
            return;
        }
        match (entry.origin, &entry.message) {
            (Some(origin), _) => match self.process(&origin, witness) {
                Some((process, health)) => process.observe(entry, origin.tid, witness, health),
                None => self.health.add(HealthEvent::LogLinesOfRefusedProcesses, 1),
            },
            (None, Message::Release(release)) => {
                self.releases.insert(*release);
            }
            (None, _) => self.health.add(HealthEvent::LogLinesWithoutProcess, 1),
        }
    }

    /// Whether the message's list item still fits.
    fn has_room(&mut self, message: &Message<'_>) -> bool {
        let [calls, edges, pairs] = &mut self.kept;
        let (kept, capacity, counter) = match message {
            Message::Call(_) => (calls, CALL_CAPACITY, HealthEvent::LogDroppedCalls),
            Message::Edge(_) => (edges, EDGE_CAPACITY, HealthEvent::LogDroppedEdges),
            Message::QueuePair(_) | Message::QueuePairCreated(_) => {
                (pairs, QUEUE_PAIR_CAPACITY, HealthEvent::LogDroppedQueuePairs)
            }
            _ => return true,
        };
        let has_room = *kept < capacity;
        *kept += usize::from(has_room);
        self.health.add(counter, u64::from(!has_room));
        has_room
    }

    fn process(
        &mut self,
        origin: &Origin<'_>,
        witness: Witness,
    ) -> Option<(&mut Process, &mut Health)> {
        let is_known =
            self.hosts.get(origin.host).is_some_and(|pids| pids.contains_key(&origin.pid));
        if !is_known {
            if self.processes >= PROCESS_CAPACITY {
                return None;
            }
            self.processes += 1;
            let process = Process::new(origin.host, origin.pid, witness);
            let pids = self.hosts.entry(origin.host.to_owned()).or_default();
            pids.insert(origin.pid, process);
        }
        let process = self.hosts.get_mut(origin.host)?.get_mut(&origin.pid)?;
        Some((process, &mut self.health))
    }

    fn unparsed(&mut self, text: &str, witness: Witness) {
        self.health.add(HealthEvent::LogUnparsedLines, 1);
        let words: Vec<&str> = text.split_whitespace().take(UNPARSED_WORDS).collect();
        let words = words.join(" ");
        if let Some(known) = self.unparsed.get_mut(&words) {
            known.count += 1;
        } else if self.unparsed.len() < UNPARSED_CAPACITY {
            self.unparsed.insert(words, Unparsed { count: 1, first: witness });
        }
    }

    /// The result.
    #[must_use]
    pub fn finish(mut self) -> LogFacts {
        let mut processes: Vec<Process> =
            self.hosts.into_values().flat_map(BTreeMap::into_values).collect();
        // A release printed to standard output applies to all processes, if there is only one.
        let only = self.releases.first().filter(|_| self.releases.len() == 1);
        for process in &mut processes {
            process.release = process.release.or(only.copied());
            self.health.add(HealthEvent::LogSharedEdges, process.shared_edges.len() as u64);
            self.health.add(HealthEvent::LogDroppedWarnings, process.warnings.dropped());
        }
        LogFacts { files: self.files, processes, unparsed: self.unparsed, health: self.health }
    }
}
