//! Collectives as slices: whole ones and their parts by communicator, each rank's share by host.

use std::collections::BTreeMap;

use serde_json::json;

use super::event::{Arguments, Track, arguments};
use super::processes::{Process, Processes};
use super::signals::Signals;
use super::slices::{Slice, place};
use crate::export::text::quantity::bytes;
use railscope_core::report::Report;
use railscope_core::report::collectives::CollectiveReport;
use railscope_core::report::communicators::{CommunicatorReport, RankReport};
use railscope_core::report::waits::CollectiveRankReport;

/// Whole collectives, and below them their parts.
pub(super) fn tracks(report: &Report, processes: &mut Processes) -> Vec<Track> {
    let mut tracks = Vec::new();
    for communicator in &report.communicators {
        let process = Process::Communicator(communicator.id.clone());
        let whole = of_communicator(report, communicator).map(|one| Slice {
            start_ns: one.start_ns,
            end_ns: end_ns(report, one),
            name: name(one),
            category: "collective",
            arguments: details(one),
        });
        tracks.extend(place(whole.collect(), &process, "collectives", processes));
        let parts = of_communicator(report, communicator)
            .filter(|one| one.parts.len() > 1)
            .flat_map(|one| {
                one.parts.iter().map(move |part| Slice {
                    start_ns: part.start_ns,
                    end_ns: part.end_ns,
                    name: format!("{} loop {}", part.part, part.ring_loop),
                    category: "part",
                    arguments: arguments([("collective", json!(one.id))]),
                })
            });
        tracks.extend(place(parts.collect(), &process, "parts", processes));
    }
    tracks
}

/// Each rank's share in each collective, with the signals to slow down or retransmit.
pub(super) fn rank_tracks(
    report: &Report,
    mut signals: Signals,
    processes: &mut Processes,
) -> Vec<Track> {
    let mut tracks = Vec::new();
    for communicator in &report.communicators {
        let mut shares: BTreeMap<u32, Vec<Slice>> = BTreeMap::new();
        for one in of_communicator(report, communicator) {
            for part in &one.ranks {
                shares.entry(part.rank).or_default().push(share(report, one, part));
            }
        }
        for rank in &communicator.ranks {
            let process = Process::Host(host(rank));
            let thread = thread_name(report, communicator, rank.rank);
            let slices = shares.remove(&rank.rank).unwrap_or_default();
            let first = processes.thread(process.clone(), thread.clone());
            let mut of_rank = place(slices, &process, &thread, processes);
            let moments = signals.take(&communicator.id, rank.rank, first);
            match of_rank.first_mut() {
                Some(track) => {
                    track.extend(moments);
                    track.sort_by_key(|event| event.time_ns);
                }
                None => of_rank.push(moments),
            }
            tracks.extend(of_rank);
        }
    }
    tracks
}

/// Name or address of a rank's host, for the track's name.
pub(super) fn host(rank: &RankReport) -> String {
    rank.place.as_deref().unwrap_or("of unknown name").to_owned()
}

/// `rank 2`, with its communicator if there are several.
pub(super) fn thread_name(report: &Report, communicator: &CommunicatorReport, rank: u32) -> String {
    match report.communicators.len() {
        1 => format!("rank {rank}"),
        _ => format!("rank {rank} of {}", communicator.id),
    }
}

fn of_communicator<'a>(
    report: &'a Report,
    communicator: &'a CommunicatorReport,
) -> impl Iterator<Item = &'a CollectiveReport> {
    report.collectives.iter().filter(|one| one.communicator == communicator.id)
}

/// `all_reduce 1.00 MiB ring simple`.
fn name(one: &CollectiveReport) -> String {
    let size = one.bytes.map(bytes);
    let method = [one.algorithm, one.protocol].into_iter().filter(|word| *word != "unknown");
    let end = one.unfinished.then_some("(not finished)");
    let words = std::iter::once(one.kind).chain(size.as_deref()).chain(method).chain(end);
    words.collect::<Vec<_>>().join(" ")
}

/// Its last data; of one that did not end, the end of the captures.
fn end_ns(report: &Report, one: &CollectiveReport) -> i64 {
    match one.unfinished {
        true => i64::try_from(report.capture.duration_ns).unwrap_or(i64::MAX).max(one.end_ns),
        false => one.end_ns,
    }
}

/// From a rank's first packet of data sent to its last received.
fn share(report: &Report, one: &CollectiveReport, part: &CollectiveRankReport) -> Slice {
    let start_ns = part.first_send_ns.unwrap_or(one.start_ns);
    let microseconds = |time: Option<i64>| {
        json!(time.map(|time| time.saturating_sub(one.start_ns) as f64 / 1000.0))
    };
    let mut arguments = details(one);
    arguments.extend(super::event::arguments([
        ("first_cts_after_start_us", microseconds(part.first_cts_ns)),
        ("first_send_after_start_us", microseconds(part.first_send_ns)),
        ("last_receive_after_start_us", microseconds(part.last_receive_ns)),
    ]));
    Slice {
        start_ns,
        end_ns: match one.unfinished {
            true => end_ns(report, one).max(start_ns),
            false => part.last_receive_ns.unwrap_or(one.end_ns).max(start_ns),
        },
        name: name(one),
        category: "collective",
        arguments,
    }
}

fn details(one: &CollectiveReport) -> Arguments {
    arguments([
        ("collective", json!(one.id)),
        ("sequence", json!(one.sequence)),
        ("communicator", json!(one.communicator)),
        ("bytes", json!(one.bytes)),
        ("unfinished", json!(one.unfinished)),
        ("channels", json!(one.channels)),
        ("messages", json!(one.messages)),
        ("algbw_gb_per_s", json!(one.algbw_bytes_per_s.map(|rate| rate as f64 / 1e9))),
        ("busbw_gb_per_s", json!(one.busbw_bytes_per_s.map(|rate| rate as f64 / 1e9))),
        ("grade", json!(one.grade)),
    ])
}
