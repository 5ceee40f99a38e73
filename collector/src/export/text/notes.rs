//! What this input cannot show, and what was missed.

use std::io::{self, Write};

use super::finding_list;
use super::quantity::{count, counted};
use super::sentence;
use super::style::{Meaning, paint};
use super::unlinked;
use railscope_core::report::Report;
use railscope_core::report::conflicts::ConflictReport;
use railscope_core::report::flows::PsnReport;
use railscope_core::report::queue_pairs::QueuePairReport;

/// Counters that people should know of: what each counts, and what that means.
// tidy: table
const MEANINGS: &[(&str, &str, &str)] = &[
    ("capture.lost_frames", "frame", "lost by the capturing side: holes may be its own"),
    ("mirror.lost_frames", "frame", "lost by mirror sessions: holes may be their own"),
    ("mirror.unchecked_frames", "mirrored frame", "of too many sessions to check for loss"),
    ("flow.tap_duplicates", "packet", "seen twice by the same tap, counted once"),
    ("flow.unpaired", "flow", "without a known way back: no round trips, causes unknown"),
    (
        "flow.datagram_flows",
        "datagram flow",
        "not judged: its numbers count packets to others, too",
    ),
    (
        "flow.answers_forgotten",
        "READ or atomic",
        "forgotten to make room: not matched to its answer",
    ),
    ("flow.episodes_unlisted", "recovery", "beyond the 1,024 listed of a flow; sums have it"),
    ("flow.tally_overflow", "packet", "with DSCPs, keys or ports beyond the 64 told apart"),
    ("flow.restarted_epochs", "queue pair number", "used again by a new connection: marked #2"),
    ("flow.ambiguous_packets", "packet", "behind the highest PSN with nothing to tell why"),
    ("flow.unexpected_acks", "ACK", "of PSNs that were never seen to be sent"),
    ("flow.evicted_flows", "flow", "dropped to make room: raise --max-flows"),
    ("flow.holes_evicted", "hole", "forgotten to make room: resends of them may count as late"),
    ("connection.evicted", "connection", "set up by the CM, forgotten to make room"),
    ("port.unmetered_frames", "frame", "of too many ports to meter"),
    ("pause.refused", "pause frame", "of too many stations to follow"),
    ("tcp.evicted_queue_pairs", "TCP connection", "forgotten to make room"),
    ("control.gap_queue_pairs", "connection", "of NCCL or a TCPStore with bytes missing"),
    ("control.malformed_queue_pairs", "connection", "that greeted as NCCL does, then did not"),
    ("control.unsupported_queue_pairs", "connection", "of NCCL 2.15 or before: not read"),
    ("control.oversized_queue_pairs", "connection", "of the control plane too long to keep"),
    ("control.ignored_queue_pairs", "TCP connection", "too many to look at"),
    ("link.communicators_dropped", "communicator", "too many to tell apart"),
    (
        "link.messages_dropped",
        "NCCL message",
        "without room: later collectives are not told; raise --max-messages",
    ),
    ("link.signals_dropped", "CNP or NAK", "without room: not in the timeline"),
    ("link.resends_dropped", "resend", "without room: training steps do not tell theirs"),
    ("train_log.dropped_lines", "line", "of training logs without room: not compared"),
    ("collectives.unknown", "run", "of messages that no collective explains"),
    ("collectives.incomplete", "collective", "of which messages are missing"),
    (
        "log.unparsed_lines",
        "line",
        "of NCCL's logs that railscope does not know: see logs.unparsed",
    ),
    ("log.shared_edges", "edge", "in logs that may be of several communicators"),
    ("log.cut_lines", "line", "of logs cut by NCCL: their last values are left out"),
    ("log.glued_lines", "line", "of logs behind another on the same line"),
    ("log.overlong_lines", "line", "of logs longer than 64 KiB: the rest is not read"),
    ("log.lines_without_process", "line", "of logs whose start is missing"),
    ("log.lines_of_refused_processes", "line", "of logs of too many processes"),
    ("log.calls_of_unknown_communicators", "call", "of communicators made before the log begins"),
    ("log.dropped_communicators", "communicator", "of logs dropped to make room"),
    ("log.dropped_edges", "edge", "of logs dropped to make room"),
    ("log.dropped_calls", "call", "of logs dropped to make room"),
    ("log.dropped_choices", "choice", "of an algorithm whose call is not known, or dropped"),
    ("log.dropped_queue_pairs", "queue pair", "of logs dropped to make room"),
    ("log.dropped_warnings", "warning", "beyond the 256 kept of a process"),
    ("log.file_problems", "problem", "with logs, told on standard error"),
    ("capture.backward_time_frames", "frame", "timed before the frame ahead"),
    ("capture.skipped_frames", "frame", "left out by --since and --until"),
    ("capture.dropped_frames", "frame", "of the files that could not be used"),
    ("capture.file_problems", "problem", "with files, told on standard error"),
];

