//! Flows with unknown or incomplete ranks, by reason.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::{self, Write};

use super::options::TextOptions;
use super::quantity::{bytes, counted};
use super::sentence;
use super::style::{Meaning, paint};
use railscope_core::report::Report;

/// Flows that lack the same ranks for the same reason.
#[derive(Default)]
struct Group {
    flows: u64,
    frames: u64,
    payload_bytes: u64,
}

/// Writes the reasons, that of most bytes first; nothing if every flow has ranks or there is no
/// communicator.
pub(super) fn write(
    report: &Report,
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let groups = groups(report);
    if groups.is_empty() || report.communicators.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}", paint(Meaning::Heading, "Flows with unknown or incomplete ranks"))?;
    for ((is_linked, why), group) in groups.iter().take(options.top) {
        let Group { flows, frames, payload_bytes } = group;
        let what = if *is_linked { " with incomplete ranks" } else { "" };
        let line = format!(
            "{}{what}, {}, {}: {why}",
            counted(*flows, "flow"),
            counted(*frames, "frame"),
            bytes(*payload_bytes)
        );
        writeln!(out, "{}", sentence::note(&line, options.width))?;
    }
    options.write_more(groups.len(), out)
}

/// Why no rank is known, in one line, for captures without communicators.
pub(super) fn note(report: &Report) -> Option<String> {
    if !report.communicators.is_empty() {
        return None;
    }
    let groups = groups(report);
    let ((_, why), _) = groups.first()?;
    Some(format!("flows without an NCCL rank: {why}"))
}

fn groups(report: &Report) -> Vec<((bool, &str), Group)> {
    let mut groups: BTreeMap<(bool, &str), Group> = BTreeMap::new();
    for flow in &report.flows {
        let Some(owner) = &flow.owner else { continue };
        let Some(why) = &owner.why_unknown else { continue };
        let group = groups.entry((owner.communicator.is_some(), why)).or_default();
        group.flows += 1;
        group.frames += flow.frames;
        group.payload_bytes += flow.payload_bytes;
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, group)| Reverse((group.payload_bytes, group.frames)));
    groups
}
