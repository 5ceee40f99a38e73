//! The pcapng format with nanosecond timestamps (draft-ietf-opsawg-pcapng): one section, one or
//! more interfaces, enhanced packet blocks.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::{DriveError, Result};

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
/// `LINKTYPE_ETHERNET`
const ETHERNET: u32 = 1;

/// Options: end, application (section), name, speed and resolution of time (interface).
const END: u16 = 0;
const APPLICATION: u16 = 4;
const NAME: u16 = 2;
const SPEED: u16 = 8;
const RESOLUTION: u16 = 9;

/// Content of an interface block.
#[derive(Clone, Debug)]
pub(super) struct Interface {
    /// The tap.
    pub name: String,
    /// Bits per second.
    pub speed: u64,
}

/// A capture file being written.
#[derive(Debug)]
pub(super) struct PcapngFile {
    path: PathBuf,
    out: BufWriter<File>,
    block: Vec<u8>,
    pub(super) frames: u64,
}

impl PcapngFile {
    pub(super) fn create(path: &Path, interfaces: &[Interface]) -> Result<Self> {
        let opened = File::create(path).map_err(DriveError::io(path.display().to_string()))?;
        let out = BufWriter::with_capacity(1 << 18, opened);
        let mut file = Self { path: path.to_owned(), out, block: Vec::new(), frames: 0 };
        // Version 1.0, a section of unknown length.
        file.put(&BYTE_ORDER_MAGIC.to_le_bytes());
        file.put(&[1, 0, 0, 0]);
        file.put(&[0xff; 8]);
        file.option(APPLICATION, b"railscope simulate");
        file.option(END, &[]);
        file.end(SECTION_HEADER)?;
        for interface in interfaces {
            // Frames are kept whole or truncated by kind: no single snap length holds.
            for word in [ETHERNET, 0] {
                file.put(&word.to_le_bytes());
            }
            file.option(NAME, interface.name.as_bytes());
            file.option(SPEED, &interface.speed.to_le_bytes());
            file.option(RESOLUTION, &[9]);
            file.option(END, &[]);
            file.end(INTERFACE_DESCRIPTION)?;
        }
        Ok(file)
    }

    /// Writes a frame of `length` bytes on the wire, of which `bytes` were kept; `time_ns` since
    /// 1970.
    pub(super) fn write(
        &mut self,
        interface: u32,
        time_ns: u64,
        bytes: &[u8],
        length: usize,
    ) -> Result<()> {
        let [kept, length] =
            [bytes.len(), length].map(|len| u32::try_from(len).unwrap_or(u32::MAX));
        for word in [interface, (time_ns >> 32) as u32, time_ns as u32, kept, length] {
            self.put(&word.to_le_bytes());
        }
        self.put(bytes);
        self.frames += 1;
        self.end(ENHANCED_PACKET)
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        self.out.flush().map_err(self.failed())
    }

    fn failed(&self) -> impl FnOnce(std::io::Error) -> DriveError + use<> {
        DriveError::io(format!("write {}", self.path.display()))
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        self.put(&code.to_le_bytes());
        let length = u16::try_from(value.len()).unwrap_or(u16::MAX);
        self.put(&length.to_le_bytes());
        self.put(value);
        self.pad();
    }

    fn put(&mut self, bytes: &[u8]) {
        self.block.extend_from_slice(bytes);
    }

    fn pad(&mut self) {
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }

    /// Writes the assembled block.
    fn end(&mut self, kind: u32) -> Result<()> {
        self.pad();
        let length = u32::try_from(self.block.len() + 12).unwrap_or(u32::MAX).to_le_bytes();
        let written = [kind.to_le_bytes().as_slice(), &length, &self.block, &length]
            .into_iter()
            .try_for_each(|bytes| self.out.write_all(bytes));
        self.block.clear();
        written.map_err(self.failed())
    }
}
