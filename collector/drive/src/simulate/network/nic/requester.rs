//! The sending half of a reliable connection (IBTA volume 1, 9.7): cuts messages into packets,
//! tracks acknowledgements, and after a loss goes back (go-back-N) or sends one packet again
//! (selective repeat).
//!
//! Packets are numbered from 0 without wrapping; a PSN is the low 24 bits.

use std::collections::VecDeque;

use crate::simulate::network::notice::Work;
use crate::simulate::network::packet::{Reth, Write};
use crate::simulate::network::picoseconds::Picoseconds;

/// Most unacknowledged packets: PSNs half a circle apart would be ambiguous.
const WINDOW: u64 = 1 << 22;

/// A message that is not fully acknowledged.
#[derive(Debug)]
struct Message {
    work: Work,
    /// Number of its first packet.
    first: u64,
    packets: u64,
    started: bool,
}

impl Message {
    /// The packet with this number, which does not ask for an ACK.
    fn packet(&self, number: u64, destination_qpn: u32, mtu: u16) -> Write {
        let work = &self.work;
        let place = number - self.first;
        let is_first = place == 0;
        let last = place + 1 == self.packets;
        let payload = (u64::from(work.bytes) - place * u64::from(mtu)).min(u64::from(mtu));
        Write {
            destination_qpn,
            psn: psn(number),
            ack_request: false,
            first: is_first.then_some(Reth {
                remote_address: work.remote_address,
                rkey: work.rkey,
                bytes: work.bytes,
            }),
            last,
            immediate: work.immediate.filter(|_| last),
            payload_bytes: payload as u16,
            head: work.head.clone().filter(|_| is_first),
        }
    }
}

/// The next packet of a requester.
#[derive(Debug)]
pub(in crate::simulate::network) struct Request {
    pub(in crate::simulate::network) write: Write,
    /// The work request that it starts, when it is sent for the first time.
    pub(in crate::simulate::network) starts: Option<u64>,
}

/// The sending half of a queue pair.
#[derive(Debug, Default)]
pub(in crate::simulate::network) struct Requester {
    messages: VecDeque<Message>,
    /// Index of the message that `next` belongs to.
    sending: usize,
    /// Number of the next packet to send.
    next: u64,
    /// Packets before this one are acknowledged.
    acknowledged: u64,
    /// Packets before this one were sent at least once.
    sent: u64,
    /// Packets of all messages.
    posted: u64,
    /// Packets sent since the last ACK request.
    unasked: u32,
    /// Since when a requested ACK has been outstanding.
    awaiting: Option<Picoseconds>,
    /// ACKs were requested up to this packet.
    asked: u64,
    /// Timeouts without progress.
    attempts: u8,
    /// Whether retries ran out.
    gave_up: bool,
    /// Packets to send again before others, by number.
    repeats: VecDeque<u64>,
}

impl Requester {
    pub(in crate::simulate::network) fn post(&mut self, work: Work, mtu: u16) {
        let packets = u64::from(work.bytes.div_ceil(u32::from(mtu))).max(1);
        self.messages.push_back(Message { work, first: self.posted, packets, started: false });
        self.posted += packets;
    }

    pub(in crate::simulate::network) fn can_send(&self) -> bool {
        let has_new = self.next < self.posted && self.next - self.acknowledged < WINDOW;
        has_new || !self.repeats.is_empty()
    }

    pub(in crate::simulate::network) const fn gave_up(&self) -> bool {
        self.gave_up
    }

    /// The next packet.
    pub(in crate::simulate::network) fn take(
        &mut self,
        destination_qpn: u32,
        mtu: u16,
        ack_every: u32,
        now: Picoseconds,
    ) -> Option<Request> {
        if let Some(number) = self.repeats.pop_front() {
            return self.repeated(number, destination_qpn, mtu, now);
        }
        if !self.can_send() {
            return None;
        }
        self.unasked += 1;
        let message = self.messages.get_mut(self.sending)?;
        let mut write = message.packet(self.next, destination_qpn, mtu);
        let last = write.last;
        write.ack_request = last || self.unasked >= ack_every;
        let ack_request = write.ack_request;
        let starts = (!message.started).then_some(message.work.id);
        message.started = true;
        self.next += 1;
        self.sent = self.sent.max(self.next);
        if last {
            self.sending += 1;
        }
        if ack_request {
            self.unasked = 0;
            self.asked = self.next;
            self.awaiting = self.awaiting.or(Some(now));
        }
        Some(Request { write, starts })
    }

