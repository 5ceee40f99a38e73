//! A training step: duration, traffic, trouble, each of its collectives, and why a rank was late.

use std::io::{self, Write};

use super::evidence;
use super::iteration_facts::IterationFacts;
use crate::export::text::TextOptions;
use crate::export::text::collective_table::{duration_ns, method};
use crate::export::text::iteration_story;
use crate::export::text::job_iterations::name;
use crate::export::text::label;
use crate::export::text::quantity::{bit_rate, bytes, counted, duration, moment, offset, percent};
use crate::export::text::sentence;
use crate::export::text::style::Meaning;
use crate::export::text::table::{Column, render};
use railscope_core::report::collectives::CollectiveReport;

/// Writes a training step.
pub(super) fn write(
    facts: &IterationFacts<'_>,
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let one = facts.iteration;
    let of =
        one.communicator.as_deref().map(|id| format!(" of NCCL communicator {}", label::name(id)));
    let title = format!("training step {}{}", name(one), of.unwrap_or_default());
    writeln!(out, "{}", sentence::painted(Meaning::Heading, &title, options.width))?;
    for line in lines(facts) {
        writeln!(out, "{}", sentence::note(&line, options.width))?;
    }
    collectives(facts, options, out)?;
    if let Some(late) = &facts.iteration.straggler {
        let heading = format!("Why rank {} ({})", late.rank, late.grade);
        evidence::write(&heading, &late.evidence, options, out)?;
    }
    Ok(())
}

fn lines(facts: &IterationFacts<'_>) -> Vec<String> {
    let one = facts.iteration;
    let mut lines = vec![format!(
        "from {} to {}, {}{}",
        moment(one.start_ns),
        moment(one.end_ns),
        duration(one.length_ns()),
        compared(facts)
    )];
    lines.push(format!(
        "{} communicating (a collective in flight), {} idle",
        duration(one.communication_ns),
        duration(one.idle_ns)
    ));
    let peak = one
        .peak_bps
        .map(|bps| format!(", at most {} through one port in 1 ms", bit_rate(bps as f64)));
    lines.push(match one.bytes {
        Some(sent) => format!("{} on the wire{}", bytes(sent), peak.unwrap_or_default()),
        None => "bytes unknown: messages are missing".to_owned(),
    });
    let marked = match (one.ce_packets, one.ce_share) {
        (Some(0), _) => "no CE marks".to_owned(),
        (Some(marks), share) => format!(
            "{}{}",
            counted(marks, "CE mark"),
            share.map(|share| format!(" ({})", percent(share))).unwrap_or_default()
        ),
        (None, _) => "CE marks unknown: captured at the senders".to_owned(),
    };
    let counted_or = |value: Option<u64>, noun: &str| match value {
        Some(value) => counted(value, noun),
        None => format!("{noun}s unknown"),
    };
    let paused = match one.paused_ns {
        Some(nanos) => format!("ports paused for {}", duration(nanos)),
        None => "pause not captured".to_owned(),
    };
    lines.push(format!(
        "{marked}, {}, {}, {paused}",
        counted_or(one.cnps, "CNP"),
        counted_or(one.retransmitted_packets, "retransmission"),
    ));
    lines.push(match &one.straggler {
        Some(late) => iteration_story::straggler(late),
        None => "no rank stands out as a straggler".to_owned(),
    });
    lines.extend(iteration_story::without(one));
    if !one.complete {
        lines.push(
            "incomplete: the capture begins or ends in it, or messages are missing".to_owned(),
        );
    }
    lines
}

/// `, 68.0 ms longer than the median`.
fn compared(facts: &IterationFacts<'_>) -> String {
    let Some(median) = facts.median_ns else { return String::new() };
    let length = facts.iteration.length_ns();
    let (difference, word) = match length.checked_sub(median) {
        Some(longer) => (longer, "longer"),
        None => (median - length, "shorter"),
    };
    format!(", {} {word} than the median", duration(difference))
}

fn collectives(
    facts: &IterationFacts<'_>,
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let all = &facts.collectives;
    if all.is_empty() {
        return Ok(());
    }
    let shown = &all[..all.len().min(options.top)];
    let column =
        |cell: &dyn Fn(&CollectiveReport) -> String| shown.iter().map(|one| cell(one)).collect();
    let start = facts.iteration.start_ns;
    let late = |one: &CollectiveReport| {
        let late = one.straggler.as_ref();
        late.map(|late| format!("rank {} {}", late.rank, duration(late.lag_ns))).unwrap_or_default()
    };
    let columns = vec![
        Column::numbers("COLLECTIVE", column(&|one| one.id.to_string())),
        Column::words("KIND", column(&|one| one.kind.to_owned())),
        Column::words("ALGO PROTO", column(&|one| method(one.algorithm, one.protocol))).spare(2),
        Column::numbers("SIZE", column(&|one| one.bytes.map_or_else(|| "?".to_owned(), bytes))),
        Column::numbers("FROM", column(&|one| offset(one.start_ns.saturating_sub(start)))),
        Column::numbers("TO", column(&|one| offset(one.end_ns.saturating_sub(start)))).spare(1),
        Column::numbers("TIME", column(&|one| duration(duration_ns(one)))),
        Column::words("STRAGGLER", column(&late)),
        Column::words(
            "CAUSE",
            column(&|one| one.straggler.as_ref().map_or("", |late| late.cause.name()).to_owned()),
        ),
    ];
    writeln!(out, "\n{}", render(columns, options.width))?;
    options.write_more(all.len(), out)?;
    let meaning = "+ and - times are relative to its first data packet; details: railscope explain --collective N";
    writeln!(out, "{}", sentence::painted(Meaning::Aside, meaning, options.width))
}
