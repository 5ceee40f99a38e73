//! Figures of a training step: bytes, peak rate, CE marks, CNPs, retransmissions, pause.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use foldhash::fast::FixedState;

use super::Iteration;
use super::totals::Totals;
use crate::analysis::collective::Collective;
use crate::decode::counter::measure::Measure;
use crate::flow::key::{FlowIdentity, FlowKey};
use crate::flow::observer::Signal;
use crate::flow::pause::PauseTable;
use crate::flow::tracker::FlowTracker;
use crate::link::clock::clocks::Clocks;
use crate::link::clock::timeline::aligned_span;
use crate::link::counter::Counters;
use crate::link::job::{CommunicatorId, Job, NetConnectionId, Ownership, Role};
use crate::link::position::{Position, TapPosition};
use crate::link::traffic::record::{ResendRecord, SignalRecord};
use crate::model::time::{Span, Timestamp};

/// Figures of one training step; `None` if unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Bytes of its messages on the wire.
    pub bytes: Option<u64>,
    /// The most payload that a port sent or received in a millisecond, in bits per second; the
    /// bytes of a message are spread evenly from its first packet to its last.
    pub peak_bps: Option<u64>,
    /// Data packets of its messages, resends not counted.
    pub packets: u64,
    /// Data packets with a CE mark; `None` if every tap is next to the sender.
    pub ce_packets: Option<u64>,
    /// CNPs in its span; from NIC counters if taps saw none or not all were kept. `None` without such
    /// counters, unless taps see what comes back to all senders.
    pub cnps: Option<u64>,
    /// Packets retransmitted in its span.
    pub retransmitted_packets: Option<u64>,
    /// Time of its span in which some port was paused, a NIC by its switch or the switch by a NIC: from
    /// pause frames, which reach few taps, or from the counters of the NIC with the longest pause,
    /// whichever is longer. `None` without either.
    pub paused_ns: Option<u64>,
}

impl Figures {
    /// Share of its data packets with a CE mark, 0 to 1.
    #[must_use]
    pub fn ce_share(&self) -> Option<f64> {
        let marked = self.ce_packets.filter(|_| self.packets > 0)?;
        Some(marked as f64 / self.packets as f64)
    }
}

/// Input of the figures.
#[derive(Clone, Copy)]
pub struct Observed<'a> {
    /// Connections and owners of flows.
    pub job: &'a Job,
    /// All collectives, in the order that training steps name them by.
    pub collectives: &'a [Collective],
    /// CNPs and NAKs.
    pub signals: &'a [SignalRecord],
    /// Time of the last one kept, if there were more than could be kept.
    pub signals_end: Option<Timestamp>,
    /// Retransmitted packets; `None` if not all could be kept.
    pub resends: Option<&'a [ResendRecord]>,
    /// Final state of flows and pauses; only these times are not aligned.
    pub tracker: &'a FlowTracker,
    /// Positions of the taps.
    pub positions: &'a [TapPosition],
    /// The taps' clocks.
    pub clocks: &'a Clocks,
    /// NIC counters.
    pub counters: &'a Counters,
}

/// The figures of each training step.
#[must_use]
pub fn measure(iterations: &[Iteration], observed: &Observed<'_>) -> Vec<Figures> {
    if iterations.is_empty() {
        return Vec::new();
    }
    let owners = Owners::new(observed);
    let cnps = observed.signals.iter().filter(|one| one.signal == Signal::Cnp);
    let cnps = owners.moments(cnps.map(|one| Moment::new(one.key, one.epoch, one.time, 1)));
    let resends = observed.resends.map(|resends| {
        let moment = |one: &ResendRecord| Moment::new(one.key, one.epoch, one.time, one.packets);
        owners.moments(resends.iter().map(moment))
    });
    let pauses = pauses(observed.tracker.pauses(), observed.clocks);
    let of_one = |one: &Iteration| {
        let totals = Totals::new(observed.job, observed.collectives, one);
        let is_visible = !totals.connections.is_disjoint(&owners.marked_visibly);
        let sees_all =
            !totals.connections.is_empty() && totals.connections.is_subset(&owners.heard);
        let are_kept = observed.signals_end.is_none_or(|end| end > one.span.last);
        let sum = |moments: &Moments| {
            let known = totals.communicators.iter().filter_map(|id| moments.get(id));
            known.map(|moments| within(moments, one.span)).sum()
        };
        let counters = |measure: Measure| {
            let ports = totals.ports.iter();
            ports.filter_map(move |port| observed.counters.delta(*port, one.span, measure))
        };
        let seen_cnps = are_kept.then(|| sum(&cnps));
        let counted_cnps = || counters(Measure::CnpHandled).reduce(u64::saturating_add);
        let seen_pause = pauses.as_ref().map(|pauses| overlap(pauses, one.span));
        let pause_times = [Measure::PauseReceivedTime, Measure::PauseSentTime];
        let longest_pause = pause_times.into_iter().flat_map(counters).max();
        Figures {
            bytes: totals.bytes,
            peak_bps: totals.peak_bps(),
            packets: totals.packets,
            ce_packets: (totals.ce_packets > 0 || is_visible).then_some(totals.ce_packets),
            cnps: seen_or_counted(seen_cnps, sees_all, counted_cnps),
            retransmitted_packets: resends.as_ref().map(sum),
            paused_ns: seen_pause.max(longest_pause.map(|nanos| nanos.min(one.length_ns()))),
        }
    };
    iterations.iter().map(of_one).collect()
}

