//! The request space of one flow: which PSNs were seen, which were skipped, and how a packet
//! below the highest one is classified.
//!
//! A packet at or below `high` is, by the first rule that applies:
//!
//! 1. its PSN was seen before: retransmitted;
//! 2. IPv4 identifications are proven to increase on the flow: older than the packet that carried
//!    `high`: out of order (sent first, arrived late), newer: retransmitted;
//! 3. it fills a hole: next to another packet below `high`: retransmitted, alone: out of order
//!    (inferred);
//! 4. else ambiguous: sent before the capture began.
//!
//! A NAK decides nothing here: go-back-N receivers NAK reordering too.

use serde::{Deserialize, Serialize};

use super::disorder::{Disorder, Fill, SequenceCounts};
use super::identification::{self, Identifications};
use super::jump::Jump;
use super::sighting::Sighting;
use crate::model::psn::Psn;
use crate::model::time::Timestamp;

/// A request packet as the request space sees it.
#[derive(Clone, Copy, Debug)]
pub struct RequestArrival {
    /// PSN of the packet.
    pub psn: Psn,
    /// PSNs it consumes: 1, or one per response packet of a READ request.
    pub span: u32,
    /// Most PSNs it may consume, while the path MTU of a READ is unknown.
    pub span_limit: u32,
    /// When the tap saw it.
    pub time: Timestamp,
    /// Number of its frame.
    pub frame: u64,
    /// IPv4 identification, if it has one.
    pub identification: Option<u16>,
}

/// Classification of a request packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestObservation {
    /// Its PSN is new on this flow.
    pub is_new: bool,
    /// It, or the previous packet, is where the sender went back.
    pub jump: Option<Jump>,
    /// It continues a retransmission.
    pub is_resent: bool,
}

/// State of one flow's request space.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RequestSpace {
    started: bool,
    first: Psn,
    last: Psn,
    /// The highest PSN seen, on the wire's circle and unwrapped (`first` is at 0).
    high: Psn,
    high_unwrapped: i64,
    /// PSNs above `high` that a READ of unknown packet count may have taken.
    read_allowance: u32,
    identifications: Identifications,
    /// The newest identification seen.
    newest_identification: u16,
    /// PSN after the last packet behind `high`, while nothing else came in between: the sender
    /// continues from there, perhaps with a loss before the tap.
    run_next: Option<i64>,
    /// Whether [`Disorder::undecided_fill`] is set.
    is_undecided: bool,
    last_request: Timestamp,
    /// Created with the first packet out of order; most flows have none.
    disorder: Option<Box<Disorder>>,
}

impl Default for RequestSpace {
    fn default() -> Self {
        Self {
            started: false,
            first: Psn::default(),
            last: Psn::default(),
            high: Psn::default(),
            high_unwrapped: 0,
            read_allowance: 0,
            identifications: Identifications::default(),
            newest_identification: 0,
            run_next: None,
            is_undecided: false,
            last_request: Timestamp::EPOCH,
            disorder: None,
        }
    }
}

impl RequestSpace {
    /// Processes the next request packet of the flow.
    #[inline]
    pub fn observe(&mut self, arrival: &RequestArrival) -> RequestObservation {
        let ahead = arrival.psn.distance_from(self.high);
        let is_next = ahead == 1 && self.started && !self.is_undecided;
        let observation = if is_next {
            self.advance(1, arrival);
            RequestObservation { is_new: true, jump: None, is_resent: false }
        } else {
            self.observe_out_of_line(ahead, arrival)
        };
        self.last = arrival.psn;
        self.last_request = arrival.time;
        observation
    }

    /// Processes `packets` consecutive packets from `psn` on, of which only the number is known;
    /// returns whether they are next in order.
    #[must_use]
    pub fn observe_run(&mut self, psn: Psn, packets: u32, last_time: Timestamp) -> bool {
        let is_next = psn.distance_from(self.high) == 1 && self.started && !self.is_undecided;
        if is_next {
            let last = psn.plus(packets.saturating_sub(1));
            self.high = last;
            self.high_unwrapped += i64::from(packets);
            self.read_allowance = 0;
            self.run_next = None;
            self.last = last;
            self.last_request = last_time;
        }
        is_next
    }

    /// Processes a packet of a queue pair whose PSNs are shared by many receivers: a missing PSN
    /// means nothing here.
    pub fn observe_unordered(&mut self, psn: Psn) {
        if !self.started {
            self.started = true;
            self.first = psn;
        }
        self.last = psn;
        self.high = psn;
    }

    /// PSN of the first request packet; `None` when there was none.
    #[must_use]
    pub fn first(&self) -> Option<Psn> {
        self.started.then_some(self.first)
    }

    /// PSN of the last request packet; `None` when there was none.
    #[must_use]
    pub fn last(&self) -> Option<Psn> {
        self.started.then_some(self.last)
    }

