//! What stands out, in sentences: each kind of trouble with its sum and its worst flow.

use std::io::{self, Write};

use super::communicator_names::CommunicatorNames;
use super::connection::Connection;
use super::owner;
use super::quantity::{bit_rate, count, counted, duration, share};
use super::sentence;
use super::style::Meaning;
use crate::report::Report;

/// A kind of trouble: its sum over all flows, and where it is worst.
struct Trouble {
    meaning: Meaning,
    title: String,
    detail: String,
}

/// Writes what stands out; whether anything did.
pub(super) fn write(
    report: &Report,
    connections: &[Connection<'_>],
    names: CommunicatorNames,
    out: &mut impl Write,
) -> io::Result<bool> {
    let found = [
        fatal_naks(connections, names),
        loss(connections, names),
        reordering(connections, names),
        not_ready(connections, names),
        timeouts(connections, names),
        marks(connections, names),
        notifications(connections, names),
        pause(report),
        bad_icrc(report),
    ];
    let mut any = false;
    for Trouble { meaning, title, detail } in found.into_iter().flatten() {
        any = true;
        writeln!(out, "{}", sentence::bullet(meaning, &title))?;
        writeln!(out, "{}", sentence::aside(&detail))?;
    }
    Ok(any)
}

/// Sum over all flows, the flows concerned, and the worst of them.
fn worst<'a, 'r>(
    connections: &'a [Connection<'r>],
    of: impl Fn(&Connection<'r>) -> u64,
) -> Option<(u64, usize, &'a Connection<'r>)> {
    let (mut sum, mut flows, mut worst) = (0, 0, None);
    for connection in connections {
        let value = of(connection);
        if value > 0 {
            sum += value;
            flows += 1;
            if worst.is_none_or(|(most, _)| value > most) {
                worst = Some((value, connection));
            }
        }
    }
    worst.map(|(_, worst)| (sum, flows, worst))
}

fn fatal_naks(connections: &[Connection<'_>], names: CommunicatorNames) -> Option<Trouble> {
    let (naks, flows, worst) = worst(connections, Connection::fatal_naks)?;
    let reasons = worst.fatal_nak_reasons();
    let reason = reasons.iter().find(|(naks, _)| *naks > 0).map_or("", |(_, reason)| reason);
    Some(Trouble {
        meaning: Meaning::Bad,
        title: format!("refused: {} on {}: {reason}", counted(naks, "NAK"), flows_of(flows)),
        detail: format!("{}: the queue pair goes to its error state", name(worst, names)),
    })
}

fn loss(connections: &[Connection<'_>], names: CommunicatorNames) -> Option<Trouble> {
    // What comes of a receiver that was not ready, or of packets that were merely late, is told
    // apart.
    let is_of_loss = |connection: &Connection<'_>| {
        connection.lost() > 0 || (connection.rnr_naks() == 0 && connection.late() == 0)
    };
    let missing_or_resent = |connection: &Connection<'_>| {
        if is_of_loss(connection) { connection.resent().max(connection.missing()) } else { 0 }
    };
    let (_, flows, worst) = worst(connections, missing_or_resent)?;
    let of_loss = || connections.iter().filter(|connection| is_of_loss(connection));
    let missing: u64 = of_loss().map(Connection::missing).sum();
    let late: u64 = of_loss().map(Connection::late).sum();
    let resent = match of_loss().map(Connection::resent).sum() {
        0 => "none sent again".to_owned(),
        resent => {
            let packets = of_loss().map(|connection| connection.flow.frames).sum();
            format!("{} sent again ({})", counted(resent, "packet"), share(resent, packets))
        }
    };
    let flows = flows_of(flows);
    let title = match (missing, late) {
        (0, _) => format!("resends: {resent} on {flows}; no hole was seen"),
        (_, 0) => format!("loss: {} missing at first sight, {resent} on {flows}", count(missing)),
        _ => format!(
            "loss or reordering: {} missing at first sight, {resent} on {flows}",
            count(missing)
        ),
    };
    Some(Trouble {
        meaning: Meaning::Bad,
        title,
        detail: format!("worst {}{}", name(worst, names), recovery(worst)),
    })
}

/// `: 71 NAKs, 71 recoveries took 925 ms`, as far as there were any; else the packets.
fn recovery(connection: &Connection<'_>) -> String {
    let mut parts = Vec::new();
    if connection.sequence_naks() > 0 {
        parts.push(counted(connection.sequence_naks(), "NAK"));
    }
    let (recoveries, recovery_ns) = connection.episodes(&["nak"]);
    if recoveries > 0 {
        parts.push(format!("{} took {}", counted(recoveries, "recovery"), duration(recovery_ns)));
    }
    if parts.is_empty() && connection.resent() > 0 {
        parts.push(counted(connection.resent(), "packet"));
    }
    if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) }
}

