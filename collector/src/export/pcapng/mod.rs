//! Writes frames to a pcapng file (draft-ietf-opsawg-pcapng), with one interface per tap and nanoseconds.
//!
//! Losses are written too, so that the file has the same facts as the live analysis.
//!
//! Hand-written because the crates cost every build more than this file: pcap-parser's `serialize` brings
//! `futures`, pcap-file a second `syn` and `thiserror`.

pub mod block;
mod section;

use std::io::{self, Write};

pub use self::section::{Section, Statistics};

use railscope_core::model::frame::Frame;
use railscope_core::model::tap::{HostName, Tap, TapId};
use railscope_core::model::time::Timestamp;

/// Writes a capture file.
#[derive(Debug)]
pub struct PcapNgWriter<W> {
    out: W,
    /// Frames lost so far, by tap.
    lost: Vec<u64>,
    /// The current block; its memory is reused.
    block: Vec<u8>,
    last: Timestamp,
}

impl<W: Write> PcapNgWriter<W> {
    /// Starts a file.
    ///
    /// # Errors
    ///
    /// When writing fails, as of all methods.
    pub fn new(out: W) -> io::Result<Self> {
        Self::with_section(out, &Section::default())
    }

    /// Starts a file that says something of itself.
    ///
    /// # Errors
    ///
    /// See [`Self::new`].
    pub fn with_section(out: W, section: &Section) -> io::Result<Self> {
        let (lost, block, last) = (Vec::new(), Vec::new(), Timestamp::EPOCH);
        let mut writer = Self { out, lost, block, last };
        block::section(&mut writer.block, section);
        writer.end_block()?;
        Ok(writer)
    }

    /// The next tap; taps are numbered from 0 in this order.
    ///
    /// # Errors
    ///
    /// See [`Self::new`].
    pub fn tap(&mut self, tap: &Tap) -> io::Result<()> {
        self.lost.push(0);
        block::tap(&mut self.block, tap);
        self.end_block()
    }

    /// A frame of a tap that was added before.
    ///
    /// # Errors
    ///
    /// See [`Self::new`].
    pub fn frame(&mut self, frame: &Frame<'_>) -> io::Result<()> {
        self.commented_frame(frame, &[])
    }

    /// A frame with comments.
    ///
    /// # Errors
    ///
    /// See [`Self::new`].
    pub fn commented_frame(&mut self, frame: &Frame<'_>, comments: &[String]) -> io::Result<()> {
        u32::try_from(frame.bytes.len()).map_err(io::Error::other)?;
        self.last = frame.time;
        block::frame(&mut self.block, frame, frame.bytes.len(), comments);
        self.end_block()
    }

    /// The name of an address.
    ///
    /// # Errors
    ///
    /// See [`Self::new`].
    pub fn host_name(&mut self, name: &HostName) -> io::Result<()> {
        self.host_names(std::slice::from_ref(name))
    }

    /// The names of addresses.
    ///
    /// # Errors
    ///
    /// See [`Self::new`].
    pub fn host_names(&mut self, names: &[HostName]) -> io::Result<()> {
        block::names(&mut self.block, names);
        self.end_block()
    }

    /// Frames of a tap that were lost.
    ///
    /// # Errors
    ///
    /// See [`Self::new`].
    pub fn lost(&mut self, tap: TapId, frames: u64) -> io::Result<()> {
        let Some(total) = self.lost.get_mut(tap.0 as usize) else { return Ok(()) };
        *total = total.saturating_add(frames);
        let (time, lost) = (self.last, *total);
        self.statistics(tap, &Statistics { time, span: None, received: None, lost, written: None })
    }

    /// Frames of a tap that were lost so far.
    #[must_use]
    pub fn lost_of(&self, tap: TapId) -> u64 {
        self.lost.get(tap.0 as usize).copied().unwrap_or(0)
    }

    /// Everything that is known of a tap at the end.
    ///
    /// # Errors
    ///
    /// See [`Self::new`].
    pub fn statistics(&mut self, tap: TapId, counted: &Statistics) -> io::Result<()> {
        block::statistics(&mut self.block, tap, counted);
        self.end_block()
    }

    /// Writes blocks that were built elsewhere.
    ///
    /// # Errors
    ///
    /// See [`Self::new`].
    pub fn blocks(&mut self, blocks: &[u8]) -> io::Result<()> {
        self.out.write_all(blocks)
    }

    /// Writes buffered data.
    ///
    /// # Errors
    ///
    /// See [`Self::new`].
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Writes buffered data, and returns what it was written to.
    ///
    /// # Errors
    ///
    /// See [`Self::new`].
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    fn end_block(&mut self) -> io::Result<()> {
        let result = self.out.write_all(&self.block);
        self.block.clear();
        result
    }
}
