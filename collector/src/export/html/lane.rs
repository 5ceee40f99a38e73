//! A lane: how much of something was seen when, or why that is unknown.

use std::collections::{BTreeMap, BTreeSet};

use super::page::Page;
use crate::export::text::label;
use crate::export::text::quantity::{count, counted, duration};
use railscope_core::report::counters::{CounterReport, CounterValueReport, RiseReport};
use railscope_core::report::pfc::PfcReport;

/// Stations with a lane of their own.
const STATIONS: usize = 6;

/// A part of a lane: from, to, how much.
pub(super) type Piece = (i64, i64, u64);

/// A lane.
pub(super) struct Lane {
    pub(super) name: String,
    /// The total, or why there is nothing to draw.
    pub(super) text: String,
    pub(super) pieces: Vec<Piece>,
    /// How an amount is written.
    pub(super) shape: fn(u64) -> String,
    pub(super) class: &'static str,
}

/// CE marks, placed evenly in the collectives whose packets had them.
pub(super) fn marks(page: &Page<'_>) -> Lane {
    let pairs = &page.queue_pairs;
    let checked: u64 =
        pairs.iter().filter(|one| one.ce_packets.is_some()).map(|one| one.ce_among_packets).sum();
    let known: Vec<u64> = pairs.iter().filter_map(|one| one.ce_packets).collect();
    let total: u64 = known.iter().sum();
    let pieces = page.report.collectives.iter().filter_map(|one| {
        let marked: u64 = one.ranks.iter().filter_map(|rank| rank.ce_packets).sum();
        (marked > 0).then_some((one.start_ns, one.end_ns, marked))
    });
    let pieces: Vec<Piece> = if total > 0 { pieces.collect() } else { Vec::new() };
    let text = match total {
        _ if known.is_empty() => {
            "not visible: captured only at the sender, before any switch".to_owned()
        }
        0 => "none".to_owned(),
        _ if pieces.is_empty() => format!(
            "{} of {} packets; no collective to place them in",
            count(total),
            count(checked)
        ),
        _ => format!("{} of {} packets", count(total), count(checked)),
    };
    Lane {
        name: "CE marks".to_owned(),
        text,
        pieces,
        shape: |n| counted(n, "CE mark"),
        class: "congestion",
    }
}

/// CNPs: from packets, else as NICs count those that they send.
pub(super) fn cnps(page: &Page<'_>) -> Lane {
    let total: u64 = page.queue_pairs.iter().map(|one| one.cnps).sum();
    let pieces = signals(page, &["cnp"]);
    let counted_pieces = rises(page, &["cnp_sent"]);
    let is_visible = page.report.iterations.iter().any(|one| one.cnps.is_some());
    let name = "CNPs".to_owned();
    let (text, pieces) = match total {
        0 if !counted_pieces.is_empty() => {
            let sum: u64 = counted_pieces.iter().map(|piece| piece.2).sum();
            (format!("{} sent, as NICs count them", count(sum)), counted_pieces)
        }
        0 if !is_visible && !page.report.iterations.is_empty() => (
            "unknown: no tap sees the way back to all senders, and NICs do not count them"
                .to_owned(),
            pieces,
        ),
        0 => ("none".to_owned(), pieces),
        _ if pieces.is_empty() => {
            (format!("{}; no NCCL ranks to place them", count(total)), pieces)
        }
        _ => (count(total), pieces),
    };
    Lane { name, text, pieces, shape: |n| counted(n, "CNP"), class: "congestion" }
}

/// NAKs, those for a receiver that is not ready included.
pub(super) fn naks(page: &Page<'_>) -> Lane {
    let of = |one: &&railscope_core::report::queue_pairs::QueuePairReport| {
        one.naks.psn_sequence_error + one.fatal_naks() + one.rnr_naks
    };
    let total: u64 = page.queue_pairs.iter().map(of).sum();
    let pieces = signals(page, &["nak", "rnr_nak"]);
    let text = match total {
        0 => "none".to_owned(),
        _ if pieces.is_empty() => format!("{}; no NCCL ranks to place them", count(total)),
        _ => count(total),
    };
    Lane { name: "NAKs".to_owned(), text, pieces, shape: |n| counted(n, "NAK"), class: "loss" }
}

/// Packets that were sent again, over the time of their recoveries.
pub(super) fn retransmissions(page: &Page<'_>) -> Lane {
    let total: u64 = page.queue_pairs.iter().map(|one| one.retransmitted_packets).sum();
    let flows = page.queue_pairs.iter().filter_map(|one| page.report.flow(one.recovery_flow?));
    let pieces = flows.flat_map(|flow| &flow.episodes).map(|one| {
        let length = i64::try_from(one.recovery_ns).unwrap_or(i64::MAX);
        (one.start_ns, one.start_ns.saturating_add(length), one.resent_packets)
    });
    let pieces: Vec<Piece> = pieces.filter(|piece| piece.2 > 0).collect();
    let text = if total == 0 { "none".to_owned() } else { counted(total, "packet") };
    let name = "Retransmissions".to_owned();
    Lane { name, text, pieces, shape: |n| counted(n, "retransmission"), class: "loss" }
}

