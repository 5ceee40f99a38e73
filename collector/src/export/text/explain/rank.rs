//! A rank: where it runs, its connections, its timing in collectives.

use std::io::{self, Write};

use super::evidence;
use super::rank_facts::{ConnectionFlows, RankFacts, Timing};
use crate::export::text::TextOptions;
use crate::export::text::label;
use crate::export::text::quantity::{bytes, count, counted, offset};
use crate::export::text::rank_table::nics;
use crate::export::text::sentence;
use crate::export::text::style::Meaning;
use crate::export::text::table::{Column, render};
use railscope_core::report::communicators::ConnectionReport;
use railscope_core::report::queue_pairs::QueuePairReport;

/// Writes a rank.
pub(super) fn write(
    facts: &RankFacts<'_>,
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let rank = facts.rank;
    let title =
        format!("rank {} of NCCL communicator {}", rank.rank, label::name(facts.communicator));
    writeln!(out, "{}", sentence::painted(Meaning::Heading, &title, options.width))?;
    for line in lines(facts, options) {
        writeln!(out, "{}", sentence::note(&line, options.width))?;
    }
    connections("TO", &facts.sends, |one| one.receiver, options, out)?;
    connections("FROM", &facts.receives, |one| one.sender, options, out)?;
    collectives(facts, options, out)
}

/// Writes the evidence for the rank and its connections.
pub(super) fn write_reasons(
    facts: &RankFacts<'_>,
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    let rank = facts.rank;
    evidence::write(
        &format!("Evidence for rank {} ({})", rank.rank, rank.grade),
        &rank.evidence,
        options,
        out,
    )?;
    for one in facts.sends.iter().chain(&facts.receives).take(options.top) {
        let connection = one.connection;
        let heading = format!("Evidence for {} ({})", name(connection), connection.grade);
        evidence::write(&heading, &connection.evidence, options, out)?;
    }
    Ok(())
}

fn lines(facts: &RankFacts<'_>, options: &TextOptions) -> Vec<String> {
    let rank = facts.rank;
    let mut lines = Vec::new();
    if let Some(nranks) = facts.nranks {
        let release = facts.nccl_version.map(|version| format!(", NCCL {version}"));
        let of = counted(u64::from(nranks), "rank");
        lines.push(format!("communicator of {of}{}", release.unwrap_or_default()));
    }
    let mut place = Vec::new();
    place.extend(rank.pid.map(|pid| format!("process {pid}")));
    place.extend(rank.host.as_deref().map(|host| format!("host {}", label::name(host))));
    place.extend(rank.address.as_ref().map(|address| format!("address {address}")));
    place.extend(rank.bus_id.as_ref().map(|gpu| format!("GPU {gpu}")));
    lines.push(match place.is_empty() {
        true => "process, host and GPU unknown: they are in the bootstrap and in logs".to_owned(),
        false => place.join(", "),
    });
    let is_on_tcp = facts.sends.iter().any(|one| one.connection.socket.is_some());
    lines.push(match rank.nics.is_empty() {
        true if is_on_tcp => "data over TCP (NET/Socket)".to_owned(),
        true => "NICs unknown: no queue pair exchange and no data captured".to_owned(),
        false => format!("data through {}", nics(&rank.nics, options)),
    });
    lines
}

/// `0 → 1 ch0`.
pub(super) fn name(connection: &ConnectionReport) -> String {
    let rank = |rank: Option<u32>| rank.map_or_else(|| "?".to_owned(), |rank| rank.to_string());
    let channel = connection.channel.map(|channel| format!(" ch{channel}")).unwrap_or_default();
    format!("{} → {}{channel}", rank(connection.sender), rank(connection.receiver))
}