/// What taps saw, else what NICs counted; 0 only if taps would have seen it.
fn seen_or_counted(
    seen: Option<u64>,
    sees_all: bool,
    counted: impl FnOnce() -> Option<u64>,
) -> Option<u64> {
    seen.filter(|seen| *seen > 0).or_else(counted).or(seen.filter(|_| sees_all))
}

/// Something that happened to a flow.
#[derive(Clone, Copy)]
struct Moment {
    key: FlowKey,
    epoch: u32,
    time: Timestamp,
    count: u64,
}

impl Moment {
    const fn new(key: FlowKey, epoch: u32, time: Timestamp, count: u64) -> Self {
        Self { key, epoch, time, count }
    }
}

/// Moments of each communicator in order of time, each with the count of all up to it.
type Moments = BTreeMap<CommunicatorId, Vec<(Timestamp, u64)>>;

/// The owners of flows.
struct Owners {
    communicators: HashMap<(FlowKey, u32), CommunicatorId, FixedState>,
    /// Connections whose marks some tap could see.
    marked_visibly: BTreeSet<NetConnectionId>,
    /// Connections whose return traffic some tap saw.
    heard: BTreeSet<NetConnectionId>,
}

impl Owners {
    fn new(observed: &Observed<'_>) -> Self {
        let mut communicators: HashMap<(FlowKey, u32), CommunicatorId, FixedState> =
            HashMap::default();
        let mut marked_visibly = BTreeSet::new();
        let mut heard = BTreeSet::new();
        let flows = observed.tracker.flows().flows();
        for (flow, owner) in flows.iter().zip(&observed.job.owners) {
            let Ownership::Connection { connection, role } = *owner else { continue };
            let Some(known) = observed.job.connection(connection) else { continue };
            communicators.insert((flow.key, flow.epoch), known.communicator);
            if role == Role::Control {
                heard.insert(connection);
            }
            let tap = observed.positions.get(flow.key.tap.0 as usize);
            let position = tap.map(|tap| tap.for_flow(flow.key.source, flow.key.destination));
            if role == Role::Data && position != Some(Position::Sender) {
                marked_visibly.insert(connection);
            }
        }
        Self { communicators, marked_visibly, heard }
    }

    /// Moments by communicator. Several taps see the same flow: the one that saw most counts.
    fn moments(&self, all: impl Iterator<Item = Moment> + Clone) -> Moments {
        let mut counts: BTreeMap<(FlowKey, u32), u64> = BTreeMap::new();
        for one in all.clone() {
            *counts.entry((one.key, one.epoch)).or_insert(0) += one.count;
        }
        let mut views: BTreeMap<FlowIdentity, (u64, FlowKey)> = BTreeMap::new();
        for one in all.clone() {
            let count = counts.get(&(one.key, one.epoch)).copied().unwrap_or(0);
            let best = views.entry(one.key.identity(one.epoch)).or_insert((count, one.key));
            if count > best.0 {
                *best = (count, one.key);
            }
        }
        let mut moments = Moments::new();
        for one in all {
            let is_best =
                views.get(&one.key.identity(one.epoch)).is_some_and(|(_, key)| *key == one.key);
            let owner = self.communicators.get(&(one.key, one.epoch));
            if let Some(id) = owner.filter(|_| is_best) {
                moments.entry(*id).or_default().push((one.time, one.count));
            }
        }
        for of_communicator in moments.values_mut() {
            of_communicator.sort_unstable();
            let mut sum = 0;
            for (_, count) in of_communicator {
                sum += *count;
                *count = sum;
            }
        }
        moments
    }
}

/// Number of moments in `span`, without its end.
fn within(moments: &[(Timestamp, u64)], span: Span) -> u64 {
    let up_to = |time: Timestamp| {
        let before = moments.partition_point(|(at, _)| *at < time);
        before.checked_sub(1).and_then(|at| moments.get(at)).map_or(0, |(_, sum)| *sum)
    };
    up_to(span.last).saturating_sub(up_to(span.first))
}

