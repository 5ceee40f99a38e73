//! Records messages that look like NCCL's as packets pass.

use std::num::NonZeroU64;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::record::{CtsRecord, DataRecord, DataStart, FlowTraffic, ResendRecord, SignalRecord};
use super::series::Series;
use crate::decode::nccl::cts::Cts;
use crate::decode::roce::packet::RocePacket;
use crate::flow::message::{Message, MessageKind};
use crate::flow::observer::{FlowObserver, Signal};
use crate::flow::state::Flow;
use crate::link::clock::clocks::Clocks;
use crate::link::clock::timeline;
use crate::model::ecn::Ecn;
use crate::model::frame::Frame;
use crate::model::time::{Span, Timestamp};

/// Most signals kept.
pub(super) const SIGNAL_CAPACITY: usize = 65_536;

/// Most retransmissions kept.
pub(super) const RESEND_CAPACITY: usize = 65_536;

/// Retransmissions of a flow within this time are recorded as one.
const RESEND_NS: u64 = 1_000_000;

/// Bytes of the longest CTS: eight elements of 64.
const CTS_BYTES_LIMIT: u32 = 512;

/// The latest CTSs of a flow, which are never dropped, as data may answer them after any time: NCCL has at
/// most so many receives in flight per connection (`NCCL_NET_MAX_REQUESTS` of `src/include/nccl_net.h`,
/// 2.19 and later; 8 before).
const CTS_KEPT: usize = 32;

/// A flow silent for this long, 1 h, is dropped completely. Its next message cannot be compared
/// with the previous one.
const SILENT_NS: u64 = 3_600_000_000_000;

/// Counters of dropped records.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct Dropped {
    pub(super) count: u64,
    /// When the last such message within the window passed.
    pub(super) last: Option<Timestamp>,
}

impl Dropped {
    pub(super) fn add(&mut self, time: Timestamp) {
        self.count += 1;
        self.last = self.last.max(Some(time));
    }
}

/// NCCL's messages by flow. One that was written and read records no more of them.
#[derive(Clone, Serialize, Deserialize)]
pub struct TrafficRecorder {
    /// Copies share what did not change since.
    pub(super) flows: Vec<Arc<FlowTraffic>>,
    /// By flow: its index in `flows` plus 1; 0 if it has none.
    #[serde(skip)]
    pub(super) places: Vec<u32>,
    pub(super) signals: Vec<SignalRecord>,
    pub(super) resends: Vec<ResendRecord>,
    /// Messages that still fit.
    pub(super) room: usize,
    pub(super) dropped_messages: Dropped,
    pub(super) dropped_signals: Dropped,
    pub(super) dropped_resends: Dropped,
    pub(super) forgotten: u64,
}

