//! One file with everything, without a ring.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use super::private;
use crate::export::pcapng::{Section, Statistics, block};
use railscope_core::model::tap::{Tap, TapId};
use railscope_core::model::time::{Span, Timestamp};

/// The file that is being written.
pub(super) struct Single {
    out: Out,
    bytes: u64,
    /// It ends when it is this large.
    limit: Option<u64>,
    counts: Vec<[u64; 2]>,
    span: Option<Span>,
}

enum Out {
    Plain(File),
    Compressed(zstd::Encoder<'static, File>),
    Standard(io::Stdout),
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(out) => out.write(bytes),
            Self::Compressed(out) => out.write(bytes),
            Self::Standard(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(out) => out.flush(),
            Self::Compressed(out) => out.flush(),
            Self::Standard(out) => out.flush(),
        }
    }
}

impl Single {
    /// Begins the file at `path`; `-` is standard output. A name that ends in `.zst` is compressed.
    pub(super) fn create(
        path: &Path,
        section: &Section,
        taps: &[Tap],
        limit: Option<u64>,
    ) -> io::Result<Self> {
        let mut out = match path.extension() {
            _ if path == Path::new("-") => Out::Standard(io::stdout()),
            Some(end) if end == "zst" => Out::Compressed(zstd::Encoder::new(
                private::create(path)?,
                super::ring::USUAL_LEVEL,
            )?),
            _ => Out::Plain(private::create(path)?),
        };
        let mut head = Vec::new();
        block::section(&mut head, section);
        taps.iter().for_each(|tap| block::tap(&mut head, tap));
        out.write_all(&head)?;
        out.flush()?;
        let counts = vec![[0; 2]; taps.len()];
        Ok(Self { out, bytes: head.len() as u64, limit, counts, span: None })
    }

    pub(super) fn add(&mut self, blocks: &[u8], taps: &[TapId], span: Span) -> io::Result<()> {
        taps.iter().for_each(|tap| self.count(*tap, 0, 1));
        let first = self.span.map_or(span.first, |own| own.first);
        self.span = Some(Span { first, last: span.last });
        self.bytes += blocks.len() as u64;
        self.out.write_all(blocks)?;
        // A reader at the other end of a pipe waits for it.
        if matches!(self.out, Out::Standard(_)) { self.out.flush() } else { Ok(()) }
    }

    pub(super) fn add_lost(&mut self, tap: TapId, frames: u64) {
        self.count(tap, 1, frames);
    }

    fn count(&mut self, tap: TapId, which: usize, frames: u64) {
        let counted = self.counts.get_mut(tap.0 as usize).and_then(|all| all.get_mut(which));
        if let Some(counted) = counted {
            *counted += frames;
        }
    }

    /// Before compression.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn is_full(&self) -> bool {
        self.limit.is_some_and(|limit| self.bytes >= limit)
    }

    /// Ends the file with the statistics of its interfaces; until `quiet`, no other frame passed.
    pub(super) fn finish(mut self, quiet: Timestamp) -> io::Result<()> {
        let is_full = self.is_full();
        let mut tail = Vec::new();
        // What came after a full file is not in it.
        if let Some(span) = self.span.as_mut().filter(|_| !is_full) {
            span.last = span.last.max(quiet);
        }
        let time = self.span.map_or_else(super::now, |span| span.last);
        for (tap, &[written, lost]) in (0..).map(TapId).zip(&self.counts) {
            let received = Some(written + lost);
            let counted =
                Statistics { time, span: self.span, received, lost, written: Some(written) };
            block::statistics(&mut tail, tap, &counted);
        }
        self.out.write_all(&tail)?;
        match self.out {
            Out::Compressed(out) => out.finish().map(drop),
            mut other => other.flush(),
        }
    }
}
