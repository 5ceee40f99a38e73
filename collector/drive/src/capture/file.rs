//! The classic pcap format with nanosecond timestamps (draft-ietf-opsawg-pcap).

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use super::sys::Frame;
use crate::{DriveError, Result};

/// Timestamps are in nanoseconds.
const MAGIC: u32 = 0xa1b2_3c4d;

/// `LINKTYPE_ETHERNET`
const ETHERNET: u32 = 1;

/// A capture file being written.
#[derive(Debug)]
pub(super) struct PcapFile {
    path: PathBuf,
    out: BufWriter<File>,
}

impl PcapFile {
    pub(super) fn create(path: &Path, snaplen: u32) -> Result<Self> {
        let opened = File::create(path).map_err(DriveError::io(path.display().to_string()))?;
        let mut file =
            Self { path: path.to_owned(), out: BufWriter::with_capacity(1 << 20, opened) };
        let version: u32 = 2 | 4 << 16;
        file.words(&[MAGIC, version, 0, 0, snaplen, ETHERNET])?;
        Ok(file)
    }

    pub(super) fn write(&mut self, frame: &Frame<'_>) -> Result<()> {
        let captured = u32::try_from(frame.bytes.len()).unwrap_or(u32::MAX);
        self.words(&[frame.seconds, frame.nanoseconds, captured, frame.length])?;
        self.put(frame.bytes)
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        self.out.flush().map_err(DriveError::io(format!("write {}", self.path.display())))
    }

    /// Writes in this machine's byte order, which the magic declares.
    fn words(&mut self, words: &[u32]) -> Result<()> {
        words.iter().try_for_each(|word| self.put(&word.to_ne_bytes()))
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).map_err(DriveError::io(format!("write {}", self.path.display())))
    }
}
