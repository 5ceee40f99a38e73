//! A queue pair: both ends, its owner, and the trouble of both directions.

use std::io::{self, Write};

use super::evidence;
use super::queue_pair_facts::{DirectedFlow, QueuePairFacts, Recovery};
use super::rank::name;
use crate::export::text::TextOptions;
use crate::export::text::label;
use crate::export::text::quantity::{bytes, count, duration, moment};
use crate::export::text::sentence;
use crate::export::text::style::Meaning;
use crate::export::text::table::{Column, render};
use railscope_core::report::flows::FlowReport;
use railscope_core::report::owner::OwnerReport;

/// Writes a queue pair.
pub(super) fn write(
    facts: &QueuePairFacts<'_>,
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let title = format!("queue pair {:#x} ({}) of {}", facts.qpn, facts.qpn, facts.address);
    writeln!(out, "{}", sentence::painted(Meaning::Heading, &title, options.width))?;
    for line in lines(facts) {
        writeln!(out, "{}", sentence::note(&line, options.width))?;
    }
    flows(facts, options, out)?;
    recoveries(facts, options, out)
}

/// Writes the evidence for its owner.
pub(super) fn write_reasons(
    facts: &QueuePairFacts<'_>,
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    if let Some((_, connection)) = facts.connection {
        let heading = format!("Evidence for {} ({})", name(connection), connection.grade);
        evidence::write(&heading, &connection.evidence, options, out)?;
    }
    Ok(())
}

fn lines(facts: &QueuePairFacts<'_>) -> Vec<String> {
    let mut lines = vec![match (facts.peer_address, facts.peer_qpn) {
        (Some(address), Some(qpn)) => format!("connected to {qpn:#x} ({qpn}) of {address}"),
        (Some(address), None) => {
            format!("connected to {address}, number unknown")
        }
        _ => "other end unknown".to_owned(),
    }];
    lines.extend(facts.process.map(|end| format!("process: {}", end.words())));
    lines
        .extend(facts.peer_process.map(|end| format!("process at the other end: {}", end.words())));
    lines.extend(pairing(facts));
    let owner = facts.flows.iter().find_map(|one| one.flow.owner.as_ref());
    lines.extend(whose(facts, owner));
    lines.extend(
        owner.and_then(|owner| owner.why_unknown.as_ref()).map(|why| format!("unknown: {why}")),
    );
    if facts.flows.is_empty() {
        lines.push("no packets captured: known from the queue pair exchange only".to_owned());
    }
    lines
}

/// Why the two directions belong together.
fn pairing(facts: &QueuePairFacts<'_>) -> Option<String> {
    let reverse = facts.flows.iter().find_map(|one| one.flow.reverse.as_ref())?;
    let how = match reverse.evidence {
        "cm" => "connection manager messages name both numbers",
        "psn_ack" => "ACKs carry the PSNs of the other direction",
        "udp_port" => {
            "both use the same UDP source port, as no other pair between these hosts does"
        }
        other => other,
    };
    Some(format!("directions matched: {how}"))
}

fn whose(facts: &QueuePairFacts<'_>, owner: Option<&OwnerReport>) -> Option<String> {
    let (communicator, connection) = facts.connection?;
    let incoming = facts.flows.iter().find(|one| one.is_incoming);
    let role = incoming.and_then(|one| one.flow.owner.as_ref()).and_then(|owner| owner.role);
    let role = match role {
        Some("data") => ": receives data, sends clear-to-sends",
        Some("control") => ": sends data, receives clear-to-sends",
        _ => "",
    };
    let grade = owner.map_or(connection.grade, |owner| owner.grade);
    let graph = connection.graph.map(|graph| format!(", {}", graph.replace('_', " ")));
    Some(format!(
        "ranks {}{} of NCCL communicator {} ({grade}){role}",
        name(connection),
        graph.unwrap_or_default(),
        label::name(communicator)
    ))
}