    /// One packet again; it asks for an ACK.
    fn repeated(
        &mut self,
        number: u64,
        destination_qpn: u32,
        mtu: u16,
        now: Picoseconds,
    ) -> Option<Request> {
        let at = self.messages.partition_point(|m| m.first + m.packets <= number);
        let mut write = self.messages.get(at)?.packet(number, destination_qpn, mtu);
        write.ack_request = true;
        self.asked = self.asked.max(number + 1);
        self.awaiting = self.awaiting.or(Some(now));
        Some(Request { write, starts: None })
    }

    /// Since when an ACK has been outstanding.
    pub(in crate::simulate::network) const fn awaiting(&self) -> Option<Picoseconds> {
        self.awaiting
    }

    /// Acknowledges everything up to and including `psn`; returns whether that is new.
    pub(in crate::simulate::network) fn acknowledge(&mut self, psn: u32, now: Picoseconds) -> bool {
        self.arrived_before(self.number(psn).wrapping_add(1), now)
    }

    /// `psn` is missing and everything before it has arrived; returns whether that is new.
    pub(in crate::simulate::network) fn go_back(&mut self, psn: u32, now: Picoseconds) -> bool {
        let number = self.number(psn);
        if number < self.acknowledged || number >= self.sent {
            return false;
        }
        self.arrived_before(number, now);
        self.resume();
        true
    }

    /// `psn` is missing, whatever came after it: sends it alone again; returns whether that is new.
    pub(in crate::simulate::network) fn repeat(&mut self, psn: u32, now: Picoseconds) -> bool {
        let number = self.number(psn);
        if number < self.acknowledged || number >= self.sent {
            return false;
        }
        self.arrived_before(number, now);
        if !self.repeats.contains(&number) {
            self.repeats.push_back(number);
        }
        true
    }

    /// An ACK is overdue: retransmits everything, unless `retries` ran out; with selective repeat
    /// only the last packet that asked for one, whose arrival shows what is missing.
    pub(in crate::simulate::network) fn time_out(&mut self, retries: u8, is_selective: bool) {
        self.attempts = self.attempts.saturating_add(1);
        self.gave_up = self.attempts > retries;
        if !is_selective {
            return self.resume();
        }
        self.awaiting = None;
        let last = self.asked.saturating_sub(1).max(self.acknowledged);
        if last < self.sent && !self.repeats.contains(&last) {
            self.repeats.push_back(last);
        }
    }

    /// Removes a fully acknowledged work request.
    pub(in crate::simulate::network) fn take_completed(&mut self) -> Option<u64> {
        let first = self.messages.front()?;
        if first.first + first.packets > self.acknowledged {
            return None;
        }
        self.sending -= 1;
        self.messages.pop_front().map(|message| message.work.id)
    }

    /// Removes all unacknowledged work requests: the queue pair gave up.
    pub(in crate::simulate::network) fn take_failed(&mut self) -> Vec<u64> {
        self.next = self.posted;
        self.awaiting = None;
        self.sending = 0;
        self.repeats.clear();
        self.messages.drain(..).map(|message| message.work.id).collect()
    }

    fn arrived_before(&mut self, number: u64, now: Picoseconds) -> bool {
        if number <= self.acknowledged || number > self.sent {
            return false;
        }
        self.acknowledged = number;
        self.attempts = 0;
        self.repeats.retain(|repeat| *repeat >= number);
        self.awaiting = (self.acknowledged < self.asked).then_some(now);
        if self.next < number {
            self.move_to(number);
        }
        true
    }

    /// Retransmits from the first packet not known to have arrived.
    fn resume(&mut self) {
        self.move_to(self.acknowledged);
        self.asked = self.acknowledged;
        self.awaiting = None;
        self.unasked = 0;
    }

    fn move_to(&mut self, number: u64) {
        self.next = number;
        self.sending = self.messages.partition_point(|m| m.first + m.packets <= number);
    }

    /// The number of the packet with `psn` nearest to the acknowledged ones.
    fn number(&self, psn: u32) -> u64 {
        nearest(self.acknowledged, psn)
    }
}

/// The low 24 bits of a packet's number.
pub(super) const fn psn(number: u64) -> u32 {
    (number & 0xff_ffff) as u32
}

/// The number with this `psn` that is less than half a circle from `to`.
pub(super) const fn nearest(to: u64, psn: u32) -> u64 {
    let ahead = psn.wrapping_sub(self::psn(to)) & 0xff_ffff;
    if ahead < 0x80_0000 {
        to.wrapping_add(ahead as u64)
    } else {
        to.wrapping_add(ahead as u64).wrapping_sub(0x100_0000)
    }
}
