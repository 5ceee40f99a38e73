//! The requester of a queue pair: its send queue, PSNs, go-back-N, timer and retries.
//!
//! InfiniBand Architecture Specification 1.4, volume 1, 9.7.2 (PSNs), 9.7.5 (answers), 9.9.2
//! (requester errors). A state machine without sockets or clock: packets out by
//! [`Requester::next_part`], answers in by [`Requester::on_answer`].

use std::collections::VecDeque;
use std::ops::Range;

use super::super::{Completion, Done, RegionId, Remote, Write};
use super::congestion::ReactionPoint;
use super::counters::Counters;
use super::packet::{Answer, End, Syndrome, Target};
use super::psn;
use super::window::Window;

/// The requester asks for an ACK at least once in this many bytes.
const ACK_BYTES: usize = 64 << 10;

/// Unit of the RNR timer codes, in ns (specification table 45).
const RNR_UNIT: u64 = 10_000;
const RNR_UNITS: [u64; 32] = [
    65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536,
    2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
];

/// The sending half of a queue pair. Times are ns of one monotonic clock.
#[derive(Debug)]
pub struct Requester {
    qpn: u32,
    mtu: usize,
    timeout_ns: Option<u64>,
    retries: u8,
    retries_left: u8,
    /// Posted work without acknowledgement, in order.
    works: VecDeque<Work>,
    /// Index in [`Self::works`] of the work that [`Self::next`] belongs to, or of an earlier one.
    cursor: usize,
    /// Everything before this PSN is acknowledged.
    acknowledged: u64,
    /// The next PSN to send; it goes back after a loss.
    next: u64,
    /// One past the highest PSN ever sent.
    sent: u64,
    /// One past the last PSN of the last work.
    end: u64,
    /// One past the last PSN that requested an ACK, since it went back.
    asked: u64,
    /// Runs while a requested ACK is outstanding (specification 9.7.6.1.3).
    timer: Option<u64>,
    /// The receiver was not ready: nothing is sent before this time.
    hold_until: u64,
    window: Window,
    rate: ReactionPoint,
}

#[derive(Debug)]
struct Work {
    write: Write,
    first: u64,
    last: u64,
    first_sent_ns: Option<u64>,
}

/// A packet to send; its payload is in a region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// 24 bits.
    pub psn: u32,
    /// Set in the first packet of a message.
    pub target: Option<Target>,
    /// Whether it is the message's last packet.
    pub end: End,
    /// Whether the responder must acknowledge at once.
    pub ack_request: bool,
    /// Region of its payload.
    pub region: RegionId,
    /// Range of its payload in the region.
    pub range: Range<usize>,
}

/// Why a requester gives up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// This PSN, the oldest without an answer, has used up its retries.
    RetriesExceeded(u32),
    /// The responder refused this PSN for good.
    Refused(u32, Syndrome),
}

impl Requester {
    /// Ready to send to `remote`, at most at `line_rate` bytes per second.
    #[must_use]
    pub fn new(qpn: u32, remote: &Remote, line_rate: f64) -> Self {
        // 0 is "never" (specification 9.9.2.1.1); 31 is the largest code.
        let timeout_ns = (remote.timeout > 0).then(|| 4096 << remote.timeout.min(31));
        Self {
            qpn,
            mtu: usize::from(remote.mtu),
            timeout_ns,
            retries: remote.retries,
            retries_left: remote.retries,
            works: VecDeque::new(),
            cursor: 0,
            acknowledged: 0,
            next: 0,
            sent: 0,
            end: 0,
            asked: 0,
            timer: None,
            hold_until: 0,
            window: Window::default(),
            rate: ReactionPoint::new(line_rate),
        }
    }

    /// Number of incomplete work requests.
    #[must_use]
    pub fn outstanding(&self) -> usize {
        self.works.len()
    }

    /// Whether nothing is to be sent, unless an answer or the timer requires it again.
    #[must_use]
    pub fn has_sent_all(&self) -> bool {
        self.next == self.end
    }

