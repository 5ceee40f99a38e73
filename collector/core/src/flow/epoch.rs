//! When a queue pair number is used again: epochs of a flow.
//!
//! A sender starts at PSN 0 (NCCL always does), so PSN 0 begins a new epoch unless the circle wrapped or
//! the packet is an old one.

use super::arrival::Arrival;
use super::tracker::FlowTracker;

/// PSN 0 at most this far ahead is a gap across the circle's end, not a new use of the QP.
const EPOCH_GAP: i32 = 4096;

/// An acknowledged PSN 0 this close behind the highest one may be sent again after a lost ACK.
const EPOCH_RESEND: i32 = 256;

/// A queue pair that has all its answers sends nothing again. If it was silent for this long, its PSN
/// 0 is a new use, even of the same address: jobs that run again reuse numbers and memory ...
const EPOCH_SILENCE_NS: u64 = 100_000_000;

/// ... but a few answers may all have been lost behind the tap, and the first request be sent again.
const EPOCH_ANSWERED: i64 = 8;

/// PSN 0 this close behind the first packets seen is late rather than a new use of the QP.
const OVERTAKEN: i32 = 64;

impl FlowTracker {
    /// A request with PSN 0 on flow `at`: starts a new epoch, unless the circle wrapped or the
    /// first packet of this epoch is retransmitted. Returns the flow it belongs to.
    #[cold]
    pub(super) fn epoch_at_zero(&mut self, at: u32, arrival: &Arrival<'_>) -> u32 {
        let roce = arrival.roce;
        let identity = roce.reth.map(|reth| (reth.virtual_address, reth.remote_key));
        let flow = self.flows.at_mut(at);
        let has_sequence = flow.has_sequence();
        let awaits_answer = flow.awaits_answer();
        let requester = flow.requester_mut();
        let Some(high) = requester.requests.high().filter(|_| has_sequence) else {
            requester.zero_identity = identity;
            return at;
        };
        let ahead = roce.bth.psn.distance_from(high);
        let psn = requester.requests.unwrap(roce.bth.psn);
        let comes_round = (1..=EPOCH_GAP).contains(&ahead);
        let is_unacknowledged =
            requester.acknowledged.is_none_or(|acknowledged| acknowledged < psn);
        let is_same = identity.is_some() && identity == requester.zero_identity;
        // A different request from the one that the epoch began with.
        let differs =
            psn <= 0 && !is_same && identity.is_some() && requester.zero_identity.is_some();
        let idle_ns = arrival.time.nanos_since(requester.requests.last_time());
        let is_idle = idle_ns > EPOCH_SILENCE_NS
            && !awaits_answer
            && requester.acknowledged.is_some_and(|acknowledged| acknowledged >= EPOCH_ANSWERED);
        // A sender whose later packets were acknowledged does not go back to the first one.
        let is_same = is_same && ahead > -EPOCH_RESEND && !is_idle;
        // The circle has just wrapped: a copy, or late.
        let has_come_round = psn > 0 && ahead > -EPOCH_GAP;
        // The first packets of the flow overtook it.
        let is_overtaken = psn < 0 && is_unacknowledged && !differs && ahead > -OVERTAKEN;
        // Sent again after a packet that overtook it, it is still before the first one seen.
        let is_resend = ahead <= 0
            && (is_same || psn >= 0 && !differs && (is_unacknowledged || has_come_round));
        if comes_round {
            requester.zero_identity = identity;
            return at;
        }
        if is_resend || is_overtaken {
            requester.zero_identity = requester.zero_identity.or(identity);
            return at;
        }
        let (key, epoch) = (flow.key, flow.epoch);
        let next = self.begin_flow(key, epoch + 1, arrival);
        self.flows.at_mut(next).requester_mut().zero_identity = identity;
        next
    }

    /// The epoch of `at` is over. A reverse that only answers has no PSN 0 of its own and ends with
    /// it; one with requests continues.
    pub(super) fn close_reverse(&mut self, at: u32) {
        let Some(reverse) = self.flows.at(at).reverse else { return };
        let answers = self.flows.at_mut(reverse.flow);
        answers.is_closed |= answers.requester().requests.first().is_none();
        if !answers.is_closed && !answers.is_superseded {
            self.flows.unlink(at);
        }
    }
}