    /// When the latest request was sent.
    #[must_use]
    pub const fn last_time(&self) -> Timestamp {
        self.last_request
    }

    /// The highest PSN seen; `None` when there was no request.
    #[must_use]
    pub fn high(&self) -> Option<Psn> {
        self.started.then_some(self.high)
    }

    /// From the first PSN seen to the highest; 0 when there was no request.
    #[must_use]
    pub const fn length(&self) -> i64 {
        self.high_unwrapped
    }

    /// The unwrapped value of `psn` nearest to `high`: 0 is the first PSN seen.
    #[must_use]
    pub fn unwrap(&self, psn: Psn) -> i64 {
        self.high_unwrapped + i64::from(psn.distance_from(self.high))
    }

    /// The PSN on the wire of an unwrapped one.
    #[must_use]
    pub fn wrap(&self, psn: i64) -> Psn {
        // Only the low 24 bits count.
        self.high.plus((psn - self.high_unwrapped) as u32)
    }

    /// Whether the packet with the unwrapped PSN `psn` can have been sent by now.
    #[must_use]
    pub fn has_sent(&self, psn: i64) -> bool {
        self.started && psn <= self.high_unwrapped + i64::from(self.read_allowance)
    }

    /// Whether a packet between these two (unwrapped) has not been seen yet.
    #[must_use]
    pub fn misses_any(&self, start: i64, end: i64) -> bool {
        self.disorder.as_ref().is_some_and(|disorder| disorder.misses_any(start, end))
    }

    /// Processes a cumulative acknowledgement up to `acknowledged` (unwrapped). Holes below it that
    /// no retransmission explains were lost by the capture.
    pub fn acknowledge(&mut self, acknowledged: i64) {
        if let Some(disorder) = &mut self.disorder {
            disorder.acknowledge(acknowledged);
        }
    }

    /// A READ request's packet count became known later: `span` PSNs from `psn` on.
    pub fn extend_read(&mut self, psn: Psn, span: u32) {
        if psn == self.high && self.read_allowance > 0 {
            let further = span.saturating_sub(1);
            self.high = self.high.plus(further);
            self.high_unwrapped += i64::from(further);
            self.read_allowance = 0;
        } else if span > 1 && psn.distance_from(self.high) < 0 {
            // It was retransmitted, and its other PSNs are still missing.
            let rest = self.unwrap(psn) + 1;
            if let Some(disorder) = &mut self.disorder {
                disorder.fill_rest_of_read(rest, span - 1);
            }
        }
    }

    /// The READ at the end took fewer PSNs than its answer: `next` is the first that it left.
    pub fn end_read_before(&mut self, next: Psn) {
        let surplus = self.high.distance_from(next) + 1;
        self.high = next.plus(Psn::MAX.value());
        self.high_unwrapped -= i64::from(surplus);
    }

    /// The sums so far, with open questions decided as they stand.
    #[must_use]
    pub fn counts(&self) -> SequenceCounts {
        let Some(disorder) = &self.disorder else { return SequenceCounts::default() };
        disorder.counts_so_far()
    }

    /// The first packet that came out of order.
    #[must_use]
    pub fn first_late(&self) -> Option<Sighting> {
        self.disorder.as_ref()?.first_late()
    }

    fn disorder(&mut self) -> &mut Disorder {
        self.disorder.get_or_insert_default()
    }

    /// Its IPv4 identifications.
    #[must_use]
    pub const fn identifications(&self) -> &Identifications {
        &self.identifications
    }

    /// Moves `high` forward by `ahead`.
    #[inline]
    fn advance(&mut self, ahead: u32, arrival: &RequestArrival) {
        let further = arrival.span.saturating_sub(1);
        self.high = arrival.psn.plus(further);
        self.high_unwrapped += i64::from(ahead) + i64::from(further);
        self.read_allowance = arrival.span_limit.saturating_sub(arrival.span);
        self.run_next = None;
        self.identifications.advance(arrival.identification);
        self.newest_identification = self.identifications.reference();
    }

    #[cold]
    fn observe_out_of_line(&mut self, ahead: i32, arrival: &RequestArrival) -> RequestObservation {
        if !self.started {
            self.start(arrival);
            return RequestObservation { is_new: true, jump: None, is_resent: false };
        }
        let psn = self.high_unwrapped + i64::from(ahead);
        let decided = self.decide_fill(psn, ahead);
        if ahead > 0 {
            self.move_ahead(ahead as u32, arrival);
            return RequestObservation { is_new: true, jump: decided, is_resent: false };
        }
        let behind = self.observe_behind(psn, arrival);
        RequestObservation { jump: decided.or(behind.jump), ..behind }
    }

