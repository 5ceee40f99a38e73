//! A window on a stream: records are read in place, and only a record cut by the end of the window is
//! moved.

use super::problem::ProblemKind;
use super::stream::Stream;

/// Most bytes of one block, as in Wireshark. A larger length counts as damage.
pub(super) const BLOCK_LIMIT: u32 = 16 * 1024 * 1024;

/// The window of a file, which grows if a record needs more: large enough to make the cost of system calls
/// negligible.
// Cost: 256 KiB measured the same (2026-11).
const WINDOW_BYTES: usize = 64 * 1024;

/// The buffered part of a stream.
#[derive(Debug)]
pub(super) struct Buffer {
    stream: Stream,
    bytes: Vec<u8>,
    /// Start and end of the buffered bytes in `bytes`.
    start: usize,
    end: usize,
    /// Offset in the stream of the first byte of `bytes`.
    base: u64,
}

impl Buffer {
    pub(super) fn new(stream: Stream) -> Self {
        Self { stream, bytes: vec![0; WINDOW_BYTES], start: 0, end: 0, base: 0 }
    }

    pub(super) fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Offset in the stream of the first buffered byte.
    pub(super) fn offset(&self) -> u64 {
        self.base + self.start as u64
    }

    /// Position of the first buffered byte, for [`Buffer::slice`].
    #[inline]
    pub(super) fn position(&self) -> usize {
        self.start
    }

    /// The buffered bytes.
    #[inline]
    pub(super) fn at_hand(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// `len` bytes at a position, valid until [`Buffer::need`] or [`Buffer::words`] is called.
    #[inline]
    pub(super) fn slice(&self, position: usize, len: usize) -> &[u8] {
        &self.bytes[position..position + len]
    }

    /// Consumes the next `len` bytes, which must be buffered.
    #[inline]
    pub(super) fn consume(&mut self, len: usize) {
        debug_assert!(len <= self.end - self.start);
        self.start += len;
    }

    /// The next `N` words of four bytes, not consumed; `None` if the stream ends before them.
    #[inline]
    pub(super) fn words<const N: usize>(&mut self) -> Result<Option<[[u8; 4]; N]>, ProblemKind> {
        if let Some(words) = first_words(self.at_hand()) {
            return Ok(Some(words));
        }
        self.fill(4 * N)?;
        if self.start == self.end {
            return Ok(None);
        }
        first_words(self.at_hand()).map(Some).ok_or_else(|| self.cut(4 * N))
    }

    /// Buffers `need` bytes and returns exactly those.
    #[inline]
    pub(super) fn need(&mut self, need: usize) -> Result<&[u8], ProblemKind> {
        if self.end - self.start < need {
            self.fill(need)?;
            if self.end - self.start < need {
                return Err(self.cut(need));
            }
        }
        Ok(&self.bytes[self.start..self.start + need])
    }

    fn cut(&self, need: usize) -> ProblemKind {
        ProblemKind::Cut { have: (self.end - self.start) as u64, need: need as u64 }
    }

    /// Reads until `need` bytes are buffered or the stream ends.
    #[cold]
    pub(super) fn fill(&mut self, need: usize) -> Result<(), ProblemKind> {
        self.bytes.copy_within(self.start..self.end, 0);
        self.base += self.start as u64;
        self.end -= self.start;
        self.start = 0;
        if self.bytes.len() < need {
            self.bytes.resize(need.next_power_of_two(), 0);
        }
        while self.end < need {
            match self.stream.read(&mut self.bytes[self.end..])? {
                0 => break,
                count => self.end += count,
            }
        }
        Ok(())
    }
}

#[inline]
fn first_words<const N: usize>(bytes: &[u8]) -> Option<[[u8; 4]; N]> {
    bytes.as_chunks().0.first_chunk().copied()
}
