//! One channel of one rank at work: chunk by chunk, message by message.

use std::time::Duration;

use super::arithmetic::reduce;
use super::buffers::Memory;
use super::inbound::{Arrival, Inbound};
use super::observer::Observer;
use super::outbound::Outbound;
use super::ring::Chunk;
use super::slicing::Slicing;
use super::transfers::Transfers;
use super::{Kind, Operation};
use crate::net::{ChannelLinks, Finished, Net};
use crate::profiler::{OperationSpec, Work};
use crate::truth::{LinkRole, Part, RingStep};
use crate::{DriveError, Result};

/// Bytes processed at once: they fit into a first-level cache.
const BLOCK: usize = 16 << 10;

/// A rank and its two neighbours.
#[derive(Clone, Copy, Debug)]
pub(super) struct Neighbours {
    pub rank: u32,
    pub previous: u32,
    pub next: u32,
}

/// A channel.
#[derive(Debug)]
pub(super) struct Lane {
    pub channel: u32,
    inbound: Inbound,
    outbound: Outbound,
    chunks: Vec<Chunk>,
    /// The next chunk and slice to process.
    next: (usize, u32),
    received: Tally,
    sent: Tally,
}

/// The chunk in progress at one end.
#[derive(Debug, Default)]
struct Tally {
    /// Chunks of this collective that this end has completed.
    chunks: u32,
    messages: Vec<u32>,
    waits_ns: Vec<[u64; 3]>,
    cts_posted_ns: Option<u64>,
    first_byte_ns: Option<u64>,
    last_byte_ns: u64,
}

/// What all channels of a rank share during a collective.
pub(super) struct Workplace<'a, 'b> {
    pub operation: &'a Operation,
    pub sequence: u64,
    pub neighbours: Neighbours,
    pub memory: &'a mut Memory<'b>,
    pub observer: &'a mut dyn Observer,
}

impl Lane {
    pub(super) fn new(links: &ChannelLinks) -> Self {
        let slicing = Slicing::for_kind(Kind::AllReduce);
        Self {
            channel: links.channel,
            inbound: Inbound::new(links.receive, slicing),
            outbound: Outbound::new(links.send, slicing),
            chunks: Vec::new(),
            next: (0, 0),
            received: Tally::default(),
            sent: Tally::default(),
        }
    }

    /// Starts a collective.
    pub(super) fn begin(
        &mut self,
        slicing: Slicing,
        chunks: Vec<Chunk>,
        offer_delay: Duration,
        work: Option<&Work>,
        neighbours: Neighbours,
    ) {
        let received = chunks.iter().filter(|chunk| chunk.action.receives()).count();
        let sent = chunks.iter().filter(|chunk| chunk.action.sends()).count();
        let [receives, sends] = [(received, false), (sent, true)].map(|(chunks, is_send)| {
            let transfers = u32::try_from(chunks).unwrap_or(u32::MAX) * slicing.slices;
            let peer = if is_send { neighbours.next } else { neighbours.previous };
            let (channel, bytes) = (self.channel, slicing.capacity());
            let spec = OperationSpec { channel, peer, transfers, bytes, is_send };
            Transfers::new(is_send, transfers, work.and_then(|work| work.operation(&spec)))
        });
        self.inbound.begin(slicing, received * slicing.slices as usize, offer_delay, receives);
        self.outbound.begin(slicing, sends);
        self.chunks = chunks;
        self.next = (0, 0);
        self.received = Tally::default();
        self.sent = Tally::default();
    }

    /// Offers buffers that are due; returns whether there were any.
    pub(super) fn offer(&mut self, net: &mut dyn Net) -> Result<bool> {
        self.inbound.offer(net)
    }

    /// Looks at the network as the proxy does while the GPU is busy.
    pub(super) fn wait_for_gpu(&mut self, net: &mut dyn Net) -> Result<()> {
        self.inbound.offer(net)?;
        self.inbound.poll(net)
    }

    /// Time until the next held-back offer is due.
    pub(super) fn next_offer_in(&self) -> Option<Duration> {
        self.inbound.next_offer_in()
    }

    /// Does everything possible now; returns whether there was anything.
    pub(super) fn advance(
        &mut self,
        net: &mut dyn Net,
        place: &mut Workplace<'_, '_>,
    ) -> Result<bool> {
        let mut moved = self.inbound.offer(net)?;
        self.inbound.poll(net)?;
        while self.work(net, place)? {
            moved |= true;
            self.outbound.send(net)?;
            self.inbound.offer(net)?;
        }
        moved |= self.outbound.send(net)?;
        while let Some((finished, part, waits)) = self.outbound.acknowledged(net)? {
            moved = true;
            self.sent.note(self.channel, LinkRole::Sender, part, (finished, waits), place);
        }
        Ok(moved)
    }