/// Pause, one lane for each station that asked for it, the longest first.
pub(super) fn pauses(page: &Page<'_>) -> Vec<Lane> {
    let report = page.report;
    let mut of_frames: Vec<&PfcReport> =
        report.pfc.iter().filter(|one| one.source == "frames").collect();
    of_frames.sort_by_key(|one| std::cmp::Reverse((one.paused_ns, one.pause_frames)));
    // Several taps may have captured the same frames.
    let mut known = BTreeSet::new();
    of_frames.retain(|one| known.insert((&one.station, one.priority)));
    if !of_frames.is_empty() {
        return of_frames.into_iter().take(STATIONS).map(of_station).collect();
    }
    let nics = report.counters.iter().filter_map(of_nic).take(STATIONS);
    let nics: Vec<Lane> = nics.collect();
    if !nics.is_empty() {
        return nics;
    }
    let is_counted = |nic: &CounterReport| nic.counters.values().any(is_pause);
    let counting = report.counters.iter().filter(|nic| is_counted(nic)).count();
    let text = match counting {
        0 => "unknown: no pause frames captured (most mirrors drop them) and no NIC counters (--counters)"
            .to_owned(),
        _ => format!("none, by the counters of {}", counted(counting as u64, "NIC")),
    };
    vec![pause("Pause".to_owned(), text, Vec::new())]
}

fn pause(name: String, text: String, pieces: Vec<Piece>) -> Lane {
    Lane { name, text, pieces, shape: |ns| format!("paused for {}", duration(ns)), class: "pause" }
}

fn of_station(one: &PfcReport) -> Lane {
    let priority = one.priority.map(|priority| format!(", priority {priority}"));
    let name = format!("Pause by {}{}", label::name(&one.station), priority.unwrap_or_default());
    let pieces = one.pauses.iter().flatten().map(|pause| {
        let length = u64::try_from(pause.end_ns.saturating_sub(pause.start_ns)).unwrap_or(0);
        (pause.start_ns, pause.end_ns, length)
    });
    let frames = counted(one.pause_frames, "frame");
    let text = match one.paused_ns {
        Some(ns) => format!("{} by {frames}", duration(ns)),
        None => format!("{frames}; for how long needs the line rate (--line-rate)"),
    };
    pause(name, text, pieces.collect())
}

fn is_pause(counter: &CounterValueReport) -> bool {
    counter.measure.is_some_and(|measure| measure.starts_with("pause_received"))
}

/// Pause that a NIC counted; `None` if it counted none.
fn of_nic(nic: &CounterReport) -> Option<Lane> {
    let counters = nic.counters.values().filter(|one| one.is_counted);
    let times = counters.filter(|one| one.measure == Some("pause_received_ns"));
    let pieces: Vec<Piece> =
        times.filter_map(|one| one.rises.as_deref()).flatten().map(piece).collect();
    let total: u64 = pieces.iter().map(|piece| piece.2).sum();
    let names = [nic.device.as_deref(), nic.host.as_deref()];
    let names: Vec<String> = names.into_iter().flatten().map(label::name).collect();
    let name = format!("Pause of {}", names.join(" of "));
    (total > 0).then(|| pause(name, format!("{}, by its counters", duration(total)), pieces))
}

fn piece(rise: &RiseReport) -> Piece {
    (rise.start_ns, rise.end_ns, rise.amount)
}

/// Rises of these measures on all NICs.
fn rises(page: &Page<'_>, measures: &[&str]) -> Vec<Piece> {
    let counters = page.report.counters.iter().flat_map(|nic| nic.counters.values());
    let wanted = counters
        .filter(|one| one.is_counted && one.measure.is_some_and(|name| measures.contains(&name)));
    wanted.filter_map(|one| one.rises.as_deref()).flatten().map(piece).collect()
}

/// Signals of these kinds, each once: of several taps' views of a flow, the one with most counts.
fn signals(page: &Page<'_>, kinds: &[&str]) -> Vec<Piece> {
    let all = page.report.signals.iter().flatten().filter(|one| kinds.contains(&one.signal));
    let mut by_flow: BTreeMap<u32, Vec<i64>> = BTreeMap::new();
    for signal in all {
        by_flow.entry(signal.flow).or_default().push(signal.time_ns);
    }
    let mut best: BTreeMap<(&str, &str, u32, u32), u32> = BTreeMap::new();
    for (id, times) in &by_flow {
        let Some(flow) = page.report.flow(*id) else { continue };
        let name = (flow.src.as_str(), flow.dst.as_str(), flow.dest_qpn, flow.epoch);
        let known = best.entry(name).or_insert(*id);
        if by_flow.get(known).is_some_and(|other| other.len() < times.len()) {
            *known = *id;
        }
    }
    let best: BTreeSet<u32> = best.into_values().collect();
    let kept = by_flow.into_iter().filter(|(id, _)| best.contains(id));
    kept.flat_map(|(_, times)| times).map(|at| (at, at, 1)).collect()
}
