//! What the network did to each connection, and when: recoveries, retransmitted packets, CNPs.

use std::collections::BTreeMap;

use crate::flow::episode::Trigger;
use crate::flow::key::FlowKey;
use crate::flow::observer::Signal;
use crate::flow::state::Flow;
use crate::link::clock::clocks::Clocks;
use crate::link::job::{Job, NetConnectionId, Ownership, Role};
use crate::link::position::{Position, TapPosition};
use crate::link::traffic::record::SignalRecord;
use crate::model::tap::TapId;
use crate::model::time::{Span, Timestamp};

/// Troubles of all connections.
#[derive(Clone, Debug, Default)]
pub struct Troubles {
    /// By connection and whether a tap next to the sender saw it.
    at: BTreeMap<(NetConnectionId, bool), AtOneEnd>,
    /// Recoveries of clear-to-sends, disjoint and in order: those of both ends, by clocks that were compared.
    cts: BTreeMap<NetConnectionId, Vec<Span>>,
    /// CNPs to the sender in the order of time, by tap.
    cnps: BTreeMap<NetConnectionId, BTreeMap<TapId, Vec<Timestamp>>>,
    /// Time of the last CNP kept, if there were too many to keep.
    cnps_end: Option<Timestamp>,
}

#[derive(Clone, Debug, Default)]
struct AtOneEnd {
    /// Disjoint and in order.
    recoveries: Vec<Span>,
    /// Recoveries that a NAK began: the receiver missed data. Disjoint and in order.
    refusals: Vec<Span>,
    /// When a recovery began and the packets retransmitted in it, in order. By tap, as each tap saw
    /// them.
    resent: BTreeMap<TapId, Vec<(Timestamp, u64)>>,
}

/// The rest of a connection's recoveries, in order of time.
#[derive(Clone, Debug)]
pub struct Recoveries<'a>(&'a [Span]);

impl Troubles {
    /// The troubles of the connections of `job`. Signals have aligned times, ordered per tap; with the
    /// time of the last one kept, if some were dropped.
    #[must_use]
    pub fn new(
        job: &Job,
        flows: &[Flow],
        positions: &[TapPosition],
        clocks: &Clocks,
        (signals, cnps_end): (&[SignalRecord], Option<Timestamp>),
    ) -> Self {
        let mut troubles = Self { cnps_end, ..Self::default() };
        let mut control: BTreeMap<(FlowKey, u32), NetConnectionId> = BTreeMap::new();
        for (flow, owner) in flows.iter().zip(&job.owners) {
            let Ownership::Connection { connection, role } = *owner else { continue };
            match role {
                Role::Data => troubles.add_recoveries(connection, flow, positions, clocks),
                Role::Control => {
                    control.insert((flow.key, flow.epoch), connection);
                    troubles.add_cts_recoveries(connection, flow, clocks);
                    let at_taps = troubles.cnps.entry(connection).or_default();
                    at_taps.entry(flow.key.tap).or_default();
                }
            }
        }
        for at_end in troubles.at.values_mut() {
            at_end.recoveries = merged(std::mem::take(&mut at_end.recoveries));
            at_end.refusals = merged(std::mem::take(&mut at_end.refusals));
            at_end.resent.values_mut().for_each(|resent| resent.sort_unstable());
        }
        for recoveries in troubles.cts.values_mut() {
            *recoveries = merged(std::mem::take(recoveries));
        }
        for signal in signals.iter().filter(|signal| signal.signal == Signal::Cnp) {
            let Some(connection) = control.get(&(signal.key, signal.epoch)) else { continue };
            let at_taps = troubles.cnps.entry(*connection).or_default();
            at_taps.entry(signal.key.tap).or_default().push(signal.time);
        }
        troubles
    }

