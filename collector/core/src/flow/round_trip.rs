//! ACK round trips of one flow: when packets were sent and when they were acknowledged.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::histogram::DurationHistogram;
use crate::model::time::Timestamp;

/// Transmissions waiting for their ACK. When full, new ones are not measured, so that the oldest
/// unacknowledged one, where a retransmission would start, stays known.
const CAPACITY: usize = 64;

/// The same, until the first ACK.
const FIRST_CAPACITY: usize = 8;

/// An unacknowledged first transmission.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Sending {
    /// Unwrapped PSN.
    psn: i64,
    time: Timestamp,
    /// The sender requested an ACK and has not retransmitted it since.
    measures: bool,
}

/// Round trips of one flow: from a packet that requests an ACK to the first ACK that covers it;
/// never of retransmitted packets.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RoundTrips {
    outstanding: VecDeque<Sending>,
    durations: DurationHistogram,
    unmeasured: u64,
}

impl RoundTrips {
    /// First transmission of a packet that starts a message or requests an ACK. Before the first
    /// ACK, few are kept: there may be none to come.
    pub fn sent(&mut self, psn: i64, time: Timestamp, ack_request: bool, has_acks: bool) {
        let capacity = if has_acks { CAPACITY } else { FIRST_CAPACITY };
        if self.outstanding.len() < capacity {
            self.outstanding.push_back(Sending { psn, time, measures: ack_request });
        } else if ack_request {
            self.unmeasured += 1;
        }
    }

    /// Everything up to `psn` was acknowledged: by an ACK, which is measured, or by implication (a
    /// NAK of a later PSN, a READ response).
    pub fn acknowledged(&mut self, psn: i64, time: Timestamp, is_ack: bool) {
        while let Some(sending) = self.outstanding.front().filter(|sending| sending.psn <= psn) {
            if sending.measures && is_ack {
                self.durations.record(time.nanos_since(sending.time));
            }
            self.outstanding.pop_front();
        }
    }

    /// ACKs up to `psn` may have been missed: only later transmissions are measured.
    pub fn distrust_before(&mut self, psn: i64) {
        for sending in &mut self.outstanding {
            sending.measures &= sending.psn >= psn;
        }
    }

    /// The sender went back to `psn`: round trips from there on would be of copies.
    pub fn resent_from(&mut self, psn: i64) {
        for sending in &mut self.outstanding {
            sending.measures &= sending.psn < psn;
        }
    }

    /// When `psn` was first sent, as far as known: when its message started. `None` if it was
    /// acknowledged before, or not every transmission is kept.
    #[must_use]
    pub fn first_sending(&self, psn: i64) -> Option<Timestamp> {
        let at = self.outstanding.iter().rposition(|sending| sending.psn <= psn)?;
        let is_last = at + 1 == self.outstanding.len();
        let may_be_later = is_last && self.outstanding.len() >= FIRST_CAPACITY;
        self.outstanding.get(at).filter(|_| !may_be_later).map(|sending| sending.time)
    }

    /// When the first packet was sent that requested an ACK, has had none, and was not sent again.
    #[must_use]
    pub fn waits_since(&self) -> Option<Timestamp> {
        self.outstanding.iter().find(|sending| sending.measures).map(|sending| sending.time)
    }

    /// The first packet that has had no ACK of those that were first sent at `time` or later: its unwrapped PSN.
    #[must_use]
    pub fn outstanding_since(&self, time: Timestamp) -> Option<i64> {
        let mut later = self.outstanding.iter().filter(|sending| sending.time >= time);
        later.next().map(|sending| sending.psn)
    }

    /// The durations measured.
    #[must_use]
    pub const fn durations(&self) -> &DurationHistogram {
        &self.durations
    }

    /// Packets that requested an ACK but were not measured, because too many were outstanding.
    #[must_use]
    pub const fn unmeasured(&self) -> u64 {
        self.unmeasured
    }
}
