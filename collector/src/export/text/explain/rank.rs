//! A rank: where it runs, its connections, its timing in collectives.

use std::cmp::Reverse;
use std::io::{self, Write};

use super::evidence;
use super::rank_facts::{ConnectionFlows, Participation, RankFacts};
use crate::export::text::TextOptions;
use crate::export::text::label;
use crate::export::text::quantity::{bytes, count, counted, offset};
use crate::export::text::rank_table::nics;
use crate::export::text::sentence;
use crate::export::text::style::Meaning;
use crate::export::text::table::{Column, render};
use railscope_core::report::collectives::CollectiveRankReport;
use railscope_core::report::communicators::ConnectionReport;
use railscope_core::report::flows::FlowReport;

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
    collectives(&facts.collectives, options, out)
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
    lines.push(match rank.nics.is_empty() {
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
    let most = |of: &dyn Fn(&FlowReport) -> u64| {
        column(&|one| match one.flows.iter().map(|flow| of(flow)).max() {
            None | Some(0) => String::new(),
            Some(value) => count(value),
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
        Column::numbers("MESSAGES", column(&|one| count(one.connection.messages))),
        Column::numbers("BYTES", column(&|one| bytes(one.connection.bytes))),
        Column::numbers("RETRANS", most(&|flow| flow.psn.retransmitted_packets.unwrap_or(0))),
        Column::numbers("MISSING", most(&|flow| flow.psn.gap_packets.unwrap_or(0))),
        Column::numbers("CE", most(&|flow| flow.ecn.ce.unwrap_or(0))),
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

/// When a rank did something, relative to the first data packet of each collective.
struct Timing {
    what: &'static str,
    /// Times in ns with their collective, the earliest first.
    after: Vec<(i64, u32)>,
}

impl Timing {
    fn new(
        what: &'static str,
        all: &[Participation<'_>],
        time: fn(&CollectiveRankReport) -> Option<i64>,
    ) -> Self {
        let after = all
            .iter()
            .filter_map(|one| Some((time(one.part)?.saturating_sub(one.start_ns), one.collective)));
        let mut after: Vec<(i64, u32)> = after.collect();
        after.sort_by_key(|(after, id)| (*after, Reverse(*id)));
        Self { what, after }
    }

    fn cell(&self, at: usize) -> String {
        self.after.get(at).map(|(after, _)| offset(*after)).unwrap_or_default()
    }
}

/// What it did when, relative to the first data packet of each collective.
fn collectives(
    all: &[Participation<'_>],
    options: &TextOptions,
    out: &mut impl Write,
) -> io::Result<()> {
    if all.is_empty() {
        return Ok(());
    }
    let timings = [
        Timing::new("first clear-to-send sent", all, |part| part.first_cts_ns),
        Timing::new("first data sent", all, |part| part.first_send_ns),
        Timing::new("last data received", all, |part| part.last_receive_ns),
    ];
    let column = |cell: &dyn Fn(&Timing) -> String| timings.iter().map(cell).collect();
    let last = |timing: &Timing| timing.after.len().saturating_sub(1);
    let latest = |timing: &Timing| timing.after.last().map(|(_, id)| id.to_string());
    let columns = vec![
        Column::words("TIMING", column(&|timing| timing.what.to_owned())),
        Column::numbers("COLLECTIVES", column(&|timing| count(timing.after.len() as u64))),
        Column::numbers("EARLIEST", column(&|timing| timing.cell(0))),
        Column::numbers("MEDIAN", column(&|timing| timing.cell(last(timing) / 2))),
        Column::numbers("LATEST", column(&|timing| timing.cell(last(timing)))),
        Column::numbers("LATEST IN", column(&|timing| latest(timing).unwrap_or_default())),
    ];
    writeln!(out, "\n{}", render(columns, options.width))?;
    let meaning = format!(
        "{}; times are relative to the first data packet of each, from any rank",
        counted(all.len() as u64, "collective")
    );
    writeln!(out, "{}", sentence::painted(Meaning::Aside, &meaning, options.width))
}
