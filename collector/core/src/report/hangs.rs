//! Jobs that no longer move: the answer of `railscope explain --hang`.

use serde::Serialize;

use super::Report;
use super::call_records::UnusedRecordReport;
use super::evidence::EvidenceReport;
use super::verdicts::VerdictSubjectReport;
use super::words::hang as words;
use super::words::verdict::{no_tap, not_enough};
use crate::analysis::finding::observation::{Observation, RecordObservation};
use crate::analysis::finding::{Proof, ProofSource};
use crate::analysis::hang::{self, Contradiction, Hang, Hangs, Motion};
use crate::analysis::understanding::Understanding;
use crate::analysis::verdict::Missing;
use crate::analysis::verdict::class::Class;
use crate::analysis::verdict::hang::page;
use crate::link::job::CommunicatorId;

/// What no longer moves, or that nothing hangs.
#[derive(Clone, Debug, Serialize)]
pub struct HangsReport<'a> {
    /// `hang`; `none`: enough was read to say that nothing hangs; `unknown`.
    pub state: &'static str,
    /// Where nothing hangs, or too little was read to say so: one line; `null` with a hang.
    pub summary: Option<String>,
    /// The causes, the costliest first.
    pub hangs: Vec<HangReport<'a>>,
    /// Communicators of which data was seen.
    pub communicators: Vec<MotionReport>,
    /// Captures that ended before their host did: what they lack is no sign of a hang.
    pub stopped_captures: Vec<StoppedReport<'a>>,
    /// What was read.
    pub sources: Vec<SourceReport>,
    /// Dumps and answers of RAS that were given and are not used: what does not fit the rest proves nothing.
    pub unused_records: &'a [UnusedRecordReport],
}

/// A capture that ended before its host did.
#[derive(Clone, Debug, Serialize)]
pub struct StoppedReport<'a> {
    /// The port next to it.
    pub port: Option<&'a str>,
    /// One line.
    pub title: &'a str,
}

/// A cause that stops a job.
#[derive(Clone, Debug, Serialize)]
pub struct HangReport<'a> {
    /// Its class; the `id` of a verdict.
    pub class: &'static str,
    /// Another class that the evidence leaves.
    pub alternative: Option<&'static str>,
    /// The page about the class in `docs/hangs`; `null` where only the stall is known.
    pub page: Option<&'static str>,
    /// One line: what stopped, and where.
    pub title: &'a str,
    /// `proven`, `inferred` or `unknown`.
    pub grade: &'static str,
    /// Where it is.
    pub subject: &'a VerdictSubjectReport,
    /// First time seen.
    pub since_ns: Option<i64>,
    /// Last time seen.
    pub until_ns: Option<i64>,
    /// `id`s of the communicators that stand still, as far as they are known.
    pub communicators: Vec<String>,
    /// What each source shows.
    pub evidence: Vec<ShownReport<'a>>,
    /// What contradicts it.
    pub contradictions: Vec<String>,
    /// What would tell the class from the alternative.
    pub would_decide: Option<&'static str>,
    /// What to do first.
    pub remedy: &'a str,
}

/// What a finding shows of a hang, by one source.
#[derive(Clone, Debug, Serialize)]
pub struct ShownReport<'a> {
    /// `packets`, `calls`, `counters`, `logs`, `flight_recorder` or `ras`.
    pub source: &'static str,
    /// What the finding says.
    pub finding: &'a str,
    /// The evidence of this source.
    pub evidence: Vec<&'a EvidenceReport>,
}

/// How far a communicator has come.
#[derive(Clone, Debug, Serialize)]
pub struct MotionReport {
    /// Its `id`.
    pub communicator: String,
    /// From its last data to the end of the captures that saw it.
    pub silence_ns: u64,
    /// A receiver had offered room, and no data came.
    pub is_waiting: bool,
}

/// A source of evidence.
#[derive(Clone, Debug, Serialize)]
pub struct SourceReport {
    /// As in `evidence`.
    pub source: &'static str,
    /// Captures, files of counters, logs, dumps or answers that were read.
    pub read: usize,
}

/// Sources of files, as they are read.
const SOURCES: [&str; 5] = ["packets", "counters", "logs", "flight_recorder", "ras"];

impl<'a> HangsReport<'a> {
    /// Projects the hangs of `understanding`, of which `report` was made.
    #[must_use]
    pub fn new(understanding: &Understanding, report: &'a Report) -> Self {
        let hangs = hang::hangs(understanding);
        let name = |id| understanding.state.job.as_ref()?.name_of(id);
        let found = hangs.found.iter().filter_map(|one| hang_report(understanding, report, one));
        let found: Vec<HangReport<'a>> = found.collect();
        let motions = hangs.motions.iter().map(|motion| MotionReport {
            communicator: name(motion.communicator).unwrap_or_default(),
            silence_ns: motion.silence_ns,
            is_waiting: motion.is_waiting,
        });
        let sources = sources(report);
        let stopped = report.verdicts.iter().filter(|one| one.id == Class::CaptureStopped.id());
        let stopped = stopped
            .map(|one| StoppedReport { port: one.subject.port.as_deref(), title: &one.title });
        let (state, summary) = match found.is_empty() {
            false => ("hang", None),
            true => match why_unknown(&hangs, &name) {
                Some(why) => ("unknown", Some(words::unknown(&why))),
                None => {
                    let rests = hangs.motions.iter().map(|motion| motion.silence_ns);
                    let rests: Vec<u64> = rests.filter(|rest| *rest >= hangs.after_ns).collect();
                    let read = read(&sources);
                    (
                        "none",
                        Some(words::nothing_hangs(
                            hangs.motions.len(),
                            &rests,
                            hangs.after_ns,
                            &read,
                        )),
                    )
                }
            },
        };
        Self {
            state,
            summary,
            hangs: found,
            communicators: motions.collect(),
            stopped_captures: stopped.collect(),
            sources,
            unused_records: &report.call_records.unused,
        }
    }
}

