//! A connection of one channel from a rank to the next: messages wait for a buffer, buffers are
//! offered, messages are sent.
//!
//! As in NCCL's proxies (`src/transport/net.cc`, `sendProxyProgress` and `recvProxyProgress`):
//! buffers for a collective are offered once it is enqueued and the previous one has used all of
//! its messages, at most [`WINDOW`] messages ahead of use.

use std::collections::VecDeque;

use super::ring_step::{End, Passed, Stamp, Tally};
use crate::collective::Kind;
use crate::collective::slicing::{SLOT_BYTES, SLOTS, Slicing};
use crate::simulate::network::notice::QueuePairId;
use crate::simulate::time::VirtualTime;
use crate::truth::{LinkRole, RingStep};
use crate::wire::cts::Cts;

/// Slicing of the collectives in scenarios.
const SLICING: Slicing = Slicing::for_kind(Kind::AllReduce);

/// Messages that fit into a connection's buffer.
pub(super) const WINDOW: usize = (SLOTS / SLICING.slots) as usize;

/// A connection.
#[derive(Debug)]
pub(super) struct Edge {
    pub sender: u32,
    pub receiver: u32,
    pub channel: u32,
    /// How messages travel; `None`: inside a host, invisible to NICs.
    pub network: Option<Connection>,
    /// Whether a tap may see it; the truth lists chunks of such connections only.
    is_watched: bool,
    /// Complete messages not yet sent.
    filled: VecDeque<Outgoing>,
    flying: VecDeque<Flying>,
    /// Offered buffers not yet used.
    room: VecDeque<Cts>,
    sent: u64,
    sent_tally: Tally,
    /// Collectives enqueued at the receiver that receive messages here.
    expected: VecDeque<Expected>,
    slots: u64,
    /// Clear-to-sends sent.
    receives: u64,
    offered_at: VecDeque<VirtualTime>,
    /// Received messages, per queue pair.
    arrived: Vec<VecDeque<(VirtualTime, u32)>>,
    used: u64,
    received_tally: Tally,
    /// No message inside a host overtakes another.
    pub last_arrival: VirtualTime,
}

/// What both ends exchanged.
#[derive(Clone, Debug)]
pub struct Connection {
    /// The sender's queue pairs, in order.
    pub sending: Vec<QueuePairId>,
    /// The receiver's queue pairs, in the same order.
    pub receiving: Vec<QueuePairId>,
    /// Address and key of the sender's clear-to-send queue.
    pub fifo: (u64, u32),
    /// Address and key of the receiver's buffer.
    pub buffer: (u64, u32),
}

/// A message at its sender.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outgoing {
    pub bytes: u32,
    pub stamp: Stamp,
}

#[derive(Debug)]
struct Flying {
    work: u64,
    message: Outgoing,
    started: Option<VirtualTime>,
    acknowledged: Option<VirtualTime>,
}

#[derive(Debug)]
struct Expected {
    messages: u32,
    offered: u32,
    used: u32,
}

/// A message being sent: its queue pair and destination.
#[derive(Clone, Copy, Debug)]
pub(super) struct Departure {
    pub queue_pair: QueuePairId,
    pub bytes: u32,
    pub room: Cts,
}

impl Edge {
    pub(super) fn new(
        sender: u32,
        receiver: u32,
        channel: u32,
        network: Option<Connection>,
        is_watched: bool,
    ) -> Self {
        let pairs = network.as_ref().map_or(1, |network| network.receiving.len());
        Self {
            sender,
            receiver,
            channel,
            network,
            is_watched,
            filled: VecDeque::new(),
            flying: VecDeque::new(),
            room: VecDeque::new(),
            sent: 0,
            sent_tally: Tally::default(),
            expected: VecDeque::new(),
            slots: 0,
            receives: 0,
            offered_at: VecDeque::new(),
            arrived: vec![VecDeque::new(); pairs],
            used: 0,
            received_tally: Tally::default(),
            last_arrival: VirtualTime::START,
        }
    }

    /// Whether the sender's buffer has space for another message.
    pub(super) fn has_room_to_fill(&self) -> bool {
        self.filled.len() + self.flying.len() < WINDOW
    }

    /// Whether a message was sent, and not acknowledged.
    pub(super) fn is_unanswered(&self) -> bool {
        self.flying.iter().any(|one| one.acknowledged.is_none())
    }

    pub(super) fn fill(&mut self, message: Outgoing) {
        self.filled.push_back(message);
    }

    /// A clear-to-send has arrived.
    pub(super) fn offered(&mut self, room: Cts) {
        self.room.push_back(room);
    }