impl TrafficRecorder {
    /// Keeps at most `capacity` messages.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self {
            flows: Vec::new(),
            places: Vec::new(),
            signals: Vec::new(),
            resends: Vec::new(),
            room: capacity,
            dropped_messages: Dropped::default(),
            dropped_signals: Dropped::default(),
            dropped_resends: Dropped::default(),
            forgotten: 0,
        }
    }

    /// Drops what passed before `time`, to make room.
    pub fn forget_before(&mut self, time: Timestamp) {
        let mut forgotten = 0;
        for flow in self.flows.iter_mut().map(Arc::make_mut) {
            let is_old = |data: &DataRecord| data.last < time;
            // A message whose last packet was lost completes after those that follow it.
            let old = flow.data.iter().copied().take_while(is_old).chain(flow.forgotten);
            flow.forgotten = old.max_by_key(|data| data.last_psn);
            forgotten += flow.data.forget(0, is_old);
            forgotten += flow.cts.forget(CTS_KEPT, |cts| cts.time < time);
        }
        self.room += forgotten;
        self.forgotten += forgotten as u64;
        self.signals.retain(|signal| signal.time >= time);
        self.resends.retain(|resend| resend.time >= time);
        for dropped in
            [&mut self.dropped_messages, &mut self.dropped_signals, &mut self.dropped_resends]
        {
            dropped.last = dropped.last.filter(|last| *last >= time);
        }
        self.forget_silent_flows(time);
    }

    /// The flow at index `at` is over; if `from` is given, its flow is at `at` now. What is dropped goes
    /// with the next [`forget_before`](Self::forget_before).
    pub fn forget_flow(&mut self, at: u32, from: Option<u32>) {
        let place = |places: &Vec<u32>, at: u32| places.get(at as usize).copied().unwrap_or(0);
        let own = (place(&self.places, at) as usize).checked_sub(1);
        if let Some(flow) = own.and_then(|own| self.flows.get_mut(own)) {
            let flow = Arc::make_mut(flow);
            let count = flow.data.len() + flow.cts.len();
            (flow.data, flow.cts) = (Series::default(), Series::default());
            (flow.forgotten, flow.refused, flow.open_write) = (None, None, None);
            self.room += count;
            self.forgotten += count as u64;
        }
        let moved = from.map_or(0, |from| place(&self.places, from));
        for (at, place) in [(Some(at), moved), (from, 0)] {
            if let Some(known) = at.and_then(|at| self.places.get_mut(at as usize)) {
                *known = place;
            }
        }
    }

    fn forget_silent_flows(&mut self, time: Timestamp) {
        let is_silent = |flow: &Arc<FlowTraffic>| {
            let last_cts = flow.cts.last().map(|cts| cts.time);
            let last = last_cts.max(flow.forgotten.map(|before| before.last));
            flow.data.is_empty() && last.is_none_or(|last| time.nanos_since(last) > SILENT_NS)
        };
        if !self.flows.iter().any(is_silent) {
            return;
        }
        let mut places = vec![0; self.flows.len()];
        let (mut old, mut next) = (0, 0);
        let room = &mut self.room;
        self.flows.retain(|flow| {
            let is_kept = !is_silent(flow);
            if is_kept {
                next += 1;
                places[old] = next;
            } else {
                *room += flow.cts.len();
            }
            old += 1;
            is_kept
        });
        for place in &mut self.places {
            let old = (*place as usize).checked_sub(1);
            *place = old.and_then(|old| places.get(old).copied()).unwrap_or(0);
        }
    }

    /// When the oldest kept data message passed, and the latest.
    #[must_use]
    pub fn span(&self) -> Option<Span> {
        let first =
            self.flows.iter().filter_map(|flow| flow.data.iter().next()).map(|one| one.last);
        let last = self.flows.iter().filter_map(|flow| flow.data.last()).map(|one| one.last);
        Some(Span { first: first.min()?, last: last.max()? })
    }

    /// Messages that still fit.
    #[must_use]
    pub const fn room(&self) -> usize {
        self.room
    }

    /// Messages dropped because they were old.
    #[must_use]
    pub const fn forgotten_messages(&self) -> u64 {
        self.forgotten
    }

    /// Whether messages within the window did not fit.
    #[must_use]
    pub const fn misses_messages(&self) -> bool {
        self.dropped_messages.last.is_some()
    }

    /// Whether CNPs or NAKs within the window did not fit.
    #[must_use]
    pub const fn misses_signals(&self) -> bool {
        self.dropped_signals.last.is_some()
    }

    /// Whether retransmissions within the window did not fit.
    #[must_use]
    pub const fn misses_resends(&self) -> bool {
        self.dropped_resends.last.is_some()
    }

    /// Hands over the flows with such messages, in order of their first one. No packet can be recorded afterwards.
    #[must_use]
    pub fn take_flows(&mut self) -> Vec<Arc<FlowTraffic>> {
        self.places = Vec::new();
        std::mem::take(&mut self.flows)
    }

    /// Converts all times to the timeline of `clocks`.
    pub fn align(&mut self, clocks: &Clocks) {
        let flows = self.flows.iter_mut().map(Arc::make_mut);
        flows.for_each(|flow| timeline::align_traffic(flow, clocks));
        self.signals.iter_mut().for_each(|signal| timeline::align_signal(signal, clocks));
        self.signals.sort_by_key(|signal| signal.time);
        self.resends.iter_mut().for_each(|resend| timeline::align_resend(resend, clocks));
        self.resends.sort_by_key(|resend| resend.time);
    }

    /// CNPs and NAKs, in order of time.
    #[must_use]
    pub fn signals(&self) -> &[SignalRecord] {
        &self.signals
    }

    /// Messages that did not fit.
    #[must_use]
    pub const fn dropped_messages(&self) -> u64 {
        self.dropped_messages.count
    }

    /// CNPs and NAKs that did not fit.
    #[must_use]
    pub const fn dropped_signals(&self) -> u64 {
        self.dropped_signals.count
    }

    /// Retransmitted packets, in order of time.
    #[must_use]
    pub fn resends(&self) -> &[ResendRecord] {
        &self.resends
    }

    /// Retransmitted packets that did not fit.
    #[must_use]
    pub const fn dropped_resends(&self) -> u64 {
        self.dropped_resends.count
    }

    fn traffic(&mut self, at: u32, flow: &Flow) -> &mut FlowTraffic {
        let at = at as usize;
        if self.places.len() <= at {
            self.places.resize(at + 1, 0);
        }
        let known = (self.places[at] as usize).checked_sub(1);
        let is_same = |place: &usize| {
            let traffic = &self.flows[*place];
            traffic.key == flow.key && traffic.epoch == flow.epoch
        };
        let place = known.filter(is_same).unwrap_or_else(|| {
            self.flows.push(Arc::new(FlowTraffic {
                key: flow.key,
                epoch: flow.epoch,
                data: Series::default(),
                cts: Series::default(),
                forgotten: None,
                refused: None,
                open_write: None,
            }));
            self.places[at] = self.flows.len() as u32;
            self.flows.len() - 1
        });
        Arc::make_mut(&mut self.flows[place])
    }

    /// Recorded messages of the flow at index `at`; `None` if it has none, or the index had another
    /// flow.
    fn known_traffic(&mut self, at: u32, flow: &Flow) -> Option<&mut FlowTraffic> {
        let place = (*self.places.get(at as usize)? as usize).checked_sub(1)?;
        let traffic = &mut self.flows[place];
        let is_same = traffic.key == flow.key && traffic.epoch == flow.epoch;
        is_same.then(|| Arc::make_mut(traffic))
    }

    /// Reserves space for a message that passed at `time`; returns whether there was any.
    fn takes_room(&mut self, time: Timestamp) -> bool {
        let has_room = self.room > 0;
        self.room = self.room.saturating_sub(1);
        if !has_room {
            self.dropped_messages.add(time);
        }
        has_room
    }

    fn write(&mut self, at: u32, flow: &Flow, record: DataRecord, packet: &RocePacket<'_>) {
        let Some(start) = record.start else { return };
        let cts = || {
            let (cts, _) = Cts::recognise(packet.payload, start.bytes)?;
            Some(CtsRecord::new(&cts, start.address, (record.last, record.number)))
        };
        match (start.bytes <= CTS_BYTES_LIMIT).then(cts).flatten() {
            Some(cts) if self.takes_room(cts.time) => self.traffic(at, flow).cts.push(cts),
            Some(_) => {}
            // Only after a WRITE_WITH_IMM: other programs' WRITEs are not NCCL's.
            None => {
                if let Some(traffic) = self.known_traffic(at, flow) {
                    traffic.open_write = Some(record);
                }
            }
        }
    }

    fn write_with_immediate(&mut self, at: u32, flow: &Flow, mut record: DataRecord) {
        let has_room = self.takes_room(record.last);
        let traffic = self.traffic(at, flow);
        let open = traffic.open_write.take();
        if !has_room {
            traffic.refused = Some(record.last);
            return;
        }
        let is_empty = record.start.is_some_and(|start| start.bytes == 0);
        if let Some(write) = open.filter(|_| is_empty && record.immediate != Some(0)) {
            record.start = write.start;
        }
        traffic.data.push(record);
    }
}