/// Conflicts that are told.
const CONFLICTS_SHOWN: usize = 4;

/// Refused headers that are named.
const REFUSED_SHOWN: usize = 4;

/// Writes what was missed; nothing when nothing was.
pub(super) fn write(
    report: &Report,
    queue_pairs: &[&QueuePairReport],
    out: &mut impl Write,
) -> io::Result<()> {
    let counters = MEANINGS.iter().filter_map(|(name, noun, meaning)| {
        let value = *report.health.get(*name)?;
        Some(format!("{} {meaning}", counted(value, noun)))
    });
    let mut lines: Vec<String> = unseen(report).into_iter().flatten().chain(counters).collect();
    lines.extend(unmarked(queue_pairs));
    lines.extend(conflicts(report));
    lines.extend(refused(report));
    lines.extend(unlinked::note(report));
    lines.extend(finding_list::note(report));
    if lines.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}", paint(Meaning::Heading, "Not seen, or not certain"))?;
    lines.iter().try_for_each(|line| writeln!(out, "{}", sentence::note(line)))
}

/// Packets that no tap kept.
fn unseen(report: &Report) -> [Option<String>; 2] {
    let sum = |of: fn(&PsnReport) -> Option<u64>| -> u64 {
        report.flows.iter().filter_map(|flow| of(&flow.psn)).sum()
    };
    [
        (
            sum(|psn| psn.uncaptured_packets),
            "acknowledged yet never seen: lost by the capture, not by the network",
        ),
        (sum(|psn| psn.unresolved_packets), "never seen, and nothing tells why"),
    ]
    .map(|(packets, meaning)| {
        (packets > 0).then(|| format!("{} {meaning}", counted(packets, "packet")))
    })
}

/// Flows of which no tap could have seen marks.
fn unmarked(queue_pairs: &[&QueuePairReport]) -> Option<String> {
    let flows = queue_pairs.iter().filter(|one| one.ce_packets.is_none()).count();
    let meaning = "seen only next to the sender, before any switch: CE unknown";
    (flows > 0).then(|| format!("{} {meaning}", counted(flows as u64, "flow")))
}

/// What was seen twice and differs.
fn conflicts(report: &Report) -> Vec<String> {
    let tell = |conflict: &ConflictReport| {
        let rank = conflict.rank.map_or_else(String::new, |rank| format!("rank {rank}: "));
        let ConflictReport { what, reported, contradicted_by, .. } = conflict;
        format!("conflict: {rank}{what} is {reported}, but {contradicted_by}")
    };
    let mut lines: Vec<String> = report.conflicts.iter().take(CONFLICTS_SHOWN).map(tell).collect();
    let more = report.conflicts.len().saturating_sub(CONFLICTS_SHOWN);
    if more > 0 {
        lines.push(format!("{} more: --format json", counted(more as u64, "conflict")));
    }
    lines
}

/// The commonest reasons why headers were not read.
fn refused(report: &Report) -> Option<String> {
    let mut refused: Vec<_> = report.capture.refused.iter().collect();
    refused.sort_by_key(|(_, frames)| std::cmp::Reverse(**frames));
    let shown: Vec<String> = refused
        .iter()
        .take(REFUSED_SHOWN)
        .map(|(reason, frames)| format!("{reason} {}", count(**frames)))
        .collect();
    let more = if refused.len() > REFUSED_SHOWN { ", ..." } else { "" };
    (!shown.is_empty()).then(|| format!("headers not read: {}{more}", shown.join(", ")))
}
