//! The receiving end of a link.

use std::net::TcpStream;

use super::super::{LinkFacts, LinkSpec, Request};
use super::local::Local;
use super::requests::cts_id;
use crate::collective::slicing::BUFFER_BYTES;
use crate::rdma::{Rdma, Region, Write};
use crate::wire::cts::{self, Cts};
use crate::{DriveError, Result};

/// Bytes of the array for the sizes of grouped receives: 256 groups of at most
/// 8. The driver groups nothing, but peers expect its address.
const SIZES_BYTES: usize = 256 * 8 * 4;

/// A receiving end.
#[derive(Debug)]
pub(super) struct Receiver {
    pub spec: LinkSpec,
    /// Receive buffer.
    pub buffer: Region,
    pub sizes: Region,
    pub facts: LinkFacts,
    /// Kept open, as in NCCL.
    pub exchange: Option<TcpStream>,
    /// Source of clear-to-sends, laid out as at the sender.
    staging: Region,
    /// Receives posted.
    receives: u64,
}

impl Receiver {
    pub(super) fn new<R: Rdma>(rdma: &mut R, spec: LinkSpec) -> Result<Self> {
        let buffer = rdma.register(BUFFER_BYTES)?;
        let staging = rdma.register((cts::SLOTS * cts::SLOT_BYTES) as usize)?;
        let sizes = rdma.register(SIZES_BYTES)?;
        let facts = LinkFacts { device: rdma.device().name.clone(), ..LinkFacts::default() };
        Ok(Self { spec, buffer, sizes, facts, exchange: None, staging, receives: 0 })
    }

    /// Posts a receive and sends the clear-to-send for it.
    pub(super) fn post<R: Rdma>(
        &mut self,
        local: &mut Local<R>,
        request: Request,
        offset: usize,
        capacity: usize,
    ) -> Result<()> {
        let pair = self.receives as usize % self.facts.qpns.len().max(1);
        let (Some(&qpn), Some(&first), Some((fifo, rkey))) =
            (self.facts.qpns.get(pair), self.facts.qpns.first(), self.facts.fifo)
        else {
            return Err(DriveError::Unusable("room was offered before its link was made".into()));
        };
        local.rdma.post_receive(qpn, request.0)?;
        let cts = Cts {
            address: self.buffer.address + offset as u64,
            size: u32::try_from(capacity).unwrap_or(u32::MAX),
            rkey: self.buffer.rkey,
            tag: self.spec.sender,
            index: self.receives + 1,
        };
        let slot = Cts::offset(cts.index);
        let at = slot as usize;
        local.rdma.memory_mut(self.staging.id)[at..at + cts::BYTES]
            .copy_from_slice(&cts.encode(local.release));
        let write = Write {
            id: cts_id(request),
            region: self.staging.id,
            offset: at,
            bytes: cts::BYTES,
            remote_address: fifo + slot,
            rkey,
            immediate: None,
        };
        // With one device, all clear-to-sends use the first queue pair, whichever the data uses.
        local.rdma.post_write(first, &write)?;
        self.receives += 1;
        Ok(())
    }
}