fn hang_report<'a>(
    understanding: &Understanding,
    report: &'a Report,
    hang: &Hang,
) -> Option<HangReport<'a>> {
    let verdict = report.verdicts.get(hang.verdict)?;
    let judged = understanding.verdicts.found.get(hang.verdict)?;
    let headline = |at: usize| {
        let other = report.verdicts.get(at);
        other.map(|other| other.headline.clone()).unwrap_or_default()
    };
    let contradiction = |what: &Contradiction| words::contradiction(what, &headline);
    let communicators = hang.communicators.iter();
    let places = verdict.findings.iter().chain(&verdict.explains);
    Some(HangReport {
        class: verdict.id,
        alternative: verdict.alternatives.first().copied(),
        page: page(judged.class),
        title: &verdict.headline,
        grade: verdict.grade,
        subject: &verdict.subject,
        since_ns: verdict.since_ns,
        until_ns: verdict.until_ns,
        communicators: communicators
            .filter_map(|id| understanding.state.job.as_ref()?.name_of(*id))
            .collect(),
        evidence: places.flat_map(|at| shown(understanding, report, *at)).collect(),
        contradictions: hang.contradictions.iter().map(contradiction).collect(),
        would_decide: verdict.would_decide,
        remedy: &verdict.remedy,
    })
}

/// What a finding shows, source by source.
fn shown<'a>(understanding: &Understanding, report: &'a Report, at: usize) -> Vec<ShownReport<'a>> {
    let pair = report.findings.get(at).zip(understanding.findings.found.get(at));
    let Some((finding, judged)) = pair else { return Vec::new() };
    let mut shown: Vec<ShownReport<'a>> = Vec::new();
    for (evidence, proof) in finding.evidence.iter().zip(&judged.evidence) {
        let source = source(proof);
        match shown.iter_mut().find(|one| one.source == source) {
            Some(one) => one.evidence.push(evidence),
            None => shown.push(ShownReport {
                source,
                finding: &finding.title,
                evidence: vec![evidence],
            }),
        }
    }
    shown
}

fn source(proof: &Proof) -> &'static str {
    match (proof.source(), &proof.observation) {
        (ProofSource::Frame, _) => "packets",
        (ProofSource::Log, _) => "logs",
        (ProofSource::Counter, _) => "counters",
        (ProofSource::Call, _) => "calls",
        (ProofSource::Record, Observation::Recorded(RecordObservation::Answer { .. })) => "ras",
        (ProofSource::Record, _) => "flight_recorder",
    }
}

fn sources(report: &Report) -> Vec<SourceReport> {
    let logs = report.logs.files.iter().filter(|file| file.nccl_entries > 0).count();
    let records = &report.call_records;
    let counts =
        [report.taps.len(), report.counters.len(), logs, records.dumps.len(), records.ras.len()];
    SOURCES.into_iter().zip(counts).map(|(source, read)| SourceReport { source, read }).collect()
}

/// `4 captures, 2 RAS answers`.
fn read(sources: &[SourceReport]) -> String {
    let read = sources.iter().filter(|one| one.read > 0);
    read.map(|one| words::read(one.source, one.read)).collect::<Vec<_>>().join(", ")
}

/// Why it cannot be said that nothing hangs.
fn why_unknown(hangs: &Hangs, name: &dyn Fn(CommunicatorId) -> Option<String>) -> Option<String> {
    let is_stalled = |motion: &Motion| motion.is_over_tcp && motion.silence_ns >= hangs.after_ns;
    if hangs.has_unread_sockets || hangs.motions.iter().any(is_stalled) {
        return Some(words::SOCKETS.to_owned());
    }
    let is_tcp_alone = !hangs.motions.is_empty() && hangs.motions.iter().all(|one| one.is_over_tcp);
    let missing = hangs.missing.as_ref().filter(|_| !is_tcp_alone);
    // Whether such a communicator would have moved on, only a longer capture can tell.
    let is_long =
        |motion: &&Motion| motion.is_waiting && motion.silence_ns > motion.longest_rest_ns;
    let waiting = hangs.motions.iter().find(is_long).map(|motion| {
        let name = name(motion.communicator).unwrap_or_default();
        words::too_short(&name, motion, hangs.after_ns)
    });
    match (waiting, missing) {
        (Some(waiting), Some(Missing::Taps { ports, of, hosts })) => {
            Some(format!("{waiting}; {}", no_tap(ports, *of, hosts)))
        }
        (Some(waiting), _) => Some(waiting),
        (None, Some(Missing::Packets { logs, counters, records, outputs })) => {
            Some(words::no_packets(*logs, *counters, *records, *outputs))
        }
        (None, Some(missing)) => Some(not_enough(missing)),
        (None, None) => hangs.motions.is_empty().then(|| words::NO_DATA.to_owned()),
    }
}