/// The connections of one direction, with the trouble of their flows.
fn connections(
    heading: &'static str,
    all: &[ConnectionFlows<'_>],
    peer: impl Fn(&ConnectionReport) -> Option<u32>,
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    if all.is_empty() {
        return Ok(());
    }
    let shown = &all[..all.len().min(options.top)];
    let column = |cell: &dyn Fn(&ConnectionFlows<'_>) -> String| shown.iter().map(cell).collect();
    let sum = |of: &dyn Fn(&QueuePairReport) -> u64| {
        column(&|one| match one.queue_pairs.iter().map(|pair| of(pair)).sum() {
            0 => String::new(),
            value => count(value),
        })
    };
    // Logs alone name connections, but not what they carried.
    let carried = |of: &dyn Fn(&ConnectionReport) -> String| {
        column(&|one| match (one.connection.messages, one.flows.is_empty()) {
            (0, true) => String::new(),
            _ => of(one.connection),
        })
    };
    let columns = vec![
        Column::words(
            heading,
            column(&|one| {
                peer(one.connection).map_or_else(|| "?".to_owned(), |peer| format!("rank {peer}"))
            }),
        ),
        Column::numbers(
            "CHANNEL",
            column(&|one| {
                one.connection.channel.map(|channel| channel.to_string()).unwrap_or_default()
            }),
        ),
        Column::words(
            "GRAPH",
            column(&|one| one.connection.graph.unwrap_or_default().replace('_', " ")),
        ),
        Column::words("QUEUE PAIRS", column(&|one| queue_pairs(one.connection))),
        Column::numbers("MESSAGES", carried(&|one| count(one.messages))),
        Column::numbers("BYTES", carried(&|one| bytes(one.bytes))),
        Column::numbers("RETRANS", sum(&|pair| pair.retransmitted_packets)),
        Column::numbers("MISSING", sum(&|pair| pair.missing_packets)),
        Column::numbers("CE", sum(&|pair| pair.ce_packets.unwrap_or(0))),
    ];
    writeln!(out, "\n{}", render(columns, options.width))?;
    options.write_more(all.len(), out)
}

/// `10.0.0.1/0x7f → 10.0.0.2/0x108`, the first one.
fn queue_pairs(connection: &ConnectionReport) -> String {
    let Some(first) = connection.queue_pairs.first() else { return String::new() };
    let source = first.src_qpn.map(|qpn| format!("/{qpn:#x}")).unwrap_or_default();
    let more = match connection.queue_pairs.len() - 1 {
        0 => String::new(),
        more => format!(" +{more}"),
    };
    format!("{}{source} → {}/{:#x}{more}", first.src, first.dst, first.dst_qpn)
}

/// What it did when, relative to the first data packet of each collective.
fn collectives(
    facts: &RankFacts<'_>,
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    if facts.collectives.is_empty() {
        return Ok(());
    }
    let column = |cell: &dyn Fn(&Timing) -> String| facts.timings.iter().map(cell).collect();
    let time = |ns: Option<i64>| ns.map(offset).unwrap_or_default();
    let latest_in = |timing: &Timing| timing.latest_in.map(|id| id.to_string());
    let columns = vec![
        Column::words("TIMING", column(&|timing| what(timing).to_owned())),
        Column::numbers("COLLECTIVES", column(&|timing| count(timing.collectives as u64))),
        Column::numbers("EARLIEST", column(&|timing| time(timing.earliest_ns))),
        Column::numbers("MEDIAN", column(&|timing| time(timing.median_ns))),
        Column::numbers("LATEST", column(&|timing| time(timing.latest_ns))),
        Column::numbers("LATEST IN", column(&|timing| latest_in(timing).unwrap_or_default())),
    ];
    writeln!(out, "\n{}", render(columns, options.width))?;
    let meaning = format!(
        "{}; times are relative to the first data packet of each, from any rank",
        counted(facts.collectives.len() as u64, "collective")
    );
    writeln!(out, "{}", sentence::painted(Meaning::Aside, &meaning, options.width))
}

fn what(timing: &Timing) -> &'static str {
    match timing.what {
        "first_cts" => "first clear-to-send sent",
        "first_send" => "first data sent",
        _ => "last data received",
    }
}
