//! Lines in, facts out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use super::process::Process;
use super::sign::{self, Signs, Writer};
use super::watchdog::{Groups, Watchdogs};
use crate::decode::job_log::{self, JobLine};
use crate::decode::nccl_log::entry::{Entry, Level, Origin};
use crate::decode::nccl_log::message::Message;
use crate::decode::nccl_log::{clean, entries, has_control};
use crate::decode::phrases::Phrases;
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
    signs: Signs,
    watchdogs: Watchdogs,
    /// The last line was `Last error:`, of the log with this number.
    awaits_error: Option<LogId>,
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
    /// Signs of trouble, in order of their first lines.
    pub signs: Signs,
    /// What PyTorch's watchdogs reported, by process group and rank.
    pub watchdogs: Groups,
    /// What was dropped.
    pub health: Health,
}

impl LogFacts {
    /// Whether anything was read in the logs.
    #[must_use]
    pub fn has_facts(&self) -> bool {
        !self.processes.is_empty()
            || !self.watchdogs.is_empty()
            || self.signs.iter().next().is_some()
    }
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
    /// Lines of PyTorch, launchers, libraries and the kernel that report trouble.
    pub job_lines: u64,
    /// Entries of NCCL in an unknown format.
    pub unknown: u64,
}

/// Unknown lines with the same start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unparsed {
    /// Their number.
    pub count: u64,
    /// The first such line.
    pub first: Witness,
}

/// Marks of entries of NCCL, and of NCCL 2.2, which does not name itself.
const ENTRY_MARKS: &[&str] = &["NCCL ", "CCL version ", " INFO ", " WARN "];

/// What a line must have to be looked at.
static MARKS: LazyLock<Phrases> =
    LazyLock::new(|| Phrases::new(&[ENTRY_MARKS, job_log::MARKS].concat()));

/// What a line of another program must have.
static JOB_MARKS: LazyLock<Phrases> = LazyLock::new(|| Phrases::new(job_log::MARKS));

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
        self.files.push(LogFile {
            name: name.into(),
            lines: 0,
            entries: 0,
            job_lines: 0,
            unknown: 0,
        });
        id
    }

    /// Processes the next line of a log, with or without its end; `number` counts from 1. Returns
    /// whether it is known: an entry of NCCL, or a line of another program that reports trouble.
    pub fn observe(&mut self, log: LogId, number: u64, line: &[u8]) -> bool {
        let witness = Witness::Line { log, number };
        let awaits_error = self.awaits_error == Some(log) && !line.trim_ascii().is_empty();
        let (mut found, mut job_lines) = (0, 0);
        // Most lines of a log say nothing of NCCL or trouble. Colour codes and
        // other control characters may hide the mark.
        if MARKS.is_in(line) || awaits_error || has_control(line.trim_ascii_end()) {
            let text = clean(line);
            for entry in entries(&text) {
                self.entry(&entry, witness);
                found += 1;
            }
            if found == 0 && (awaits_error || JOB_MARKS.is_in(text.as_bytes())) {
                self.job_line(&text, awaits_error, log, witness);
                job_lines = 1;
            }
        }
        if let Some(file) = self.files.get_mut(log.0 as usize) {
            file.lines += 1;
            file.entries += found;
            file.job_lines += job_lines;
        }
        found + job_lines > 0
    }

    /// A line that NCCL did not write.
    fn job_line(&mut self, text: &str, is_error: bool, log: LogId, witness: Witness) {
        if is_error {
            self.awaits_error = None;
        }
        match JobLine::read(text) {
            JobLine::Watchdog(line) => self.watchdogs.observe(&line, witness),
            JobLine::LastErrorNext => self.awaits_error = Some(log),
            JobLine::Trouble(text) => {
                // PyTorch quotes NCCL's last warning.
                let text = if is_error { without_prefix(text) } else { text };
                let process = kernel_host(text).map(|host| (host, 0));
                let origin = sign::Origin { process, time: None, witness };
                self.signs.add(Writer::Other, text, &origin);
            }
        }
    }

    fn entry(&mut self, entry: &Entry<'_>, witness: Witness) {
        self.health.add(HealthEvent::LogCutLines, u64::from(entry.is_cut));
        self.health.add(HealthEvent::LogGluedLines, u64::from(entry.is_glued));
        if entry.message == Message::Other && entry.level != Level::Warn {
            self.unparsed(entry.text, witness);
        }
        self.sign(entry, witness);
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

    fn sign(&mut self, entry: &Entry<'_>, witness: Witness) {
        let is_warning =
            entry.level == Level::Warn || matches!(entry.message, Message::AsyncEvent(_));
        let writer = match is_warning {
            true => Writer::Warning,
            false if entry.level == Level::Info && sign::is_failure(entry.text) => Writer::Info,
            false => return,
        };
        let process = entry.origin.map(|origin| (origin.host, origin.pid));
        let origin = sign::Origin { process, time: entry.time, witness };
        self.signs.add(writer, entry.text, &origin);
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
        if let Witness::Line { log, .. } = witness
            && let Some(file) = self.files.get_mut(log.0 as usize)
        {
            file.unknown += 1;
        }
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
            process.conclude_network();
            self.health.add(HealthEvent::LogSharedEdges, process.shared_edges.len() as u64);
            self.health.add(HealthEvent::LogDroppedWarnings, process.warnings.dropped());
        }
        self.health.add(HealthEvent::LogDroppedWarnings, self.signs.dropped());
        LogFacts {
            files: self.files,
            processes,
            unparsed: self.unparsed,
            signs: self.signs,
            watchdogs: self.watchdogs.finish(),
            health: self.health,
        }
    }
}

/// The text behind `[rank0]: `, `[worker|0]:`.
fn without_prefix(text: &str) -> &str {
    let mut text = text.trim();
    while let Some((_, rest)) = text.strip_prefix('[').and_then(|rest| rest.split_once("]:")) {
        text = rest.trim_start();
    }
    text
}

/// The host of a line of syslog: `Mar  3 10:00:01 node7 kernel: mlx5_core ...`.
fn kernel_host(text: &str) -> Option<&str> {
    let (head, _) = text.split_once(" kernel:")?;
    let host = head.rsplit(' ').next()?;
    (!host.is_empty() && !host.contains(':')).then_some(host)
}
