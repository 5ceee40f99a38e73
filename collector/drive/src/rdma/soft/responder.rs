//! The responder of a queue pair: what it expects, where that is written, and what it answers.
//!
//! InfiniBand Architecture Specification 1.4, volume 1, 9.7.4 (order and checks), 9.7.5 (answers),
//! 9.9.3 (responder errors). A state machine without sockets or clock.

use std::collections::VecDeque;

use super::super::{Completion, Done, RegionId, Remote};
use super::counters::Counters;
use super::memory::Memory;
use super::packet::{Answer, End, Syndrome, WritePart};
use super::psn;

/// `min_rnr_timer` of NET/IB: 0.64 ms (`src/transport/net_ib.cc` of NCCL 2.21.5).
const RNR_TIMER: u8 = 12;

/// The receiving half of a queue pair.
#[derive(Debug)]
pub struct Responder {
    qpn: u32,
    mtu: usize,
    expected: u64,
    /// Completed messages.
    completed: u32,
    message: Option<Message>,
    /// Posted receives, in order.
    receives: VecDeque<u64>,
    /// A NAK is outstanding: no answer before the expected packet arrives.
    is_waiting: bool,
    /// Unsent answers, in order; at most one ACK, at the end.
    answers: VecDeque<(u32, Answer)>,
}

/// An incomplete message.
#[derive(Clone, Copy, Debug)]
struct Message {
    region: RegionId,
    position: usize,
    end: usize,
    bytes: u32,
    first_ns: u64,
}

/// What happened to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Accepted; more of its message follows.
    Taken,
    /// Accepted; its message is complete.
    MessageEnded,
    /// Dropped, possibly with a NAK.
    Dropped,
    /// Refused for good: the queue pair is in error.
    Fatal(Syndrome),
}

impl Responder {
    /// A responder that expects PSN 0 of `remote`.
    #[must_use]
    pub fn new(qpn: u32, remote: &Remote) -> Self {
        Self {
            qpn,
            mtu: usize::from(remote.mtu),
            expected: 0,
            completed: 0,
            message: None,
            receives: VecDeque::new(),
            is_waiting: false,
            answers: VecDeque::new(),
        }
    }

    /// Number of posted receives.
    #[must_use]
    pub fn posted(&self) -> usize {
        self.receives.len()
    }

    /// Posts a receive.
    pub fn post(&mut self, id: u64) {
        self.receives.push_back(id);
    }

    /// Whether there is an answer to send.
    #[must_use]
    pub fn has_answers(&self) -> bool {
        !self.answers.is_empty()
    }

    /// The next answer to send, with its PSN.
    pub fn next_answer(&mut self) -> Option<(u32, Answer)> {
        self.answers.pop_front()
    }

    /// Processes a packet received at `now`.
    pub fn on_write(
        &mut self,
        wire_psn: u32,
        part: &WritePart<'_>,
        now: u64,
        memory: &mut Memory,
        counters: &mut Counters,
        completions: &mut Vec<Completion>,
    ) -> Verdict {
        if !self.is_expected(wire_psn, counters) {
            return Verdict::Dropped;
        }
        let mut message = match self.place(part, now, memory) {
            Ok(message) => message,
            Err(syndrome) => {
                counters.refused += 1;
                self.answer(self.expected, syndrome);
                return Verdict::Fatal(syndrome);
            }
        };
        let mut receive = None;
        if let End::LastWithImmediate(immediate) = part.end {
            let Some(id) = self.receives.pop_front() else {
                counters.refused += 1;
                counters.rnr_naks_sent += 1;
                self.is_waiting = true;
                self.answer(self.expected, Syndrome::ReceiverNotReady(RNR_TIMER));
                return Verdict::Dropped;
            };
            receive = Some((id, immediate));
        }

        counters.writes_accepted += 1;
        self.is_waiting = false;
        let start = message.position;
        message.position += part.payload.len();
        if let Some(room) = memory.get_mut(message.region).get_mut(start..message.position) {
            room.copy_from_slice(part.payload);
        }
        let has_ended = part.end != End::More;
        self.message = (!has_ended).then_some(message);
        self.expected += 1;
        self.completed = self.completed.wrapping_add(u32::from(has_ended));
        if part.ack_request {
            self.answer(self.expected - 1, Syndrome::Ack);
        }
        if let Some((id, immediate)) = receive {
            completions.push(Completion {
                qpn: self.qpn,
                id,
                outcome: Ok(Done::Received { immediate, bytes: message.bytes }),
                packets_ns: Some((message.first_ns, now)),
            });
        }
        if has_ended { Verdict::MessageEnded } else { Verdict::Taken }
    }

