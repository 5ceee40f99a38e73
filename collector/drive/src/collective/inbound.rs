//! The receiving half of a channel: it offers buffer space, receives messages and frees the space
//! again.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::slicing::{SLOT_BYTES, SLOTS, Slicing};
use super::transfers::{Moment, Transfers};
use crate::Result;
use crate::clock::{now, wall_ns};
use crate::net::{Finished, Net, ReceiveLink, Request};

/// The receiving end of a link, across all collectives.
#[derive(Debug)]
pub(super) struct Inbound {
    link: ReceiveLink,
    /// Slots taken by messages since the link was created.
    slots: u64,
    slicing: Slicing,
    /// Messages of this collective that have no free buffer yet.
    left: usize,
    /// Since when each free buffer has been waiting to be offered.
    free: VecDeque<Instant>,
    /// How long each offer is held back.
    delay: Duration,
    offered: VecDeque<Offered>,
    transfers: Transfers,
}

#[derive(Debug)]
struct Offered {
    request: Request,
    offset: usize,
    posted_ns: u64,
    finished: Option<Finished>,
}

/// A received message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    /// Offset in the receive buffer.
    pub offset: usize,
    /// When its buffer was offered.
    pub posted_ns: u64,
    /// The network's completion.
    pub finished: Finished,
}

impl Inbound {
    pub(super) fn new(link: ReceiveLink, slicing: Slicing) -> Self {
        let (free, offered) = (VecDeque::new(), VecDeque::new());
        let transfers = Transfers::default();
        Self { link, slots: 0, slicing, left: 0, free, delay: Duration::ZERO, offered, transfers }
    }

    /// Starts a collective with `messages` incoming messages.
    pub(super) fn begin(
        &mut self,
        slicing: Slicing,
        messages: usize,
        delay: Duration,
        transfers: Transfers,
    ) {
        self.slots = self.slots.next_multiple_of(slicing.chunk_slots());
        self.slicing = slicing;
        self.left = messages;
        self.delay = delay;
        self.transfers = transfers;
        for _ in 0..SLOTS / slicing.slots {
            self.room_is_free();
        }
    }

    fn room_is_free(&mut self) {
        if self.left > 0 {
            self.left -= 1;
            self.free.push_back(now());
        }
    }

    /// Offers buffers that are due; returns whether there were any.
    pub(super) fn offer(&mut self, net: &mut dyn Net) -> Result<bool> {
        let before = self.offered.len();
        while self.free.front().is_some_and(|since| since.elapsed() >= self.delay) {
            let offset = (self.slots % SLOTS) as usize * SLOT_BYTES;
            let posted_ns = wall_ns();
            let request = net.post_receive(self.link, offset, self.slicing.capacity())?;
            self.slots += self.slicing.slots;
            self.free.pop_front();
            self.offered.push_back(Offered { request, offset, posted_ns, finished: None });
            self.transfers.reach(Moment::Posted, 0);
        }
        Ok(self.offered.len() > before)
    }

    /// Looks which messages have arrived, in order.
    pub(super) fn poll(&mut self, net: &mut dyn Net) -> Result<()> {
        for next in &mut self.offered {
            if next.finished.is_some() {
                continue;
            }
            next.finished = net.test(next.request)?;
            let Some(finished) = next.finished else { break };
            self.transfers.reach(Moment::Data, finished.bytes);
            // Memory of the host needs no flush.
            self.transfers.reach(Moment::Passed, finished.bytes);
        }
        Ok(())
    }

    /// The next message, if it has arrived.
    pub(super) fn arrival(&mut self, net: &mut dyn Net) -> Result<Option<Arrival>> {
        self.poll(net)?;
        let Some(next) = self.offered.front() else { return Ok(None) };
        let Offered { offset, posted_ns, finished, .. } = *next;
        Ok(finished.map(|finished| Arrival { offset, posted_ns, finished }))
    }

    /// Frees the buffer of the next message. Returns what it waited for.
    pub(super) fn release(&mut self) -> [u64; 3] {
        self.offered.pop_front();
        let waits = self.transfers.reach(Moment::Done, 0);
        self.room_is_free();
        waits.unwrap_or_default()
    }

    /// Payload of a message.
    pub(super) fn bytes<'n>(&self, net: &'n dyn Net, offset: usize, bytes: usize) -> &'n [u8] {
        &net.receive_buffer(self.link)[offset..offset + bytes]
    }

    /// Time until the next held-back offer is due.
    pub(super) fn next_offer_in(&self) -> Option<Duration> {
        self.free.front().map(|since| self.delay.saturating_sub(since.elapsed()))
    }

    /// Whether every message has been received and used.
    pub(super) fn is_done(&self) -> bool {
        self.free.is_empty() && self.offered.is_empty()
    }
}