    /// The next message that may be sent over the network, as work number `work`.
    pub(super) fn depart(&mut self, work: u64) -> Option<Departure> {
        let network = self.network.as_ref()?;
        let pair = self.sent as usize % network.sending.len().max(1);
        let queue_pair = *network.sending.get(pair)?;
        let (message, room) = (*self.filled.front()?, *self.room.front()?);
        self.filled.pop_front();
        self.room.pop_front();
        self.sent += 1;
        self.flying.push_back(Flying { work, message, started: None, acknowledged: None });
        Some(Departure { queue_pair, bytes: message.bytes, room })
    }

    /// The next message that may be passed inside the host.
    pub(super) fn hand_over(&mut self) -> Option<u32> {
        let message = self.filled.pop_front()?;
        self.flying.push_back(Flying { work: 0, message, started: None, acknowledged: None });
        Some(message.bytes)
    }

    /// The first packet of a message has left.
    pub(super) fn started(&mut self, work: u64, now: VirtualTime) {
        if let Some(flying) = self.flying.iter_mut().find(|flying| flying.work == work) {
            flying.started = Some(now);
        }
    }

    /// A message was acknowledged; returns, in order, those whose buffers are free now, and the
    /// chunks they end.
    pub(super) fn acknowledged(
        &mut self,
        work: u64,
        now: VirtualTime,
    ) -> (Vec<Stamp>, Vec<RingStep>) {
        if let Some(flying) = self.flying.iter_mut().find(|flying| flying.work == work) {
            flying.acknowledged = Some(now);
        }
        let end = End { rank: self.sender, role: LinkRole::Sender, channel: self.channel };
        let (mut freed, mut chunks) = (Vec::new(), Vec::new());
        while let Some(&Flying { message, started, acknowledged: Some(last), .. }) =
            self.flying.front()
        {
            self.flying.pop_front();
            freed.push(message.stamp);
            let Outgoing { bytes, stamp } = message;
            let passed = Passed { stamp, bytes, offered: None, first: started, last };
            if self.is_watched {
                chunks.extend(self.sent_tally.note(end, passed));
            }
        }
        (freed, chunks)
    }

    /// A message inside a host was used.
    pub(super) fn released(&mut self) {
        self.flying.pop_front();
    }

    /// A collective was enqueued at the receiver.
    pub(super) fn expect(&mut self, messages: u32) {
        if messages > 0 {
            self.expected.push_back(Expected { messages, offered: 0, used: 0 });
        }
    }

    /// The next clear-to-send that may be sent, and its offset in the sender's queue.
    pub(super) fn offer(&mut self, now: VirtualTime) -> Option<(QueuePairId, Cts, u64)> {
        let network = self.network.as_ref()?;
        let expected = self.expected.front_mut()?;
        let ahead = (expected.offered - expected.used) as usize;
        if expected.offered == expected.messages || ahead >= WINDOW {
            return None;
        }
        if expected.offered == 0 {
            self.slots = self.slots.next_multiple_of(SLICING.chunk_slots());
        }
        let (buffer, rkey) = network.buffer;
        let cts = Cts {
            address: buffer + self.slots % SLOTS * SLOT_BYTES as u64,
            size: SLICING.capacity() as u32,
            rkey,
            tag: self.sender,
            index: self.receives + 1,
        };
        // With one device, all clear-to-sends use the first queue pair, whichever the data uses.
        let queue_pair = *network.receiving.first()?;
        expected.offered += 1;
        self.slots += SLICING.slots;
        self.receives += 1;
        self.offered_at.push_back(now);
        Some((queue_pair, cts, network.fifo.0 + Cts::offset(cts.index)))
    }

    /// A message has arrived over queue pair number `pair`.
    pub(super) fn arrived(&mut self, pair: usize, now: VirtualTime, bytes: u32) {
        if let Some(queue) = self.arrived.get_mut(pair) {
            queue.push_back((now, bytes));
        }
    }

    /// Whether the next message has arrived.
    pub(super) fn has_arrival(&self) -> bool {
        let pair = self.used as usize % self.arrived.len();
        self.arrived.get(pair).is_some_and(|queue| !queue.is_empty())
    }

    /// The next message was used; returns the chunk it ends.
    pub(super) fn used(&mut self, stamp: Stamp) -> Option<RingStep> {
        let pair = self.used as usize % self.arrived.len();
        let (last, bytes) = self.arrived.get_mut(pair)?.pop_front()?;
        self.used += 1;
        if let Some(expected) = self.expected.front_mut() {
            expected.used += 1;
            if expected.used == expected.messages {
                self.expected.pop_front();
            }
        }
        let offered = self.offered_at.pop_front();
        if self.network.is_none() || !self.is_watched {
            return None;
        }
        let end = End { rank: self.receiver, role: LinkRole::Receiver, channel: self.channel };
        let passed = Passed { stamp, bytes, offered, first: None, last };
        self.received_tally.note(end, passed)
    }
}
