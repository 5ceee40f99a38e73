//! A collective: kind, size, and the timing of each rank and connection.

use std::io::{self, Write};

use super::collective_facts::{CollectiveFacts, Lane};
use super::evidence;
use super::rank::name;
use crate::export::text::TextOptions;
use crate::export::text::collective_table::duration_ns;
use crate::export::text::label;
use crate::export::text::quantity::{byte_rate, bytes, count, counted, duration, moment, offset};
use crate::export::text::sentence;
use crate::export::text::style::Meaning;
use crate::export::text::table::{Column, render};
use railscope_core::report::collectives::{CollectiveReport, PartReport};
use railscope_core::report::waits::CollectiveRankReport;

/// Writes a collective.
pub(super) fn write(
    facts: &CollectiveFacts<'_>,
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let one = facts.collective;
    let title = format!("collective {}: {}", one.id, what(one));
    writeln!(out, "{}", sentence::painted(Meaning::Heading, &title, options.width))?;
    for line in lines(one) {
        writeln!(out, "{}", sentence::note(&line, options.width))?;
    }
    parts(one, options, out)?;
    ranks(one, options, out)?;
    lanes(facts, options, out)?;
    let meaning = "+ and - times are relative to its first data packet";
    writeln!(out, "{}", sentence::painted(Meaning::Aside, meaning, options.width))
}

/// Writes its evidence.
pub(super) fn write_reasons(
    facts: &CollectiveFacts<'_>,
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let one = facts.collective;
    evidence::write(&format!("Evidence ({})", one.grade), &one.evidence, options, out)
}

/// `all_reduce of 1.00 MiB, ring simple`.
fn what(one: &CollectiveReport) -> String {
    let about = if one.estimated { "about " } else { "" };
    let size = one.bytes.map(|size| format!(" of {about}{}", bytes(size))).unwrap_or_default();
    let method = [one.algorithm, one.protocol].into_iter().filter(|part| *part != "unknown");
    match method.collect::<Vec<_>>().join(" ").as_str() {
        "" => format!("{}{size}", one.kind),
        method => format!("{}{size}, {method}", one.kind),
    }
}

fn lines(one: &CollectiveReport) -> Vec<String> {
    let origin = match one.sequence_origin {
        "init" => "since the communicator was created",
        _ => "since the start of the capture",
    };
    let mut lines = vec![
        format!(
            "number {} of NCCL communicator {}, counted from 0 {origin}",
            count(one.sequence),
            label::name(&one.communicator)
        ),
        format!(
            "{} in {}, from {} to {}, {}",
            counted(one.messages, "message"),
            counted(u64::from(one.channels), "channel"),
            moment(one.start_ns),
            moment(one.end_ns),
            duration(duration_ns(one))
        ),
    ];
    if let Some(rate) = one.algbw_bytes_per_s {
        let bus = one.busbw_bytes_per_s.map(|rate| format!(", bus bandwidth {}", byte_rate(rate)));
        lines.push(format!("bandwidth {}{}", byte_rate(rate), bus.unwrap_or_default()));
    }
    if !one.alternatives.is_empty() {
        lines.push(format!(
            "its messages also fit {}: a longer capture or an NCCL log may decide",
            one.alternatives.join(", ")
        ));
    }
    if one.kind == "unknown" {
        lines.push("unknown kind: messages are missing, or match no collective of NCCL".to_owned());
    }
    if one.estimated {
        lines.push(
            "size estimated: the protocol rounds it, or part of it was not captured".to_owned(),
        );
    }
    lines
}

fn parts(one: &CollectiveReport, options: &TextOptions, out: &mut impl Write) -> io::Result<()> {
    if one.parts.len() < 2 {
        return Ok(());
    }
    let shown = &one.parts[..one.parts.len().min(options.top)];
    let column = |cell: &dyn Fn(&PartReport) -> String| shown.iter().map(cell).collect();
    let columns = vec![
        Column::words("PART", column(&|part| part.part.to_owned())),
        Column::numbers("LOOP", column(&|part| part.ring_loop.to_string())),
        Column::numbers("FROM", column(&|part| after(one, Some(part.start_ns)))),
        Column::numbers("TO", column(&|part| after(one, Some(part.end_ns)))),
    ];
    writeln!(out, "\n{}", render(columns, options.width))?;
    options.write_more(one.parts.len(), out)
}

fn ranks(one: &CollectiveReport, options: &TextOptions, out: &mut impl Write) -> io::Result<()> {
    if one.ranks.is_empty() {
        return Ok(());
    }
    let shown = &one.ranks[..one.ranks.len().min(options.top)];
    let column = |cell: &dyn Fn(&CollectiveRankReport) -> String| shown.iter().map(cell).collect();
    let columns = vec![
        Column::numbers("RANK", column(&|rank| rank.rank.to_string())),
        Column::numbers("FIRST CTS", column(&|rank| after(one, rank.first_cts_ns))),
        Column::numbers("FIRST SENT", column(&|rank| after(one, rank.first_send_ns))),
        Column::numbers("LAST RECEIVED", column(&|rank| after(one, rank.last_receive_ns))),
    ];
    writeln!(out, "\n{}", render(columns, options.width))?;
    options.write_more(one.ranks.len(), out)
}

fn lanes(
    facts: &CollectiveFacts<'_>,
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let all = &facts.lanes;
    if all.is_empty() {
        return Ok(());
    }
    let shown = &all[..all.len().min(options.top)];
    let column = |cell: &dyn Fn(&Lane<'_>) -> String| shown.iter().map(cell).collect();
    let first = |lane: &Lane<'_>| lane.transfers.iter().filter_map(|one| one.first_ns).min();
    let last = |lane: &Lane<'_>| lane.transfers.iter().filter_map(|one| one.last_ns).max();
    let marks = |lane: &Lane<'_>| -> u64 {
        lane.transfers.iter().map(|one| u64::from(one.ce_packets)).sum()
    };
    let queue_pair = |lane: &Lane<'_>| {
        let pair = lane.connection.and_then(|connection| connection.queue_pairs.first());
        pair.map(|pair| format!("{}/{:#x}", pair.dst, pair.dst_qpn)).unwrap_or_default()
    };
    let columns = vec![
        Column::words("CONNECTION", column(&|lane| lane.connection.map(name).unwrap_or_default())),
        Column::words("QUEUE PAIR", column(&queue_pair)),
        Column::numbers("MESSAGES", column(&|lane| count(lane.part.messages))),
        Column::numbers("FIRST MSG", column(&|lane| count(lane.part.first_message))).spare(1),
        Column::numbers("BYTES", column(&|lane| bytes(lane.part.bytes))),
        Column::numbers("FROM", column(&|lane| after(facts.collective, first(lane)))),
        Column::numbers("TO", column(&|lane| after(facts.collective, last(lane)))),
        Column::numbers(
            "CE",
            column(&|lane| match marks(lane) {
                0 => String::new(),
                marks => count(marks),
            }),
        ),
    ];
    writeln!(out, "\n{}", render(columns, options.width))?;
    options.write_more(all.len(), out)
}

/// A time relative to the collective's first data packet.
fn after(one: &CollectiveReport, time: Option<i64>) -> String {
    time.map(|time| offset(time.saturating_sub(one.start_ns))).unwrap_or_default()
}
