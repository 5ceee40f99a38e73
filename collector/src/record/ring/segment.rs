//! A segment: a compressed capture of a few seconds.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use zstd::bulk::Compressor;

use crate::export::pcapng::{Section, Statistics, block};
use railscope_core::model::tap::{Tap, TapId};
use railscope_core::model::time::{Span, Timestamp};

/// Bytes that are compressed at once: fewer compress badly.
const BATCH: usize = 512 << 10;

/// How hard a thread with time tries to compress.
pub(in crate::record) const USUAL_LEVEL: i32 = 1;

/// A finished segment.
#[derive(Clone, Debug)]
pub(in crate::record) struct Segment {
    pub(in crate::record) path: PathBuf,
    /// From its first frame to its last.
    pub(in crate::record) span: Span,
    /// On disk.
    pub(in crate::record) bytes: u64,
}

/// A segment that is being written: a sequence of zstd frames.
pub(in crate::record) struct Writing {
    path: PathBuf,
    file: File,
    compressor: Compressor<'static>,
    /// Blocks that are not compressed yet.
    pending: Vec<u8>,
    /// Their frames.
    unwritten: u64,
    compressed: Vec<u8>,
    counts: Vec<Counts>,
    span: Option<Span>,
    bytes: u64,
}

/// Frames of a tap.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    written: u64,
    lost: u64,
}

impl std::fmt::Debug for Writing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writing").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Writing {
    pub(super) fn begin(path: PathBuf, taps: &[Tap]) -> io::Result<Self> {
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        let mut pending = Vec::with_capacity(2 * BATCH);
        block::section(&mut pending, &Section::default());
        taps.iter().for_each(|tap| block::tap(&mut pending, tap));
        Ok(Self {
            path,
            file,
            compressor: Compressor::new(USUAL_LEVEL)?,
            pending,
            unwritten: 0,
            compressed: Vec::new(),
            counts: vec![Counts::default(); taps.len()],
            span: None,
            bytes: 0,
        })
    }

    /// Adds blocks of frames, each with its tap. On an error nothing was added.
    pub(super) fn add(&mut self, blocks: &[u8], taps: &[TapId], span: Span) -> io::Result<()> {
        let is_batch = blocks.len() >= BATCH;
        if self.pending.len() >= BATCH || is_batch && !self.pending.is_empty() {
            self.write_pending()?;
        }
        if is_batch {
            self.write(blocks)?;
        } else {
            self.pending.extend_from_slice(blocks);
            self.unwritten += taps.len() as u64;
        }
        for tap in taps {
            if let Some(counts) = self.counts.get_mut(tap.0 as usize) {
                counts.written += 1;
            }
        }
        let first = self.span.map_or(span.first, |own| own.first.min(span.first));
        let last = self.span.map_or(span.last, |own| own.last.max(span.last));
        self.span = Some(Span { first, last });
        Ok(())
    }

    pub(super) fn add_lost(&mut self, tap: TapId, frames: u64) {
        if let Some(counts) = self.counts.get_mut(tap.0 as usize) {
            counts.lost += frames;
        }
    }

    pub(super) fn set_level(&mut self, level: i32) {
        // A level that zstd refuses leaves the one before.
        _ = self.compressor.set_compression_level(level);
    }

    /// On disk so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn span(&self) -> Option<Span> {
        self.span
    }

    /// Time since its first frame.
    pub(super) fn age_ns(&self, now: Timestamp) -> u64 {
        self.span.map_or(0, |span| now.nanos_since(span.first))
    }

    /// Ends it with the statistics of its interfaces. On an error it holds what was written before; returns
    /// how many frames that leaves out.
    pub(super) fn finish(mut self) -> (Segment, Result<(), (u64, io::Error)>) {
        let span = self.span.unwrap_or(Span { first: Timestamp::EPOCH, last: Timestamp::EPOCH });
        for (tap, counts) in (0..).map(TapId).zip(&self.counts) {
            let counted = Statistics {
                time: span.last,
                span: self.span,
                received: Some(counts.written + counts.lost),
                lost: counts.lost,
                written: Some(counts.written),
            };
            block::statistics(&mut self.pending, tap, &counted);
        }
        let result = self.write_pending().map_err(|error| (self.unwritten, error));
        (Segment { path: self.path, span, bytes: self.bytes }, result)
    }

    fn write_pending(&mut self) -> io::Result<()> {
        let mut pending = std::mem::take(&mut self.pending);
        let result = self.write(&pending);
        if result.is_ok() {
            pending.clear();
            self.unwritten = 0;
        }
        self.pending = pending;
        result
    }

    fn write(&mut self, blocks: &[u8]) -> io::Result<()> {
        self.compressed.clear();
        self.compressed.reserve(zstd::zstd_safe::compress_bound(blocks.len()));
        self.compressor.compress_to_buffer(blocks, &mut self.compressed)?;
        if let Err(error) = self.file.write_all(&self.compressed) {
            // Half of it would make the rest of the file unreadable.
            _ = self.file.set_len(self.bytes);
            _ = self.file.seek(SeekFrom::Start(self.bytes));
            return Err(error);
        }
        self.bytes += self.compressed.len() as u64;
        Ok(())
    }
}
