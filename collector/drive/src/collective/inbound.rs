//! The receiving half of a channel: room is offered, messages come, room becomes free again.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::slicing::{SLOT_BYTES, SLOTS, Slicing};
use crate::Result;
use crate::clock::{now, wall_ns};
use crate::net::{Finished, Net, ReceiveLink, Request};

/// The receiving end of a link, over all collectives.
#[derive(Debug)]
pub(super) struct Inbound {
    link: ReceiveLink,
    /// Slots that messages have taken since the link was made.
    slots: u64,
    slicing: Slicing,
    /// Messages of this collective for which no room became free yet.
    left: usize,
    /// Room that is free for a message that shall come: since when.
    free: VecDeque<Instant>,
    /// How long each offer is held back.
    delay: Duration,
    offered: VecDeque<Offered>,
}

#[derive(Debug)]
struct Offered {
    request: Request,
    offset: usize,
    posted_ns: u64,
    finished: Option<Finished>,
}

/// A message that has come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    /// Where it lies in the receive buffer.
    pub offset: usize,
    /// When room was offered for it.
    pub posted_ns: u64,
    /// What the network says of it.
    pub finished: Finished,
}

impl Inbound {
    pub(super) fn new(link: ReceiveLink, slicing: Slicing) -> Self {
        let (free, offered) = (VecDeque::new(), VecDeque::new());
        Self { link, slots: 0, slicing, left: 0, free, delay: Duration::ZERO, offered }
    }

    /// Begins a collective of which `messages` come here.
    pub(super) fn begin(&mut self, slicing: Slicing, messages: usize, delay: Duration) {
        self.slots = self.slots.next_multiple_of(slicing.chunk_slots());
        self.slicing = slicing;
        self.left = messages;
        self.delay = delay;
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

    /// Offers the room whose time has come; says whether there was any.
    pub(super) fn offer(&mut self, net: &mut dyn Net) -> Result<bool> {
        let before = self.offered.len();
        while self.free.front().is_some_and(|since| since.elapsed() >= self.delay) {
            let offset = (self.slots % SLOTS) as usize * SLOT_BYTES;
            let posted_ns = wall_ns();
            let request = net.post_receive(self.link, offset, self.slicing.capacity())?;
            self.slots += self.slicing.slots;
            self.free.pop_front();
            self.offered.push_back(Offered { request, offset, posted_ns, finished: None });
        }
        Ok(self.offered.len() > before)
    }

    /// The next message, if it has come.
    pub(super) fn arrival(&mut self, net: &mut dyn Net) -> Result<Option<Arrival>> {
        let Some(next) = self.offered.front_mut() else { return Ok(None) };
        if next.finished.is_none() {
            next.finished = net.test(next.request)?;
        }
        let Offered { offset, posted_ns, finished, .. } = *next;
        Ok(finished.map(|finished| Arrival { offset, posted_ns, finished }))
    }

    /// The next message was used; its room is free.
    pub(super) fn release(&mut self) {
        self.offered.pop_front();
        self.room_is_free();
    }

    /// What has come.
    pub(super) fn bytes<'n>(&self, net: &'n dyn Net, offset: usize, bytes: usize) -> &'n [u8] {
        &net.receive_buffer(self.link)[offset..offset + bytes]
    }

    /// How long until an offer that is held back may be made.
    pub(super) fn next_offer_in(&self) -> Option<Duration> {
        self.free.front().map(|since| self.delay.saturating_sub(since.elapsed()))
    }

    /// Whether every message has come and was used.
    pub(super) fn is_done(&self) -> bool {
        self.free.is_empty() && self.offered.is_empty()
    }
}
