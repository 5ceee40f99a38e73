//! What stands out, in sentences: each kind of trouble with its sum and its worst flow.

use std::io::{self, Write};

use super::connection::Connection;
use super::quantity::{bit_rate, count, counted, duration, share};
use super::style::{Meaning, paint};
use crate::report::Report;

/// A kind of trouble: its sum over all flows, and where it is worst.
struct Trouble {
    meaning: Meaning,
    title: String,
    detail: String,
}

/// Writes what stands out, or that nothing does.
pub(super) fn write(
    report: &Report,
    connections: &[Connection<'_>],
    out: &mut impl Write,
) -> io::Result<()> {
    writeln!(out)?;
    let found = [
        fatal_naks(connections),
        loss(connections),
        reordering(connections),
        not_ready(connections),
        timeouts(connections),
        marks(connections),
        notifications(connections),
        pause(report),
        bad_icrc(report),
    ];
    let mut any = false;
    for trouble in found.into_iter().flatten() {
        any = true;
        let Trouble { meaning, title, detail } = trouble;
        writeln!(out, "{} {title}", paint(meaning, "●"))?;
        writeln!(out, "  {}", paint(Meaning::Aside, detail))?;
    }
    if !any && report.capture.roce_frames > 0 {
        let text = "Nothing stands out: no loss, resend, reordering, NAK, CE mark, CNP or pause.";
        writeln!(out, "{} {text}", paint(Meaning::Good, "●"))?;
    } else if report.capture.roce_frames == 0 {
        writeln!(out, "{} No RoCEv2 in this capture.", paint(Meaning::Odd, "●"))?;
        let why = "RDMA by a NIC bypasses the kernel: tcpdump on its netdev sees none of it. Capture \
                   on a mirror\n  port, or with tcpdump on the RDMA device (mlx5_0).";
        writeln!(out, "  {}", paint(Meaning::Aside, why))?;
    }
    Ok(())
}

/// Sum over all flows, the flows concerned, and the worst of them.
fn worst<'a, 'r>(
    connections: &'a [Connection<'r>],
    of: impl Fn(&Connection<'r>) -> u64,
) -> Option<(u64, usize, &'a Connection<'r>)> {
    let concerned = connections.iter().filter(|connection| of(connection) > 0);
    let worst = concerned.clone().max_by_key(|connection| of(connection))?;
    Some((concerned.clone().map(&of).sum(), concerned.count(), worst))
}

fn fatal_naks(connections: &[Connection<'_>]) -> Option<Trouble> {
    let (naks, flows, worst) = worst(connections, Connection::fatal_naks)?;
    let back = &worst.back?.naks;
    let reasons = [
        (back.remote_access_error, "remote access error (bad R_Key, address or permission)"),
        (back.invalid_request, "invalid request"),
        (back.remote_operational_error, "remote operational error"),
        (back.invalid_rd_request, "invalid RD request"),
        (back.reserved, "reserved syndrome"),
    ];
    let reason = reasons.iter().find(|(count, _)| *count > 0).map_or("", |(_, reason)| reason);
    Some(Trouble {
        meaning: Meaning::Bad,
        title: format!("refused: {} on {}: {reason}", counted(naks, "NAK"), flows_of(flows)),
        detail: format!("{}: the queue pair goes to its error state", name(worst)),
    })
}

fn loss(connections: &[Connection<'_>]) -> Option<Trouble> {
    let missing_or_resent = |connection: &Connection<'_>| {
        if connection.rnr_naks() > 0 { 0 } else { connection.resent().max(connection.gaps()) }
    };
    let (_, flows, worst) = worst(connections, missing_or_resent)?;
    let gaps = connections.iter().map(Connection::gaps).sum();
    let resent = connections.iter().map(Connection::resent).sum();
    let packets = connections.iter().map(|connection| connection.flow.frames).sum();
    let (recoveries, recovery_ns) = worst.episodes("nak");
    Some(Trouble {
        meaning: Meaning::Bad,
        title: format!(
            "loss or reordering: {} missing at first sight, {} sent again ({}) on {}",
            count(gaps),
            count(resent),
            share(resent, packets),
            flows_of(flows)
        ),
        detail: format!(
            "worst {}: {}, {} resends took {}",
            name(worst),
            counted(worst.sequence_naks(), "NAK"),
            count(recoveries),
            duration(recovery_ns)
        ),
    })
}

fn reordering(connections: &[Connection<'_>]) -> Option<Trouble> {
    let (late, flows, worst) = worst(connections, Connection::late)?;
    Some(Trouble {
        meaning: Meaning::Odd,
        title: format!("reordering: {} packets overtaken on {}", count(late), flows_of(flows)),
        detail: format!("worst {}: {} packets", name(worst), count(worst.late())),
    })
}

fn not_ready(connections: &[Connection<'_>]) -> Option<Trouble> {
    let (naks, flows, worst) = worst(connections, Connection::rnr_naks)?;
    let (recoveries, recovery_ns) = worst.episodes("rnr");
    Some(Trouble {
        meaning: Meaning::Bad,
        title: format!(
            "receiver not ready: {} on {}: no receive buffer was posted",
            counted(naks, "RNR NAK"),
            flows_of(flows)
        ),
        detail: format!(
            "worst {}: {} sent again, {} waits took {}",
            name(worst),
            count(worst.resent()),
            count(recoveries),
            duration(recovery_ns)
        ),
    })
}

fn timeouts(connections: &[Connection<'_>]) -> Option<Trouble> {
    let (timeouts, flows, worst) =
        worst(connections, |connection| connection.episodes("timeout").0)?;
    let (_, recovery_ns) = worst.episodes("timeout");
    Some(Trouble {
        meaning: Meaning::Bad,
        title: format!(
            "timeouts: {} after silence on {}",
            counted(timeouts, "resend"),
            flows_of(flows)
        ),
        detail: format!("worst {}: recoveries took {}", name(worst), duration(recovery_ns)),
    })
}

fn marks(connections: &[Connection<'_>]) -> Option<Trouble> {
    let (marks, flows, worst) = worst(connections, Connection::ce)?;
    let cnps: u64 = connections.iter().map(Connection::cnps).sum();
    let answer = if cnps == 0 { "; no CNP answers them" } else { "" };
    Some(Trouble {
        meaning: Meaning::Odd,
        title: format!(
            "congestion: {} packets CE-marked by switches on {}{answer}",
            count(marks),
            flows_of(flows)
        ),
        detail: format!(
            "worst {}: {} of its packets",
            name(worst),
            share(worst.ce(), worst.flow.frames)
        ),
    })
}

fn notifications(connections: &[Connection<'_>]) -> Option<Trouble> {
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
        detail: format!("worst {}: {reaction}", name(worst)),
    })
}

fn pause(report: &Report) -> Option<Trouble> {
    let worst = report.pfc.iter().max_by_key(|pause| (pause.paused_ns, pause.pause_frames))?;
    let frames = report.pfc.iter().map(|pause| pause.pause_frames).sum();
    let storms: u64 = report.pfc.iter().filter_map(|pause| pause.storms).sum();
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
    Some(Trouble {
        meaning,
        title: format!("pause: {} frames ask to stop{storm}", count(frames)),
        detail: format!("worst {}: {length}", worst.station),
    })
}

fn bad_icrc(report: &Report) -> Option<Trouble> {
    let bad: u64 = report.flows.iter().map(|flow| flow.icrc.bad).sum();
    let checked: u64 = report.flows.iter().map(|flow| flow.icrc.checked).sum();
    (bad > 0).then(|| Trouble {
        meaning: Meaning::Odd,
        title: format!("ICRC wrong on {} of {} whole frames", count(bad), count(checked)),
        detail: "frames captured where they are sent may not have their ICRC yet".to_owned(),
    })
}

fn name(connection: &Connection<'_>) -> String {
    let flow = connection.flow;
    format!("{} → {} QP {:#x}", flow.src, flow.dst, flow.dest_qpn)
}

fn flows_of(flows: usize) -> String {
    counted(flows as u64, "flow")
}
