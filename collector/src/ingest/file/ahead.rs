//! Decompresses on a thread of its own, a few blocks ahead of who reads.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;

use super::event::Progress;
use super::problem::ProblemKind;
use super::stream::Stream;

/// Bytes of a block: few enough to stay in the second-level cache from one thread to the other.
const BLOCK_BYTES: usize = 128 * 1024;

/// Blocks that wait to be read.
const WAITING: usize = 4;

/// A block of uncompressed bytes; an empty one is the end.
type Block = Result<Vec<u8>, ProblemKind>;

/// The uncompressed bytes of a stream that a thread reads.
pub(super) struct Ahead {
    /// `None` after the end, or an error.
    blocks: Option<Receiver<Block>>,
    /// Takes blocks back that were read.
    spares: SyncSender<Vec<u8>>,
    block: Vec<u8>,
    /// Bytes of it that were read.
    at: usize,
    read: Arc<AtomicU64>,
    total: Option<u64>,
}

impl Ahead {
    /// Lets a thread read the stream; gives it back if none can be started.
    pub(super) fn start(stream: Box<Stream>) -> Result<Self, Box<Stream>> {
        let (to_reader, blocks) = sync_channel(WAITING);
        let (spares, from_reader) = sync_channel(WAITING + 1);
        let Progress { bytes_read, bytes_total } = stream.progress();
        let read = Arc::new(AtomicU64::new(bytes_read));
        let place = Arc::new(Mutex::new(Some(stream)));
        let take =
            |place: &Mutex<Option<Box<Stream>>>| place.lock().ok().and_then(|mut at| at.take());
        let (of_thread, count) = (Arc::clone(&place), Arc::clone(&read));
        let run = move || {
            if let Some(stream) = take(&of_thread) {
                decompress(*stream, &to_reader, &from_reader, &count);
            }
        };
        if thread::Builder::new().name("decompress".to_owned()).spawn(run).is_err()
            && let Some(stream) = take(&place)
        {
            return Err(stream);
        }
        Ok(Self {
            blocks: Some(blocks),
            spares,
            block: Vec::new(),
            at: 0,
            read,
            total: bytes_total,
        })
    }

    /// Reads what is at hand, or waits for more; 0 at the end.
    pub(super) fn read(&mut self, into: &mut [u8]) -> Result<usize, ProblemKind> {
        if self.at == self.block.len() {
            let Some(blocks) = &self.blocks else { return Ok(0) };
            let failed = || ProblemKind::Unreadable("the thread that reads it failed".to_owned());
            let next = blocks.recv().unwrap_or_else(|_| Err(failed()));
            if next.as_ref().map_or(true, Vec::is_empty) {
                self.blocks = None;
            }
            let next = next?;
            // Whoever has no room for it does not need it.
            let _ = self.spares.try_send(std::mem::replace(&mut self.block, next));
            self.at = 0;
        }
        let count = (self.block.len() - self.at).min(into.len());
        into[..count].copy_from_slice(&self.block[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }

    /// How much of the file the thread has read.
    pub(super) fn progress(&self) -> Progress {
        let bytes_read = self.read.load(Ordering::Relaxed);
        Progress { bytes_read, bytes_total: self.total.map(|total| total.max(bytes_read)) }
    }
}

/// Sends block after block, until the end, an error, or until nobody wants more. Each holds what one read gave:
/// what comes through a pipe is not held back until a block is full.
fn decompress(
    mut stream: Stream,
    blocks: &SyncSender<Block>,
    spares: &Receiver<Vec<u8>>,
    read: &AtomicU64,
) {
    loop {
        let mut block = spares.try_recv().unwrap_or_default();
        block.resize(BLOCK_BYTES, 0);
        let block = stream.read(&mut block).map(|count| {
            block.truncate(count);
            block
        });
        read.store(stream.progress().bytes_read, Ordering::Relaxed);
        let is_last = block.as_ref().map_or(true, Vec::is_empty);
        if blocks.send(block).is_err() || is_last {
            return;
        }
    }
}