    /// Processes the next message, if it has arrived and there is space for the result.
    fn work(&mut self, net: &mut dyn Net, place: &mut Workplace<'_, '_>) -> Result<bool> {
        let (index, slice) = self.next;
        let Some(&chunk) = self.chunks.get(index) else { return Ok(false) };
        let action = chunk.action;
        let room = if action.sends() { self.outbound.room() } else { Some(0) };
        let Some(to) = room else { return Ok(false) };
        let slicing = Slicing::for_kind(place.operation.kind);
        let message = slicing.message(chunk.bytes, place.operation.unit_bytes(), slice);
        let (mut from, mut arrived) = (0, None);
        if action.receives() {
            let Some(arrival) = self.inbound.arrival(net)? else { return Ok(false) };
            self.expect(arrival.finished.bytes, message.len(), place.neighbours)?;
            (from, arrived) = (arrival.offset, Some(arrival));
        }
        self.compute(net, place, chunk, message.clone(), from, to);
        if let Some(arrival) = arrived {
            let waits = self.inbound.release();
            self.note_received((arrival, waits), chunk, slice, place);
        }
        if action.sends() {
            let part = action.part_sent(place.operation.kind);
            self.outbound.fill(to, message.len(), part);
        }
        self.next = if slice + 1 < slicing.slices { (index, slice + 1) } else { (index + 1, 0) };
        Ok(true)
    }

    /// The GPU kernel's work: from receive buffer and input to output and send buffer.
    fn compute(
        &self,
        net: &mut dyn Net,
        place: &mut Workplace<'_, '_>,
        chunk: Chunk,
        message: std::ops::Range<usize>,
        from: usize,
        to: usize,
    ) {
        let Operation { data_type, operator, .. } = *place.operation;
        let memory = &mut *place.memory;
        let mut block = [0_u8; BLOCK];
        for at in message.clone().step_by(BLOCK) {
            let bytes = BLOCK.min(message.end - at);
            let within = at - message.start;
            let block = &mut block[..bytes];
            if chunk.action.receives() {
                block.copy_from_slice(self.inbound.bytes(net, from + within, bytes));
            } else {
                block.copy_from_slice(memory.input(chunk.input + at, bytes));
            }
            if chunk.action.reduces() {
                reduce(data_type, operator, block, memory.input(chunk.input + at, bytes));
            }
            if chunk.action.copies() {
                memory.output(chunk.output + at, bytes).copy_from_slice(block);
            }
            if chunk.action.sends() {
                self.outbound.bytes(net, to + within, bytes).copy_from_slice(block);
            }
        }
    }

    fn expect(&self, came: usize, expected: usize, neighbours: Neighbours) -> Result<()> {
        if came == expected {
            return Ok(());
        }
        Err(DriveError::Protocol {
            peer: format!("rank {}", neighbours.previous),
            what: format!(
                "a message of {came} bytes on channel {} where {expected} must come",
                self.channel
            ),
        })
    }

    fn note_received(
        &mut self,
        (arrival, waits): (Arrival, [u64; 3]),
        chunk: Chunk,
        slice: u32,
        place: &mut Workplace<'_, '_>,
    ) {
        if slice == 0 {
            self.received.cts_posted_ns = Some(arrival.posted_ns);
        }
        let part = chunk.action.part_received(place.operation.kind);
        let received = (arrival.finished, waits);
        self.received.note(self.channel, LinkRole::Receiver, part, received, place);
    }

    /// Whether this rank has its result and everything it sent was acknowledged.
    pub(super) fn is_done(&self) -> bool {
        let worked = self.next.0 == self.chunks.len();
        let sent = !self.outbound.lacks_room() && !self.outbound.is_flying();
        worked && sent && self.inbound.is_done()
    }

    /// What this channel waits for, in words to be followed by "did not come".
    pub(super) fn waits_for(&self, neighbours: Neighbours) -> String {
        let Neighbours { rank, previous, next } = neighbours;
        let channel = self.channel;
        if self.outbound.lacks_room() {
            format!("room from rank {next} for rank {rank} on channel {channel}")
        } else if !self.inbound.is_done() {
            format!("a message from rank {previous} to rank {rank} on channel {channel}")
        } else {
            format!(
                "the acknowledgement by rank {next} of a message from rank {rank} on channel \
                 {channel}"
            )
        }
    }
}

impl Tally {
    /// Records a message, and reports its chunk if it was the last one.
    fn note(
        &mut self,
        channel: u32,
        role: LinkRole,
        part: Part,
        (finished, waits): (Finished, [u64; 3]),
        place: &mut Workplace<'_, '_>,
    ) {
        // Messages on different queue pairs overtake each other.
        let firsts = self.first_byte_ns.into_iter().chain(finished.first_byte_ns);
        self.first_byte_ns = firsts.min();
        self.last_byte_ns = self.last_byte_ns.max(finished.last_byte_ns);
        self.messages.push(u32::try_from(finished.bytes).unwrap_or(u32::MAX));
        self.waits_ns.push(waits);
        if self.messages.len() < Slicing::for_kind(place.operation.kind).slices as usize {
            return;
        }
        let index = self.chunks;
        let finished_chunk = std::mem::take(self);
        self.chunks = index + 1;
        place.observer.ring_step(RingStep {
            sequence: place.sequence,
            rank: place.neighbours.rank,
            role,
            channel,
            index,
            part,
            messages: finished_chunk.messages,
            waits_ns: finished_chunk.waits_ns,
            cts_posted_ns: finished_chunk.cts_posted_ns,
            first_byte_ns: finished_chunk.first_byte_ns,
            last_byte_ns: finished_chunk.last_byte_ns,
        });
    }
}
