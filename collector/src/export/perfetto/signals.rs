//! NAKs, RNR NAKs and CNPs as instants of the rank that has to retransmit or slow down.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::event::{Event, Phase, Track, TrackId, arguments};
use railscope_core::report::Report;
use railscope_core::report::transfers::SignalReport;

/// Instants by communicator and rank.
pub(super) struct Signals(BTreeMap<(String, u32), Vec<Moment>>);

struct Moment {
    name: String,
    time_ns: i64,
    flow: u32,
    frame: u64,
}

impl Signals {
    /// The instants of a rank in order of time.
    pub(super) fn take(&mut self, communicator: &str, rank: u32, place: TrackId) -> Track {
        let moments = self.0.remove(&(communicator.to_owned(), rank)).unwrap_or_default();
        let event = |moment: Moment| Event {
            name: moment.name,
            category: "signal",
            phase: Phase::Instant,
            time_ns: moment.time_ns,
            place,
            arguments: arguments([("flow", json!(moment.flow)), ("frame", json!(moment.frame))]),
        };
        let mut track: Track = moments.into_iter().map(event).collect();
        track.sort_by_key(|event| event.time_ns);
        track
    }
}

/// The signals to ranks; each once, even if several taps captured it.
pub(super) fn by_rank(report: &Report) -> Signals {
    let signals = || report.signals.iter().flatten();
    let views = best_views(report, signals());
    let mut moments: BTreeMap<(String, u32), Vec<Moment>> = BTreeMap::new();
    for signal in signals().filter(|signal| views.contains(&signal.flow)) {
        let Some(owner) = report.flow(signal.flow).and_then(|flow| flow.owner.as_ref()) else {
            continue;
        };
        let Some((communicator, receiver)) = owner.communicator.clone().zip(owner.peer_rank) else {
            continue;
        };
        let from = owner.rank.map(|rank| format!(" from rank {rank}")).unwrap_or_default();
        let name = match signal.signal {
            "nak" => "NAK",
            "rnr_nak" => "RNR NAK",
            _ => "CNP",
        };
        moments.entry((communicator, receiver)).or_default().push(Moment {
            name: format!("{name}{from}"),
            time_ns: signal.time_ns,
            flow: signal.flow,
            frame: signal.frame,
        });
    }
    Signals(moments)
}

/// For each flow captured at several taps, the tap's view with the most signals.
fn best_views<'a>(
    report: &Report,
    signals: impl Iterator<Item = &'a SignalReport>,
) -> BTreeSet<u32> {
    let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
    for signal in signals {
        *counts.entry(signal.flow).or_insert(0) += 1;
    }
    let mut best = BTreeMap::new();
    for (id, count) in counts {
        let Some(flow) = report.flow(id) else { continue };
        let name = (&flow.src, &flow.dst, flow.dest_qpn, flow.epoch);
        let entry = best.entry(name).or_insert((id, count));
        if count > entry.1 {
            *entry = (id, count);
        }
    }
    best.into_values().map(|(id, _)| id).collect()
}
