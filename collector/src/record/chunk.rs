//! Captured frames on their way to the writer and to the analysis, already encoded as blocks of a pcapng file.

use std::sync::{Arc, Mutex, PoisonError};

use crate::export::pcapng::block;
use crate::ingest::live::LiveEvent;
use railscope_core::model::direction::Direction;
use railscope_core::model::frame::Frame;
use railscope_core::model::tap::{LinkType, TapId};
use railscope_core::model::time::{Span, Timestamp};

/// Bytes of a full chunk.
pub(super) const CHUNK_BYTES: usize = 1 << 20;

/// Most frames of a chunk: their heads take memory, too.
const FRAMES_LIMIT: usize = CHUNK_BYTES / 64;

/// Room for the last frame of a chunk.
const ROOM: usize = CHUNK_BYTES + (320 << 10);

/// Buffers kept for reuse.
const POOL_CAPACITY: usize = 8;

/// A frame without its bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub(super) tap: TapId,
    pub(super) number: u64,
    pub(super) time: Timestamp,
    pub(super) wire_len: u32,
    pub(super) link_type: LinkType,
    pub(super) direction: Option<Direction>,
    /// It may belong to the bootstrap of a job.
    pub(super) is_control: bool,
    /// Where its block begins and ends.
    begin: u32,
    end: u32,
    /// Bytes of it.
    kept: u32,
}

/// Frames in order, and what else happened between them.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    bytes: Vec<u8>,
    heads: Vec<Head>,
    /// Taps and losses.
    pub(super) events: Vec<LiveEvent<'static>>,
    /// Where its buffers go afterwards.
    pool: Option<Arc<Pool>>,
}

/// Buffers of former chunks: fresh memory costs a page fault for every 4 KiB.
#[derive(Debug, Default)]
pub(super) struct Pool {
    buffers: Mutex<Vec<(Vec<u8>, Vec<Head>)>>,
}

impl Pool {
    /// An empty chunk.
    pub(super) fn chunk(self: &Arc<Self>) -> Chunk {
        let mut buffers = self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        let (bytes, heads) =
            buffers.pop().unwrap_or_else(|| (Vec::with_capacity(ROOM), Vec::new()));
        Chunk { bytes, heads, events: Vec::new(), pool: Some(self.clone()) }
    }
}

impl Chunk {
    /// Adds the first bytes of a frame.
    #[inline]
    pub(super) fn push(&mut self, frame: &Frame<'_>, kept: usize, is_control: bool) {
        let begin = self.bytes.len();
        block::frame(&mut self.bytes, frame, kept, &[]);
        let Frame { tap, number, time, wire_len, link_type, direction, .. } = *frame;
        self.heads.push(Head {
            tap,
            number,
            time,
            wire_len,
            link_type,
            direction,
            is_control,
            begin: begin as u32,
            end: self.bytes.len() as u32,
            kept: kept as u32,
        });
    }

    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.bytes.len() >= CHUNK_BYTES || self.heads.len() >= FRAMES_LIMIT
    }

    pub(super) fn is_empty(&self) -> bool {
        self.heads.is_empty() && self.events.is_empty()
    }

    /// The memory that it takes.
    pub(super) fn weight(&self) -> usize {
        self.bytes.capacity() + self.heads.capacity() * size_of::<Head>()
    }

    pub(super) fn heads(&self) -> &[Head] {
        &self.heads
    }

    /// The blocks of all frames.
    pub(super) fn blocks(&self) -> &[u8] {
        &self.bytes
    }

    /// The block of one frame.
    pub(super) fn block(&self, head: &Head) -> &[u8] {
        self.bytes.get(head.begin as usize..head.end as usize).unwrap_or_default()
    }

    /// A frame with its bytes.
    pub(super) fn frame(&self, head: &Head) -> Frame<'_> {
        let begin = head.begin as usize + block::FRAME_OFFSET;
        let bytes = self.bytes.get(begin..begin + head.kept as usize).unwrap_or_default();
        let Head { tap, number, time, wire_len, link_type, direction, .. } = *head;
        Frame { tap, number, time, wire_len, bytes, link_type, direction }
    }

    /// From its first frame to its last.
    pub(super) fn span(&self) -> Option<Span> {
        let (first, last) = (self.heads.first()?, self.heads.last()?);
        Some(Span { first: first.time, last: last.time.max(first.time) })
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        let Some(pool) = self.pool.take() else { return };
        let (mut bytes, mut heads) =
            (std::mem::take(&mut self.bytes), std::mem::take(&mut self.heads));
        bytes.clear();
        heads.clear();
        let mut buffers = pool.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        if buffers.len() < POOL_CAPACITY && bytes.capacity() <= 2 * ROOM {
            buffers.push((bytes, heads));
        }
    }
}
