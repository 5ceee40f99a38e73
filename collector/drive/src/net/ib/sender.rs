//! The sending end of a link.

use std::net::TcpStream;
use std::sync::atomic::{Ordering, fence};

use super::super::{LinkFacts, LinkSpec, Request};
use super::local::Local;
use crate::collective::slicing::BUFFER_BYTES;
use crate::rdma::{Rdma, Region, Write};
use crate::wire::cts::{self, Cts};
use crate::{DriveError, Result};

/// Bytes of the clear-to-send queue.
const FIFO_BYTES: usize = (cts::SLOTS * cts::SLOT_BYTES) as usize;

/// A sending end.
#[derive(Debug)]
pub(super) struct Sender {
    pub spec: LinkSpec,
    /// Send buffer.
    pub buffer: Region,
    /// Where the receiver writes clear-to-sends.
    pub fifo: Region,
    pub facts: LinkFacts,
    /// Kept open, as in NCCL.
    pub exchange: Option<TcpStream>,
    /// Messages sent; the next one answers the clear-to-send of the next number.
    messages: u64,
}

impl Sender {
    pub(super) fn new<R: Rdma>(rdma: &mut R, spec: LinkSpec) -> Result<Self> {
        let buffer = rdma.register(BUFFER_BYTES)?;
        let fifo = rdma.register(FIFO_BYTES)?;
        let device = rdma.device().name.clone();
        let fifo_facts = Some((fifo.address, fifo.rkey));
        let facts = LinkFacts { device, fifo: fifo_facts, ..LinkFacts::default() };
        Ok(Self { spec, buffer, fifo, facts, exchange: None, messages: 0 })
    }

    /// The buffer that the receiver offers for the next message, if any.
    pub(super) fn room<R: Rdma>(&self, local: &Local<R>, bytes: usize) -> Result<Option<Cts>> {
        let index = self.messages + 1;
        let slot = Cts::offset(index) as usize;
        let offered = || {
            let mut bytes = [0; cts::BYTES];
            local.rdma.peek(self.fifo.id, slot, &mut bytes);
            Cts::parse(&bytes, local.release).ok().filter(|cts| cts.index == index)
        };
        if offered().is_none() {
            return Ok(None);
        }
        // Once the number is visible, so is everything written with it.
        fence(Ordering::Acquire);
        let Some(cts) = offered() else { return Ok(None) };
        let LinkSpec { channel, sender, receiver } = self.spec;
        let wrong = if cts.tag != sender {
            format!("for rank {}", cts.tag)
        } else if (cts.size as usize) < bytes {
            format!("for {} bytes where {bytes} are to be sent", cts.size)
        } else {
            return Ok(Some(cts));
        };
        let peer = format!("rank {receiver}");
        let what = format!("a clear-to-send {wrong} to rank {sender} on channel {channel}");
        Err(DriveError::Protocol { peer, what })
    }

    /// Sends the next message into `room`.
    pub(super) fn post<R: Rdma>(
        &mut self,
        local: &mut Local<R>,
        request: Request,
        room: Cts,
        offset: usize,
        bytes: usize,
    ) -> Result<()> {
        let size = u32::try_from(bytes).unwrap_or(u32::MAX);
        let write = Write {
            id: request.0,
            region: self.buffer.id,
            offset,
            bytes,
            remote_address: room.address,
            rkey: room.rkey,
            immediate: Some(size.to_le_bytes()),
        };
        // Messages alternate between the queue pairs; the receiver counts the same way.
        let pair = self.messages as usize % self.facts.qpns.len().max(1);
        let Some(&qpn) = self.facts.qpns.get(pair) else {
            return Err(DriveError::Unusable("a message was sent before its link was made".into()));
        };
        local.rdma.post_write(qpn, &write)?;
        self.messages += 1;
        Ok(())
    }
}
