//! The last block: what this input cannot show, and what was missed.

use std::io::{self, Write};

use super::finding_list;
use super::options::TextOptions;
use super::quantity::{count, counted};
use super::sentence;
use super::style::{Meaning, paint};
use super::unlinked;
use railscope_core::model::health::event::{HealthEvent, Note};
use railscope_core::report::Report;
use railscope_core::report::conflicts::ConflictReport;
use railscope_core::report::queue_pairs::QueuePairTallies;

/// Conflicts listed one by one.
const CONFLICTS_SHOWN: usize = 4;

/// Reasons for unread headers listed one by one.
const REFUSED_SHOWN: usize = 4;

/// Writes what was missed, or nothing.
pub(super) fn write(
    report: &Report,
    tallies: QueuePairTallies,
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let lines = lines(report, tallies);
    if lines.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}", paint(Meaning::Heading, "Not seen, or not certain"))?;
    lines.iter().try_for_each(|line| writeln!(out, "{}", sentence::note(line, options.width)))
}

/// What was missed, one sentence each.
pub(in crate::export) fn lines(report: &Report, tallies: QueuePairTallies) -> Vec<String> {
    let counters = HealthEvent::ALL.iter().filter_map(|event| {
        let (Note { noun, meaning }, value) = event.note().zip(report.health.get(event.name()))?;
        Some(format!("{} {meaning}", counted(*value, noun)))
    });
    let mut lines: Vec<String> = unseen(report).into_iter().flatten().chain(counters).collect();
    lines.extend(unmarked(tallies));
    lines.extend(conflicts(report));
    lines.extend(refused(report));
    lines.extend(unlinked::note(report));
    lines.extend(finding_list::note(report));
    lines
}

/// Packets that no tap captured.
fn unseen(report: &Report) -> [Option<String>; 2] {
    [
        (
            report.capture.uncaptured_packets,
            "acknowledged but not captured: lost by the capture, not by the network",
        ),
        (report.capture.unresolved_packets, "not captured, cause unknown"),
    ]
    .map(|(packets, meaning)| {
        (packets > 0).then(|| format!("{} {meaning}", counted(packets, "packet")))
    })
}

/// Flows whose CE marks no tap could have captured.
fn unmarked(tallies: QueuePairTallies) -> Option<String> {
    let flows = tallies.without_marks as u64;
    let meaning = "captured only at the sender, before any switch: CE unknown";
    (flows > 0).then(|| format!("{} {meaning}", counted(flows, "flow")))
}

/// Facts on which two sources disagree.
fn conflicts(report: &Report) -> Vec<String> {
    let describe = |conflict: &ConflictReport| {
        let rank = conflict.rank.map_or_else(String::new, |rank| format!("rank {rank}: "));
        let ConflictReport { what, reported, contradicted_by, .. } = conflict;
        format!("conflict: {rank}{what} is {reported}, but {contradicted_by}")
    };
    let mut lines: Vec<String> =
        report.conflicts.iter().take(CONFLICTS_SHOWN).map(describe).collect();
    let more = report.conflicts.len().saturating_sub(CONFLICTS_SHOWN);
    if more > 0 {
        lines.push(format!("{} more: --format json", counted(more as u64, "conflict")));
    }
    lines
}

/// The most frequent reasons why headers were not read.
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
