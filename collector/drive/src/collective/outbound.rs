//! The sending half of a channel: it fills slots, sends messages when the receiver has offered
//! buffers, and frees slots when messages are acknowledged.

use std::collections::VecDeque;

use super::slicing::{SLOT_BYTES, SLOTS, Slicing};
use super::transfers::{Moment, Transfers};
use crate::Result;
use crate::net::{Finished, Net, Request, SendLink};
use crate::truth::Part;

/// The sending end of a link, across all collectives.
#[derive(Debug)]
pub(super) struct Outbound {
    link: SendLink,
    /// Slots taken by messages since the link was created.
    slots: u64,
    slicing: Slicing,
    /// Complete messages that the receiver has not offered a buffer for.
    filled: VecDeque<Filled>,
    flying: VecDeque<(Request, Part)>,
    transfers: Transfers,
}

#[derive(Clone, Copy, Debug)]
struct Filled {
    offset: usize,
    bytes: usize,
    part: Part,
}

impl Outbound {
    pub(super) fn new(link: SendLink, slicing: Slicing) -> Self {
        let (filled, flying) = (VecDeque::new(), VecDeque::new());
        Self { link, slots: 0, slicing, filled, flying, transfers: Transfers::default() }
    }

    /// Starts a collective.
    pub(super) fn begin(&mut self, slicing: Slicing, transfers: Transfers) {
        self.slots = self.slots.next_multiple_of(slicing.chunk_slots());
        self.slicing = slicing;
        self.transfers = transfers;
        for _ in 0..SLOTS / slicing.slots {
            self.slot_is_free();
        }
    }

    fn slot_is_free(&mut self) {
        if !self.transfers.are_posted() {
            self.transfers.reach(Moment::Posted, 0);
        }
    }

    /// Offset in the send buffer for the next message, if a slot is free.
    pub(super) fn room(&self) -> Option<usize> {
        let held = (self.filled.len() + self.flying.len()) as u64 * self.slicing.slots;
        (held + self.slicing.slots <= SLOTS).then(|| (self.slots % SLOTS) as usize * SLOT_BYTES)
    }

    /// The memory of [`Outbound::room`].
    pub(super) fn bytes<'n>(
        &self,
        net: &'n mut dyn Net,
        offset: usize,
        bytes: usize,
    ) -> &'n mut [u8] {
        &mut net.send_buffer(self.link)[offset..offset + bytes]
    }

    /// Completes the next message.
    pub(super) fn fill(&mut self, offset: usize, bytes: usize, part: Part) {
        self.slots += self.slicing.slots;
        self.filled.push_back(Filled { offset, bytes, part });
    }

    /// Sends complete messages for which buffers were offered; returns whether any was sent.
    pub(super) fn send(&mut self, net: &mut dyn Net) -> Result<bool> {
        let before = self.flying.len();
        while let Some(&Filled { offset, bytes, part }) = self.filled.front() {
            self.transfers.try_to_send();
            let Some(request) = net.post_send(self.link, offset, bytes)? else { break };
            self.transfers.reach(Moment::Passed, bytes);
            self.filled.pop_front();
            self.flying.push_back((request, part));
        }
        Ok(self.flying.len() > before)
    }

    /// The next message in order, if it was acknowledged, the part of the collective it belongs to, and
    /// what it waited for.
    pub(super) fn acknowledged(
        &mut self,
        net: &mut dyn Net,
    ) -> Result<Option<(Finished, Part, [u64; 3])>> {
        let Some(&(request, part)) = self.flying.front() else { return Ok(None) };
        let Some(finished) = net.test(request)? else { return Ok(None) };
        self.flying.pop_front();
        let waits = self.transfers.reach(Moment::Done, finished.bytes).unwrap_or_default();
        self.slot_is_free();
        Ok(Some((finished, part, waits)))
    }

    /// Whether a message waits for a buffer.
    pub(super) fn lacks_room(&self) -> bool {
        !self.filled.is_empty()
    }

    /// Whether a message waits for its acknowledgement.
    pub(super) fn is_flying(&self) -> bool {
        !self.flying.is_empty()
    }
}