    /// Bytes in flight, in full packets.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        (self.next - self.acknowledged) as usize * self.mtu
    }

    /// Appends to the send queue.
    pub fn post(&mut self, write: Write) {
        let packets = write.bytes.div_ceil(self.mtu).max(1) as u64;
        let first = self.end;
        self.end += packets;
        self.works.push_back(Work { write, first, last: self.end - 1, first_sent_ns: None });
    }

    /// The next packet to send, if windows, timers and the rate allow one. `room` is the bytes that
    /// all queue pairs together may still send to the peer.
    pub fn next_part(&mut self, now: u64, room: usize, counters: &mut Counters) -> Option<Part> {
        let in_flight = self.in_flight();
        let room = room.min(self.window.bytes().saturating_sub(in_flight));
        // One packet in flight is always allowed: its answer frees the window.
        if self.next == self.end
            || in_flight > 0 && room < self.mtu
            || self.blocked_until(now) > now
        {
            return None;
        }
        while self.works.get(self.cursor)?.last < self.next {
            self.cursor += 1;
        }
        let work = self.works.get_mut(self.cursor)?;
        let write = &work.write;
        let before = (self.next - work.first) as usize * self.mtu;
        let bytes = (write.bytes - before).min(self.mtu);
        let target = Target {
            address: write.remote_address,
            rkey: write.rkey,
            bytes: u32::try_from(write.bytes).unwrap_or(u32::MAX),
        };
        let is_last = self.next == work.last;
        let end = match write.immediate {
            _ if !is_last => End::More,
            Some(immediate) => End::LastWithImmediate(immediate),
            None => End::Last,
        };
        let every = (ACK_BYTES / self.mtu).max(1) as u64;
        let start = write.offset + before;
        let part = Part {
            psn: psn::wire(self.next),
            target: (before == 0).then_some(target),
            end,
            ack_request: is_last || self.next % every == every - 1 || room < 2 * self.mtu,
            region: write.region,
            range: start..start + bytes,
        };
        work.first_sent_ns.get_or_insert(now);
        counters.retransmitted += u64::from(self.next < self.sent);
        self.next += 1;
        self.sent = self.sent.max(self.next);
        self.rate.on_sent(bytes, now);
        if part.ack_request {
            self.asked = self.next;
            self.timer = self.timer.or(self.timeout_ns.map(|timeout| now + timeout));
        }
        Some(part)
    }

    /// When [`Self::on_timer`] or [`Self::next_part`] is due without an answer.
    pub fn wakes_at(&mut self, now: u64) -> Option<u64> {
        let blocked = self.blocked_until(now);
        let sends_at = (self.next < self.end && blocked > now).then_some(blocked);
        self.timer.into_iter().chain(sends_at).min()
    }

    /// Processes an ACK or NAK received at `now`.
    ///
    /// # Errors
    /// It puts the queue pair into error.
    pub fn on_answer(
        &mut self,
        wire_psn: u32,
        answer: Answer,
        now: u64,
        counters: &mut Counters,
        completions: &mut Vec<Completion>,
    ) -> Result<(), Failure> {
        let ahead = psn::distance(wire_psn, self.acknowledged);
        let Some(psn) = self.acknowledged.checked_add_signed(ahead) else {
            counters.stale_answers += 1;
            return Ok(());
        };
        if psn < self.acknowledged || psn >= self.sent {
            counters.stale_answers += 1;
            return Ok(());
        }
        counters.answers_accepted += 1;
        let is_ack = answer.syndrome == Syndrome::Ack;
        self.acknowledge(if is_ack { psn + 1 } else { psn }, now, completions);
        match answer.syndrome {
            Syndrome::Ack => Ok(()),
            Syndrome::SequenceError => {
                counters.sequence_naks_received += 1;
                self.retry()
            }
            Syndrome::ReceiverNotReady(code) => {
                // NET/IB asks for unlimited retries (rnr_retry 7).
                self.go_back();
                self.hold_until = now + RNR_UNITS[usize::from(code & 0x1f)] * RNR_UNIT;
                Ok(())
            }
            refusal => Err(Failure::Refused(wire_psn, refusal)),
        }
    }

    /// Reduces the rate.
    pub fn on_cnp(&mut self, now: u64) {
        self.rate.on_cnp(now);
    }

    /// Handles overdue answers.
    ///
    /// # Errors
    /// All retries are used up.
    pub fn on_timer(&mut self, now: u64, counters: &mut Counters) -> Result<(), Failure> {
        if self.timer.is_none_or(|timer| now < timer) {
            return Ok(());
        }
        counters.timeouts += 1;
        self.retry()
    }

    /// Fails all work requests with `why`.
    pub fn fail(&mut self, why: &str, completions: &mut Vec<Completion>) {
        completions.extend(self.works.drain(..).map(|work| Completion {
            qpn: self.qpn,
            id: work.write.id,
            outcome: Err(why.to_owned()),
            packets_ns: None,
        }));
        self.cursor = 0;
        self.next = self.end;
        self.acknowledged = self.end;
        self.timer = None;
    }

    /// The time before which the rate or the receiver blocks packets.
    fn blocked_until(&mut self, now: u64) -> u64 {
        self.hold_until.max(self.rate.next_packet_ns(now))
    }

    /// Acknowledges everything before `psn`.
    fn acknowledge(&mut self, psn: u64, now: u64, completions: &mut Vec<Completion>) {
        if psn == self.acknowledged {
            return;
        }
        self.window.on_acknowledged((psn - self.acknowledged) as usize * self.mtu);
        self.acknowledged = psn;
        self.next = self.next.max(psn);
        self.retries_left = self.retries;
        let is_waiting = self.asked > psn;
        self.timer = self.timeout_ns.filter(|_| is_waiting).map(|timeout| now + timeout);
        while let Some(work) = self.works.pop_front_if(|work| work.last < psn) {
            self.cursor = self.cursor.saturating_sub(1);
            completions.push(Completion {
                qpn: self.qpn,
                id: work.write.id,
                outcome: Ok(Done::Written),
                packets_ns: work.first_sent_ns.map(|first| (first, now)),
            });
        }
    }

    fn retry(&mut self) -> Result<(), Failure> {
        let Some(left) = self.retries_left.checked_sub(1) else {
            return Err(Failure::RetriesExceeded(psn::wire(self.acknowledged)));
        };
        self.retries_left = left;
        self.window.on_loss();
        self.go_back();
        Ok(())
    }

    fn go_back(&mut self) {
        self.next = self.acknowledged;
        self.cursor = 0;
        self.asked = self.acknowledged;
        self.timer = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REMOTE: Remote =
        Remote { qpn: 2, gid: [0; 16], mtu: 256, traffic_class: 2, timeout: 8, retries: 7 };

    /// The PSNs of everything that may be sent now.
    fn sent(requester: &mut Requester, counters: &mut Counters) -> Vec<u32> {
        let parts = std::iter::from_fn(|| requester.next_part(0, 1 << 20, counters));
        parts.map(|part| part.psn).collect()
    }

    #[test]
    fn psns_go_on_where_24_bits_end() {
        let mut requester = Requester::new(1, &REMOTE, 1e9);
        let near_end = (1 << 24) - 2;
        (requester.acknowledged, requester.next) = (near_end, near_end);
        (requester.sent, requester.end) = (near_end, near_end);
        let (region, immediate) = (RegionId(0), None);
        let (id, offset, bytes, remote_address, rkey) = (5, 0, 4 * 256, 0, 0);
        requester.post(Write { id, region, offset, bytes, remote_address, rkey, immediate });

        let (mut counters, mut completions) = (Counters::default(), Vec::new());
        assert_eq!(sent(&mut requester, &mut counters), [0x00ff_fffe, 0x00ff_ffff, 0, 1]);
        let nak = Answer { syndrome: Syndrome::SequenceError, msn: 0 };
        requester.on_answer(0, nak, 1, &mut counters, &mut completions).unwrap();
        assert_eq!(sent(&mut requester, &mut counters), [0, 1]);
        let ack = Answer { syndrome: Syndrome::Ack, msn: 1 };
        requester.on_answer(1, ack, 2, &mut counters, &mut completions).unwrap();
        assert_eq!((counters.retransmitted, completions.len()), (2, 1));
    }

    #[test]
    fn the_peers_room_is_kept_but_for_one_packet() {
        let mut requester = Requester::new(1, &REMOTE, 1e9);
        let (region, immediate) = (RegionId(0), None);
        let (id, offset, bytes, remote_address, rkey) = (5, 0, 4 * 256, 0, 0);
        requester.post(Write { id, region, offset, bytes, remote_address, rkey, immediate });
        let mut counters = Counters::default();
        let first = requester.next_part(0, 0, &mut counters).unwrap();
        assert!(first.ack_request, "nothing else brings an answer");
        assert_eq!(requester.next_part(0, 255, &mut counters), None);
        let second = requester.next_part(0, 600, &mut counters).unwrap();
        assert!(!second.ack_request);
        assert_eq!(requester.wakes_at(0), Some(4096 << 8));
    }
}
