//! Collectives by kind and size, in descending order of total time.

use std::io::{self, Write};

use super::communicator_names::CommunicatorNames;
use super::options::TextOptions;
use super::quantity::{byte_rate, bytes, count, counted, duration};
use super::sentence;
use super::style::Meaning;
use super::table::{Column, render};
use railscope_core::report::Report;
use railscope_core::report::collective_groups::CollectiveGroupReport;
use railscope_core::report::collectives::CollectiveReport;

/// Writes the collectives.
pub(super) fn write(
    report: &Report,
    names: CommunicatorNames,
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let groups = &report.collective_groups;
    let Some(longest) = groups.first() else { return Ok(()) };
    let shown = groups.get(..options.top).unwrap_or(groups);
    let column = |cell: &dyn Fn(&CollectiveGroupReport) -> String| shown.iter().map(cell).collect();
    let columns = vec![
        Column::words("COLLECTIVE", column(&kind)),
        Column::words("COMMUNICATOR", column(&|group| names.where_needed(&group.communicator))),
        Column::words("ALGO PROTO", column(&|group| method(group.algorithm, group.protocol))),
        Column::numbers("SIZE", column(&size)),
        Column::numbers("COUNT", column(&|group| count(group.count))),
        Column::numbers("CHANNELS", column(&channels)).spare(3),
        Column::numbers("MEDIAN", column(&|group| duration(group.median_ns))),
        Column::numbers("MAX", column(&|group| duration(group.max_ns))).spare(1),
        Column::numbers("ALGBW", column(&|group| rate(group.algbw_bytes_per_s))).spare(2),
        Column::numbers("BUSBW", column(&|group| rate(group.busbw_bytes_per_s))),
        Column::numbers("SLOWEST", column(&|group| group.slowest.to_string())),
    ];
    writeln!(out, "\n{}", render(columns, options.width))?;
    options.write_more(groups.len(), out)?;
    let hint = format!(
        "median bandwidths, defined as in nccl-tests; details of one: railscope explain --collective {}",
        longest.slowest
    );
    writeln!(out, "{}", sentence::painted(Meaning::Aside, &hint, options.width))?;
    let unknown = groups.iter().filter(|group| group.kind == "unknown");
    let unknown: u64 = unknown.map(|group| group.count).sum();
    if unknown > 0 {
        let note = format!(
            "{} of unknown kind: messages are missing, or match no collective of NCCL",
            counted(unknown, "collective")
        );
        writeln!(out, "{}", sentence::painted(Meaning::Aside, &note, options.width))?;
    }
    Ok(())
}

/// From the first data packet to the last.
pub(super) fn duration_ns(one: &CollectiveReport) -> u64 {
    u64::try_from(one.end_ns.saturating_sub(one.start_ns)).unwrap_or(0)
}

/// `all_reduce`; `all_reduce or 4 others` if its traffic fits several kinds.
fn kind(group: &CollectiveGroupReport) -> String {
    match group.alternatives.as_slice() {
        [] => group.kind.to_owned(),
        others => format!("{} or {}", group.kind, counted(others.len() as u64, "other")),
    }
}

/// `ring simple`, `? simple`; empty if neither is known.
pub(super) fn method(algorithm: &str, protocol: &str) -> String {
    let parts = [algorithm, protocol];
    if parts == ["unknown"; 2] {
        return String::new();
    }
    parts.map(|part| if part == "unknown" { "?" } else { part }).join(" ")
}

fn size(group: &CollectiveGroupReport) -> String {
    let Some(size) = group.bytes else { return "?".to_owned() };
    format!("{}{}", if group.estimated { "~" } else { "" }, bytes(size))
}

fn channels(group: &CollectiveGroupReport) -> String {
    let CollectiveGroupReport { min_channels, max_channels, .. } = group;
    if min_channels < max_channels {
        format!("{min_channels}-{max_channels}")
    } else {
        max_channels.to_string()
    }
}

fn rate(bytes_per_s: Option<u64>) -> String {
    bytes_per_s.map(byte_rate).unwrap_or_default()
}
