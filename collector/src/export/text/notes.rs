//! What this input cannot show, and what was missed.

use std::io::{self, Write};

use super::quantity::count;
use super::style::{Meaning, paint};
use crate::report::Report;

/// Counters that people should know of, and what each means.
const MEANINGS: &[(&str, &str)] = &[
    ("capture.lost_frames", "frames lost by the capturing side: gaps below may be its own"),
    ("mirror.lost_frames", "frames lost by mirror sessions: gaps below may be their own"),
    ("flow.tap_duplicates", "packets seen twice by their tap, counted once"),
    ("flow.unpaired", "flows without a known way back: no round trips, causes unknown"),
    ("flow.restarted_epochs", "queue pair numbers used again by a new connection"),
    ("flow.ambiguous_packets", "packets behind the highest PSN with nothing to tell why"),
    ("flow.unexpected_acks", "ACKs of PSNs that were never seen to be sent"),
    ("flow.evicted_flows", "flows dropped to make room: raise --max-flows"),
    (
        "ecn.ce_not_visible_next_to_sender_flows",
        "flows seen next to their sender, before any switch: CE unknown",
    ),
    ("capture.backward_time_frames", "frames whose time is before that of the frame ahead"),
    ("capture.skipped_frames", "frames outside --since and --until"),
    ("capture.dropped_frames", "frames of the files that could not be used"),
    ("capture.file_problems", "problems with files, told above"),
];

/// Writes what was missed; nothing when nothing was.
pub(super) fn write(report: &Report, out: &mut impl Write) -> io::Result<()> {
    let mut lines: Vec<String> = MEANINGS
        .iter()
        .filter_map(|(name, meaning)| {
            let value = *report.health.get(*name)?;
            Some(format!("{} {meaning}", count(value)))
        })
        .collect();
    if !report.capture.refused.is_empty() {
        let mut refused: Vec<_> = report.capture.refused.iter().collect();
        refused.sort_by_key(|(_, frames)| std::cmp::Reverse(**frames));
        let named =
            refused.iter().take(4).map(|(name, frames)| format!("{name} {}", count(**frames)));
        lines.push(format!("headers not read: {}", named.collect::<Vec<_>>().join(", ")));
    }
    if lines.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}", paint(Meaning::Heading, "Not seen, or not certain"))?;
    lines.iter().try_for_each(|line| writeln!(out, "  {line}"))
}