fn reordering(connections: &[Connection<'_>], names: CommunicatorNames) -> Option<Trouble> {
    let (late, flows, worst) = worst(connections, Connection::late)?;
    Some(Trouble {
        meaning: Meaning::Odd,
        title: format!("reordering: {} overtaken on {}", counted(late, "packet"), flows_of(flows)),
        detail: format!(
            "worst {}: {}, {} sent again",
            name(worst, names),
            counted(worst.late(), "packet"),
            count(worst.resent())
        ),
    })
}

fn not_ready(connections: &[Connection<'_>], names: CommunicatorNames) -> Option<Trouble> {
    let (naks, flows, worst) = worst(connections, Connection::rnr_naks)?;
    let (waits, wait_ns) = worst.episodes(&["rnr"]);
    Some(Trouble {
        meaning: Meaning::Bad,
        title: format!(
            "receiver not ready: {} on {}: no receive buffer was posted",
            counted(naks, "RNR NAK"),
            flows_of(flows)
        ),
        detail: format!(
            "worst {}: {} sent again, {} took {}",
            name(worst, names),
            counted(worst.resent(), "packet"),
            counted(waits, "wait"),
            duration(wait_ns)
        ),
    })
}

fn timeouts(connections: &[Connection<'_>], names: CommunicatorNames) -> Option<Trouble> {
    let (timeouts, flows, worst) = worst(connections, Connection::timeouts)?;
    let (recoveries, recovery_ns) = worst.episodes(&["timeout"]);
    Some(Trouble {
        meaning: Meaning::Bad,
        title: format!(
            "timeouts: {} after silence on {}",
            counted(timeouts, "resend"),
            flows_of(flows)
        ),
        detail: format!(
            "worst {}: {} took {}",
            name(worst, names),
            counted(recoveries, "recovery"),
            duration(recovery_ns)
        ),
    })
}

fn marks(connections: &[Connection<'_>], names: CommunicatorNames) -> Option<Trouble> {
    let (marks, flows, worst) = worst(connections, Connection::ce)?;
    let cnps: u64 = connections.iter().map(Connection::cnps).sum();
    let answer = if cnps == 0 { "; no CNP answers them" } else { "" };
    let (marked, among) = worst.ce_among();
    Some(Trouble {
        meaning: Meaning::Odd,
        title: format!(
            "congestion: {} CE-marked by switches on {}{answer}",
            counted(marks, "packet"),
            flows_of(flows)
        ),
        detail: format!("worst {}: {} of its packets", name(worst, names), share(marked, among)),
    })
}

fn notifications(connections: &[Connection<'_>], names: CommunicatorNames) -> Option<Trouble> {
    let (cnps, flows, worst) = worst(connections, Connection::cnps)?;
    let reaction = worst.flow.cnp_reaction.as_ref().map_or_else(
        || "its rate around them could not be measured".to_owned(),
        |reaction| {
            format!(
                "{} before, {} after; slowed by {} of {}",
                bit_rate(reaction.mean_before_bps as f64),
                bit_rate(reaction.mean_after_bps as f64),
                count(reaction.slowed),
                count(reaction.samples)
            )
        },
    );
    Some(Trouble {
        meaning: Meaning::Odd,
        title: format!(
            "slowed down: {} to the senders of {}",
            counted(cnps, "CNP"),
            flows_of(flows)
        ),
        detail: format!("worst {}: {reaction}", name(worst, names)),
    })
}

fn pause(report: &Report) -> Option<Trouble> {
    let worst = report.pfc.iter().max_by_key(|pause| (pause.paused_ns, pause.pause_frames))?;
    let frames: u64 = report.pfc.iter().map(|pause| pause.pause_frames).sum();
    let storms: u64 = report.pfc.iter().filter_map(|pause| pause.storms).sum();
    if frames == 0 {
        return None;
    }
    let (meaning, storm) = match storms {
        0 => (Meaning::Odd, String::new()),
        storms => (Meaning::Bad, format!(", {}", counted(storms, "storm"))),
    };
    let length = worst.paused_ns.map_or_else(
        || "how long is unknown without a line rate (--line-rate 100G)".to_owned(),
        |paused| {
            format!(
                "{}, {} of the capture",
                duration(paused),
                share(paused, report.capture.duration_ns)
            )
        },
    );
    let ask = if frames == 1 { "asks" } else { "ask" };
    Some(Trouble {
        meaning,
        title: format!("pause: {} {ask} to stop{storm}", counted(frames, "frame")),
        detail: format!("worst {}: {length}", worst.station),
    })
}

fn bad_icrc(report: &Report) -> Option<Trouble> {
    let bad: u64 = report.flows.iter().map(|flow| flow.icrc.bad).sum();
    let checked: u64 = report.flows.iter().map(|flow| flow.icrc.checked).sum();
    (bad > 0).then(|| Trouble {
        meaning: Meaning::Odd,
        title: format!("ICRC wrong on {} of {}", count(bad), counted(checked, "whole frame")),
        detail: "frames captured where they are sent may not have their ICRC yet".to_owned(),
    })
}

/// `10.0.0.1 → 10.0.0.2 QP 0x1ae (ranks 1 → 2 ch0 data)`.
fn name(connection: &Connection<'_>, names: CommunicatorNames) -> String {
    let flow = connection.flow;
    let line = format!("{} → {} QP {:#x}", flow.src, flow.dst, flow.dest_qpn);
    match owner::name(flow, names).as_str() {
        "" => line,
        owner => format!("{line} (ranks {owner})"),
    }
}

fn flows_of(flows: usize) -> String {
    counted(flows as u64, "flow")
}