/// Times in which some port was paused, aligned, in order and disjoint.
fn pauses(table: &PauseTable, clocks: &Clocks) -> Option<Vec<Span>> {
    let mut all: Vec<Span> = Vec::new();
    let mut is_known = false;
    for (key, state) in table.iter() {
        all.extend(state.pauses()?.iter().map(|span| aligned_span(*span, key.tap, clocks)));
        is_known = true;
    }
    all.sort_by_key(|span| (span.first, span.last));
    let mut merged: Vec<Span> = Vec::new();
    for span in all {
        match merged.last_mut().filter(|last| span.first <= last.last) {
            Some(last) => last.last = last.last.max(span.last),
            None => merged.push(span),
        }
    }
    is_known.then_some(merged)
}

/// Nanoseconds of `span` covered by `spans`.
fn overlap(spans: &[Span], span: Span) -> u64 {
    let from = spans.partition_point(|one| one.last < span.first);
    let inside = spans.iter().skip(from).take_while(|one| one.first < span.last);
    inside.map(|one| one.last.min(span.last).nanos_since(one.first.max(span.first))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::pause::Pause;
    use crate::flow::tracker::FlowConfig;
    use crate::link::clock::clocks::TapClock;
    use crate::link::clock::track::{Piece, Track};
    use crate::model::address::MacAddress;
    use crate::model::frame::Frame;
    use crate::model::grade::Grade;
    use crate::model::tap::{LinkType, TapId};

    fn span(first: u64, last: u64) -> Span {
        Span { first: Timestamp::from_nanos(first), last: Timestamp::from_nanos(last) }
    }

    #[test]
    fn pauses_are_aligned() {
        let ahead = |ahead_ns: i64| {
            let piece = Piece { start: Timestamp::from_nanos(0), ahead_ns, drift: 0.0 };
            let timeline = Track { pieces: vec![piece], ..Track::default() };
            TapClock { timeline, ..TapClock::default() }
        };
        let clocks = Clocks::new(vec![ahead(0), ahead(5_000_000)]);
        let mut table = PauseTable::default();
        // 100 quanta at 51.2 Gbit/s: a microsecond, and again one millisecond later, which the
        // second tap's clock shows five milliseconds later.
        for (tap, at) in [(0, 1_000_000), (1, 7_000_000)] {
            let frame = Frame {
                tap: TapId(tap),
                number: 1,
                time: Timestamp::from_nanos(at),
                wire_len: 60,
                bytes: &[],
                link_type: LinkType::Ethernet,
                direction: None,
            };
            let pause = Pause::Link { quanta: 100 };
            table.observe(&frame, MacAddress([2; 6]), &pause, Some(51_200_000_000));
        }
        table.finish(|_| Timestamp::from_nanos(20_000_000));
        let aligned = pauses(&table, &clocks).unwrap();
        assert_eq!(aligned, [span(1_000_000, 1_001_000), span(2_000_000, 2_001_000)]);
    }

    #[test]
    fn cnps_that_nobody_could_see_are_unknown() {
        let config = FlowConfig { flow_capacity: 1, line_rate_bps: None, keeps_details: false };
        let tracker = FlowTracker::new(config);
        let iteration = Iteration {
            number: 0,
            label: None,
            communicator: CommunicatorId(0),
            span: span(0, 10),
            collectives: Vec::new(),
            communication_ns: 0,
            is_whole: true,
            grade: Grade::Inferred,
        };
        let observed = Observed {
            job: &Job::default(),
            collectives: &[],
            signals: &[],
            signals_end: None,
            resends: None,
            tracker: &tracker,
            positions: &[],
            clocks: &Clocks::default(),
            counters: &Counters::default(),
        };
        let figures = measure(&[iteration], &observed);
        assert_eq!(figures.first().map(|figures| figures.cnps), Some(None));
        let none = || None;
        assert_eq!(seen_or_counted(Some(0), true, none), Some(0));
        assert_eq!(seen_or_counted(Some(0), false, none), None);
        assert_eq!(seen_or_counted(None, true, none), None);
        assert_eq!(seen_or_counted(Some(3), false, || Some(9)), Some(3));
        assert_eq!(seen_or_counted(Some(0), true, || Some(9)), Some(9));
        assert_eq!(seen_or_counted(None, true, || Some(9)), Some(9));
    }

    #[test]
    fn what_overlaps_counts() {
        let spans = [span(0, 10), span(20, 30), span(50, 60)];
        assert_eq!(overlap(&spans, span(5, 55)), 5 + 10 + 5);
        assert_eq!(overlap(&spans, span(10, 20)), 0);
        let moments = [(5, 1), (10, 4), (20, 6)];
        let moments = moments.map(|(time, sum)| (Timestamp::from_nanos(time), sum));
        assert_eq!(within(&moments, span(5, 20)), 4);
        assert_eq!(within(&moments, span(0, 100)), 6);
        assert_eq!(within(&moments, span(21, 100)), 0);
    }
}