impl FlowObserver for TrafficRecorder {
    #[inline]
    fn message(
        &mut self,
        at: u32,
        flow: &Flow,
        message: &Message,
        packet: &RocePacket<'_>,
        frame: &Frame<'_>,
    ) {
        let is_data = match message.kind {
            MessageKind::WriteWithImmediate => true,
            MessageKind::Write => false,
            MessageKind::Send | MessageKind::Read | MessageKind::Atomic => return,
        };
        let first_psn = flow.requester().requests.first().map_or(0, |psn| i64::from(psn.value()));
        let start = || {
            Some(DataStart {
                first: message.first_time?,
                address: message.virtual_address?,
                remote_key: message.remote_key?,
                bytes: u32::try_from(message.bytes?).ok()?,
                head: message.head.and_then(NonZeroU64::new),
            })
        };
        let record = DataRecord {
            start: start(),
            last: message.last_time,
            last_psn: first_psn + flow.requester().requests.unwrap(packet.bth.psn),
            immediate: message.immediate,
            ce_packets: u32::try_from(flow.marks().count(Ecn::Ce)).unwrap_or(u32::MAX),
            number: u32::try_from(frame.number).unwrap_or(u32::MAX),
        };
        if is_data {
            self.write_with_immediate(at, flow, record);
        } else {
            self.write(at, flow, record, packet);
        }
    }