/// The flows, by direction and tap.
fn flows(
    facts: &QueuePairFacts<'_>,
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    if facts.flows.is_empty() {
        return Ok(());
    }
    let mut all = facts.flows.clone();
    all.sort_by_key(|one| (!one.is_incoming, one.flow.id));
    let shown = &all[..all.len().min(options.top)];
    let column = |cell: &dyn Fn(&DirectedFlow<'_>) -> String| shown.iter().map(cell).collect();
    let some = |of: &dyn Fn(&FlowReport) -> Option<u64>| {
        column(&|one| of(one.flow).filter(|value| *value > 0).map(count).unwrap_or_default())
    };
    let file = |one: &DirectedFlow<'_>| {
        let file = facts.files.get(one.flow.tap as usize).copied().unwrap_or_default();
        label::file(file, options.path_width())
    };
    let columns = vec![
        Column::words("", column(&|one| direction(one.is_incoming).to_owned())),
        Column::words("CAPTURE", column(&file)),
        Column::numbers("FRAMES", column(&|one| count(one.flow.frames))),
        Column::numbers("PAYLOAD", column(&|one| bytes(one.flow.payload_bytes))),
        Column::numbers("RETRANS", some(&|flow| flow.psn.retransmitted_packets)),
        Column::numbers("MISSING", some(&|flow| flow.psn.gap_packets)),
        Column::numbers("REORDERED", some(&|flow| flow.psn.out_of_order_packets)),
        Column::numbers("NAK", some(&|flow| Some(flow.naks.psn_sequence_error))),
        Column::numbers("RNR", some(&|flow| Some(flow.rnr_naks))),
        Column::numbers("CE", some(&|flow| flow.ecn.ce)),
        Column::numbers("CNP", some(&|flow| Some(flow.cnps))),
        Column::numbers(
            "RTT p50",
            column(&|one| {
                one.flow.ack_rtt_ns.as_ref().map(|rtt| duration(rtt.p50)).unwrap_or_default()
            }),
        )
        .spare(1),
    ];
    writeln!(out, "\n{}", render(columns, options.width))?;
    options.write_more(all.len(), out)?;
    messages(shown, options, out)
}

const fn direction(is_incoming: bool) -> &'static str {
    if is_incoming { "in" } else { "out" }
}

/// Kinds of messages per direction, and when.
fn messages(
    shown: &[DirectedFlow<'_>],
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut written = [false; 2];
    for one in shown {
        let is_written = &mut written[usize::from(one.is_incoming)];
        if std::mem::replace(is_written, true) {
            continue;
        }
        let flow = one.flow;
        let kinds = [
            (flow.messages.send, "SEND"),
            (flow.messages.write, "WRITE"),
            (flow.messages.write_with_immediate, "WRITE with immediate"),
            (flow.messages.read, "READ"),
            (flow.messages.atomic, "atomic"),
            (flow.acks, "ACK"),
        ];
        let kinds = kinds.iter().filter(|(number, _)| *number > 0);
        let kinds: Vec<String> =
            kinds.map(|(number, kind)| format!("{} {kind}", count(*number))).collect();
        let line = format!(
            "{}: {}, {} to {}",
            direction(one.is_incoming),
            if kinds.is_empty() { "no complete message".to_owned() } else { kinds.join(", ") },
            moment(flow.first_ns),
            moment(flow.last_ns)
        );
        writeln!(out, "{}", sentence::note(&line, options.width))?;
    }
    Ok(())
}

/// The recoveries of both directions, the longest first.
fn recoveries(
    facts: &QueuePairFacts<'_>,
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    if facts.recoveries.is_empty() {
        return Ok(());
    }
    let number = facts.recoveries.len();
    let shown = &facts.recoveries[..number.min(options.top)];
    let column = |cell: &dyn Fn(&Recovery<'_>) -> String| shown.iter().map(cell).collect();
    let columns = vec![
        Column::words("RECOVERY", column(&|one| direction(one.is_incoming).to_owned())),
        Column::words("TRIGGER", column(&|one| trigger(one.episode.trigger).to_owned())),
        Column::numbers("START", column(&|one| moment(one.episode.start_ns))),
        Column::numbers("TIME", column(&|one| duration(one.episode.recovery_ns))),
        Column::numbers("RETRANS", column(&|one| count(one.episode.resent_packets))),
        Column::numbers("TAP", column(&|one| one.tap.to_string())),
    ];
    writeln!(out, "\n{}", render(columns, options.width))?;
    options.write_more(number, out)
}

fn trigger(name: &str) -> &str {
    match name {
        "nak" => "NAK",
        "rnr" => "RNR",
        other => other,
    }
}