    /// Whether a packet is next in order; answers it if not.
    fn is_expected(&mut self, wire_psn: u32, counters: &mut Counters) -> bool {
        let ahead = psn::distance(wire_psn, self.expected);
        if ahead < 0 {
            counters.duplicates += 1;
            self.answer(self.expected.wrapping_sub(1), Syndrome::Ack);
        } else if ahead > 0 {
            counters.refused += 1;
            if !self.is_waiting {
                self.is_waiting = true;
                counters.sequence_naks_sent += 1;
                self.answer(self.expected, Syndrome::SequenceError);
            }
        }
        ahead == 0
    }

    /// Fails all receives with `why`.
    pub fn fail(&mut self, why: &str, completions: &mut Vec<Completion>) {
        completions.extend(self.receives.drain(..).map(|id| Completion {
            qpn: self.qpn,
            id,
            outcome: Err(why.to_owned()),
            packets_ns: None,
        }));
    }

    /// The message that a packet starts or continues.
    fn place(&self, part: &WritePart<'_>, now: u64, memory: &Memory) -> Result<Message, Syndrome> {
        let message = match (part.target, self.message) {
            (Some(target), None) => {
                let resolved = memory.resolve(target).ok_or(Syndrome::RemoteAccessError)?;
                let (region, range) = resolved;
                let (position, end) = (range.start, range.end);
                Message { region, position, end, bytes: target.bytes, first_ns: now }
            }
            (None, Some(message)) => message,
            _ => return Err(Syndrome::InvalidRequest),
        };
        let left = message.end - message.position;
        let fits = match part.end {
            End::More => part.payload.len() == self.mtu && left > self.mtu,
            End::Last | End::LastWithImmediate(_) => part.payload.len() == left && left <= self.mtu,
        };
        if fits { Ok(message) } else { Err(Syndrome::InvalidRequest) }
    }

    fn answer(&mut self, psn: u64, syndrome: Syndrome) {
        // ACKs are cumulative: a later one replaces an earlier one.
        if syndrome == Syndrome::Ack {
            self.answers.pop_back_if(|(_, answer)| answer.syndrome == Syndrome::Ack);
        }
        let answer = Answer { syndrome, msn: self.completed & 0x00ff_ffff };
        self.answers.push_back((psn::wire(psn), answer));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fastrand::Rng;

    use super::super::packet::Target;

    #[test]
    fn psns_go_on_where_24_bits_end() {
        let remote =
            Remote { qpn: 2, gid: [0; 16], mtu: 256, traffic_class: 2, timeout: 8, retries: 7 };
        let mut responder = Responder::new(1, &remote);
        responder.expected = (1 << 24) - 1;
        let mut memory = Memory::new(&mut Rng::with_seed(1));
        let (mut counters, mut completions) = (Counters::default(), Vec::new());
        let mut take = |psn| {
            let target = Some(Target { address: 0, rkey: 0, bytes: 0 });
            let part = WritePart { target, end: End::Last, ack_request: true, payload: &[] };
            let all = (&mut memory, &mut counters, &mut completions);
            let verdict = responder.on_write(psn, &part, 0, all.0, all.1, all.2);
            (verdict, responder.next_answer().map(|(psn, answer)| (psn, answer.syndrome)))
        };
        let (ended, dropped) = (Verdict::MessageEnded, Verdict::Dropped);
        assert_eq!(take(0), (dropped, Some((0x00ff_ffff, Syndrome::SequenceError))));
        assert_eq!(take(0x00ff_ffff), (ended, Some((0x00ff_ffff, Syndrome::Ack))));
        assert_eq!(take(0), (ended, Some((0, Syndrome::Ack))));
        assert_eq!(take(0x00ff_ffff), (dropped, Some((0, Syndrome::Ack))));
    }
}