    #[cold]
    fn resent(&mut self, _: u32, flow: &Flow, frame: &Frame<'_>) {
        let (key, epoch, time) = (flow.key, flow.epoch, frame.time);
        let goes_on = |last: &&mut ResendRecord| {
            last.key == key && last.epoch == epoch && time.nanos_since(last.time) <= RESEND_NS
        };
        if let Some(last) = self.resends.last_mut().filter(goes_on) {
            last.packets += 1;
        } else if self.resends.len() < RESEND_CAPACITY {
            self.resends.push(ResendRecord { key, epoch, time, packets: 1 });
        } else {
            self.dropped_resends.add(time);
        }
    }

    #[cold]
    fn signal(&mut self, _: u32, flow: &Flow, signal: Signal, frame: &Frame<'_>) {
        if self.signals.len() < SIGNAL_CAPACITY {
            let (key, epoch) = (flow.key, flow.epoch);
            let (time, number) = (frame.time, frame.number);
            self.signals.push(SignalRecord { key, epoch, signal, time, number });
        } else {
            self.dropped_signals.add(frame.time);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;
    use crate::flow::key::FlowKey;
    use crate::model::qpn::Qpn;
    use crate::model::tap::TapId;

    fn data(time: u64, last_psn: i64) -> DataRecord {
        let last = Timestamp::from_nanos(time);
        DataRecord { start: None, last, last_psn, immediate: None, ce_packets: 0, number: 0 }
    }

    /// The LAST of PSN 10 was lost, and sent again after the messages up to PSN 30.
    #[test]
    fn of_dropped_data_the_last_by_psn_is_kept() {
        let address = |last: u8| IpAddr::from([10, 0, 0, last]).into();
        let key = FlowKey {
            tap: TapId(0),
            source: address(1),
            destination: address(2),
            dest_qpn: Qpn::new(5),
        };
        let mut series = Series::default();
        [data(100, 20), data(110, 30), data(120, 10)].into_iter().for_each(|one| series.push(one));
        let mut recorder = TrafficRecorder::new(10);
        recorder.flows.push(Arc::new(FlowTraffic {
            key,
            epoch: 0,
            data: series,
            cts: Series::default(),
            forgotten: None,
            refused: None,
            open_write: None,
        }));
        let mut forgotten = |time| {
            recorder.forget_before(Timestamp::from_nanos(time));
            recorder.flows[0].forgotten.map(|data| data.last_psn)
        };
        assert_eq!(forgotten(100), None);
        assert_eq!(forgotten(105), Some(20));
        assert_eq!(forgotten(115), Some(30));
        assert_eq!(forgotten(200), Some(30));
    }
}