    /// The recoveries of `connection` that end after `start`, at one of its ends.
    #[must_use]
    pub fn recoveries(
        &self,
        connection: NetConnectionId,
        is_at_sender: bool,
        start: Timestamp,
    ) -> Recoveries<'_> {
        let all = self.at.get(&(connection, is_at_sender));
        let spans = all.map_or(&[][..], |all| &all.recoveries);
        let over = spans.partition_point(|span| span.last <= start);
        Recoveries(spans.get(over..).unwrap_or_default())
    }

    /// The recoveries of clear-to-sends of `connection` that end after `start`.
    #[must_use]
    pub fn cts_recoveries(&self, connection: NetConnectionId, start: Timestamp) -> Recoveries<'_> {
        let spans = self.cts.get(&connection).map_or(&[][..], Vec::as_slice);
        let over = spans.partition_point(|span| span.last <= start);
        Recoveries(spans.get(over..).unwrap_or_default())
    }

    /// Nanoseconds of `span` in recoveries that a NAK began.
    #[must_use]
    pub fn refused_ns(&self, connection: NetConnectionId, is_at_sender: bool, span: Span) -> u64 {
        let all = self.at.get(&(connection, is_at_sender));
        let refusals = all.map_or(&[][..], |all| &all.refusals);
        let over = refusals.partition_point(|refusal| refusal.last <= span.first);
        Recoveries(refusals.get(over..).unwrap_or_default()).until(span.first, span.last)
    }

    /// Packets retransmitted in recoveries that began within `span`, at the tap of one end that saw
    /// most of them.
    #[must_use]
    pub fn retransmitted_packets(
        &self,
        connection: NetConnectionId,
        is_at_sender: bool,
        span: Span,
    ) -> u64 {
        let Some(all) = self.at.get(&(connection, is_at_sender)) else { return 0 };
        let within = |resent: &Vec<(Timestamp, u64)>| -> u64 {
            let from = resent.partition_point(|(time, _)| *time < span.first);
            let within = resent.iter().skip(from).take_while(|(time, _)| *time <= span.last);
            within.map(|(_, packets)| packets).sum()
        };
        all.resent.values().map(within).max().unwrap_or(0)
    }

    /// CNPs to the sender of `connection` within `span`, at the tap that saw most of them; `None`
    /// if no tap sees that direction, or not all CNPs were kept.
    #[must_use]
    pub fn cnps(&self, connection: NetConnectionId, span: Span) -> Option<u64> {
        if self.cnps_end.is_some_and(|end| end <= span.last) {
            return None;
        }
        let within = |times: &Vec<Timestamp>| {
            let from = times.partition_point(|time| *time < span.first);
            let to = times.partition_point(|time| *time <= span.last);
            to.saturating_sub(from) as u64
        };
        self.cnps.get(&connection)?.values().map(within).max()
    }

    fn add_cts_recoveries(&mut self, connection: NetConnectionId, flow: &Flow, clocks: &Clocks) {
        let Some(episodes) = &flow.episodes else { return };
        let recoveries = episodes.listed().iter().map(|episode| {
            let first = clocks.aligned(flow.key.tap, episode.start);
            Span { first, last: first.plus_nanos(episode.recovery_ns) }
        });
        self.cts.entry(connection).or_default().extend(recoveries);
    }

    fn add_recoveries(
        &mut self,
        connection: NetConnectionId,
        flow: &Flow,
        positions: &[TapPosition],
        clocks: &Clocks,
    ) {
        let Some(episodes) = &flow.episodes else { return };
        let FlowKey { tap, source, destination, .. } = flow.key;
        let position = positions.get(tap.0 as usize).map(|at| at.for_flow(source, destination));
        // A tap next to neither end stands for both.
        let ends: &[bool] = match position {
            Some(Position::Sender) => &[true],
            Some(Position::Receiver) => &[false],
            Some(Position::Fabric | Position::Unknown) | None => &[true, false],
        };
        for end in ends {
            let at = self.at.entry((connection, *end)).or_default();
            for episode in episodes.listed() {
                let first = clocks.aligned(tap, episode.start);
                let span = Span { first, last: first.plus_nanos(episode.recovery_ns) };
                at.recoveries.push(span);
                if matches!(episode.trigger, Trigger::Nak | Trigger::Rnr) {
                    at.refusals.push(span);
                }
                at.resent.entry(tap).or_default().push((first, episode.resent_packets));
            }
        }
    }
}

impl Recoveries<'_> {
    /// Nanoseconds of recovery between `from` and `end`; recoveries before `end` are then removed.
    pub fn until(&mut self, from: Timestamp, end: Timestamp) -> u64 {
        let mut sum = 0;
        while let Some((span, rest)) = self.0.split_first() {
            if span.first >= end {
                break;
            }
            sum += span.last.min(end).nanos_since(span.first.max(from));
            if span.last > end {
                break;
            }
            self.0 = rest;
        }
        sum
    }

    /// The end of the last recovery that is over before `limit`.
    #[must_use]
    pub fn last_end(&self, limit: Timestamp) -> Option<Timestamp> {
        let over = self.0.iter().take_while(|span| span.last <= limit);
        over.last().map(|span| span.last)
    }

    /// The end of the next recovery, if it begins before `limit`.
    #[must_use]
    pub fn next_end(&self, limit: Timestamp) -> Option<Timestamp> {
        self.0.first().filter(|span| span.first < limit).map(|span| span.last)
    }
}

/// Spans that overlap or touch become one; empty ones are left out.
pub(super) fn merged(mut spans: Vec<Span>) -> Vec<Span> {
    spans.retain(|span| span.first < span.last);
    spans.sort_unstable_by_key(|span| (span.first, span.last));
    let mut merged: Vec<Span> = Vec::with_capacity(spans.len());
    for span in spans {
        match merged.last_mut() {
            Some(before) if before.last >= span.first => before.last = before.last.max(span.last),
            _ => merged.push(span),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::{Recoveries, Span, Timestamp, merged};

    fn span(first: u64, last: u64) -> Span {
        let time = Timestamp::from_nanos;
        Span { first: time(first), last: time(last) }
    }

    #[test]
    fn time_in_recovery_counts_once() {
        let spans =
            merged(vec![span(30, 40), span(10, 20), span(5, 5), span(15, 25), span(40, 45)]);
        assert_eq!(spans, [span(10, 25), span(30, 45)]);
        let time = Timestamp::from_nanos;
        let mut recoveries = Recoveries(&spans);
        assert_eq!(recoveries.until(time(0), time(5)), 0);
        assert_eq!(recoveries.until(time(5), time(12)), 2);
        assert_eq!(recoveries.until(time(12), time(35)), 18);
        assert_eq!(recoveries.next_end(time(100)), Some(time(45)));
        assert_eq!(recoveries.until(time(35), time(100)), 10);
        assert_eq!(recoveries.next_end(time(100)), None);
    }
}
