//! Several recorders, each of which recorded taps of its own, as one.

use std::sync::Arc;

use super::record::FlowTraffic;
use super::recorder::{Dropped, RESEND_CAPACITY, SIGNAL_CAPACITY, TrafficRecorder};
use crate::model::tap::TapId;
use crate::model::time::Timestamp;

impl Dropped {
    fn join(&mut self, other: Self) {
        self.count += other.count;
        self.last = self.last.max(other.last);
    }
}

impl TrafficRecorder {
    /// Takes over what `others` recorded; tap n of one is `taps[n]` here. The result is what one alone would
    /// have recorded: of what is limited, the earliest is kept. No packet can be recorded afterwards.
    pub fn join(&mut self, others: Vec<(Self, &[TapId])>) {
        let capacity = self.room + self.messages();
        for (other, taps) in others {
            self.flows.extend(other.flows.into_iter().map(|mut flow| {
                let traffic = Arc::make_mut(&mut flow);
                traffic.key.tap = traffic.key.tap.among(taps);
                flow
            }));
            self.signals.extend(other.signals.into_iter().map(|mut signal| {
                signal.key.tap = signal.key.tap.among(taps);
                signal
            }));
            self.resends.extend(other.resends.into_iter().map(|mut resend| {
                resend.key.tap = resend.key.tap.among(taps);
                resend
            }));
            self.dropped_messages.join(other.dropped_messages);
            self.dropped_signals.join(other.dropped_signals);
            self.dropped_resends.join(other.dropped_resends);
            self.forgotten += other.forgotten;
        }
        self.places = Vec::new();
        self.flows.sort_by_key(|flow| begin(flow));
        self.signals.sort_by_key(|signal| signal.time);
        for signal in self.signals.drain(self.signals.len().min(SIGNAL_CAPACITY)..) {
            self.dropped_signals.add(signal.time);
        }
        self.resends.sort_by_key(|resend| resend.time);
        for resend in self.resends.drain(self.resends.len().min(RESEND_CAPACITY)..) {
            self.dropped_resends.add(resend.time);
        }
        self.limit_messages(capacity);
    }

    /// Drops the latest messages beyond `capacity`.
    fn limit_messages(&mut self, capacity: usize) {
        let messages = self.messages();
        if messages > capacity {
            let times = self.flows.iter().flat_map(|flow| times(flow));
            let mut times: Vec<Timestamp> = times.collect();
            let (_, end, _) = times.select_nth_unstable(capacity);
            let end = *end;
            times
                .iter()
                .filter(|time| **time >= end)
                .for_each(|time| self.dropped_messages.add(*time));
            for flow in self.flows.iter_mut().map(Arc::make_mut) {
                let refused = flow.data.last().map(|data| data.last).filter(|last| *last >= end);
                flow.refused = flow.refused.max(refused);
                flow.data.retain(|data| data.last < end);
                flow.cts.retain(|cts| cts.time < end);
            }
        }
        self.room = capacity.saturating_sub(self.messages());
    }

    fn messages(&self) -> usize {
        self.flows.iter().map(|flow| flow.data.len() + flow.cts.len()).sum()
    }
}

/// When the messages of a flow passed.
fn times(flow: &FlowTraffic) -> impl Iterator<Item = Timestamp> {
    flow.data.iter().map(|data| data.last).chain(flow.cts.iter().map(|cts| cts.time))
}

/// When the first message passed that made the recorder know the flow.
fn begin(flow: &FlowTraffic) -> Timestamp {
    let data = flow.data.iter().next().map(|data| data.last);
    let cts = flow.cts.iter().next().map(|cts| cts.time);
    [data, cts, flow.refused].into_iter().flatten().min().unwrap_or(Timestamp::MAX)
}