    fn start(&mut self, arrival: &RequestArrival) {
        self.started = true;
        self.first = arrival.psn;
        self.high = arrival.psn.plus(arrival.span.saturating_sub(1));
        self.high_unwrapped = i64::from(arrival.span.saturating_sub(1));
        self.read_allowance = arrival.span_limit.saturating_sub(arrival.span);
        self.identifications.start(arrival.identification);
        self.newest_identification = self.identifications.reference();
    }

    /// A packet ahead of `high`: opens a hole if it skips PSNs.
    fn move_ahead(&mut self, ahead: u32, arrival: &RequestArrival) {
        let skipped = ahead - 1;
        if skipped > self.read_allowance {
            let start = self.high_unwrapped + 1;
            let end = start + i64::from(skipped);
            self.disorder().open(start, end, arrival.time);
        }
        self.advance(ahead, arrival);
    }

    /// A packet at or behind `high`.
    fn observe_behind(&mut self, psn: i64, arrival: &RequestArrival) -> RequestObservation {
        let filled = self.disorder().fill(psn, arrival.span);
        let is_sent_now = self.is_sent_now(arrival.identification);
        let continues_run = self.run_next.is_some_and(|next| next <= psn);
        let jump = Jump {
            target: psn,
            time: arrival.time,
            hole_opened: filled,
            previous_request: self.last_request,
        };
        let seen_before = filled.is_none() && psn >= 0;
        let is_retransmitted = if seen_before {
            Some(true)
        } else if self.identifications.is_proven() {
            let late = arrival.identification.is_some_and(|id| !self.identifications.is_newer(id));
            Some(!late)
        } else if filled.is_some() && self.run_next.is_some() {
            Some(true)
        } else {
            None
        };
        self.run_next = Some(psn + i64::from(arrival.span.max(1)));
        match is_retransmitted {
            Some(true) => {
                self.disorder().counts.retransmitted_packets += 1;
                // A copy that was itself overtaken says nothing new about the sender.
                let starts = !continues_run && is_sent_now;
                if starts {
                    self.disorder().mark_jumped();
                }
                RequestObservation {
                    is_new: filled.is_some(),
                    jump: starts.then_some(jump),
                    is_resent: true,
                }
            }
            Some(false) => {
                self.disorder().late(Sighting { time: arrival.time, frame: arrival.frame });
                self.run_next = None;
                RequestObservation { is_new: true, jump: None, is_resent: false }
            }
            None if filled.is_some() => {
                self.disorder().undecided_fill = Some(Fill { jump, frame: arrival.frame });
                self.is_undecided = true;
                RequestObservation { is_new: true, jump: None, is_resent: false }
            }
            None => {
                self.disorder().counts.ambiguous_packets += 1;
                RequestObservation { is_new: true, jump: None, is_resent: false }
            }
        }
    }

    /// Decides a fill that waited for its neighbour: another packet behind `high` makes it part of
    /// a retransmission. Returns where the sender went back in that case.
    fn decide_fill(&mut self, next: i64, ahead: i32) -> Option<Jump> {
        let fill = self.disorder.as_mut()?.undecided_fill.take()?;
        self.is_undecided = false;
        if ahead <= 0 && next > fill.jump.target {
            self.disorder().counts.retransmitted_packets += 1;
            self.disorder().mark_jumped();
            Some(fill.jump)
        } else {
            self.disorder().late(fill.sighting());
            self.run_next = None;
            None
        }
    }

    /// Whether this packet was sent after every packet seen so far, on the available evidence.
    fn is_sent_now(&mut self, identification: Option<u16>) -> bool {
        match identification {
            Some(id) if self.identifications.is_proven() => {
                let newer = identification::is_newer(id, self.newest_identification);
                if newer {
                    self.newest_identification = id;
                }
                newer
            }
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrive(space: &mut RequestSpace, psn: u32, span: u32) -> RequestObservation {
        space.observe(&RequestArrival {
            psn: Psn::new(psn),
            span,
            span_limit: span,
            time: Timestamp::EPOCH,
            frame: 1,
            identification: None,
        })
    }

    #[test]
    fn a_lost_read_is_one_packet_and_its_resend_fills_all_its_numbers() {
        let mut space = RequestSpace::default();
        for (psn, span) in [(100, 1), (109, 1), (101, 8), (109, 1), (110, 1)] {
            arrive(&mut space, psn, span);
        }
        space.acknowledge(10);
        let counts = space.counts();
        assert_eq!((counts.gap_packets, counts.retransmitted_packets), (1, 2));
        assert_eq!((counts.uncaptured_packets, counts.unresolved_packets), (0, 0));
    }

    #[test]
    fn a_read_whose_length_is_learned_later_fills_them_then() {
        let mut space = RequestSpace::default();
        for psn in [100, 109, 101] {
            arrive(&mut space, psn, 1);
        }
        space.extend_read(Psn::new(101), 8);
        let counts = space.counts();
        assert_eq!((counts.gap_packets, counts.unresolved_packets), (1, 0));
    }
}
