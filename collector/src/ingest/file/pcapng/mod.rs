//! pcapng (draft-ietf-opsawg-pcapng): a sequence of blocks; frames are one type of block.
//!
//! ```text
//! byte 0..3        4..7          8..          length-4..
//!      block type  block length  content ...  block length again
//! ```
//!
//! The framing is checked here, so that `pcap-parser` gets exactly one whole block and never
//! requests more data.

mod interface;
mod name;
mod option;
mod packet;

use pcap_parser::{
    Block, EPB_MAGIC, IDB_MAGIC, ISB_MAGIC, NRB_MAGIC, SPB_MAGIC, parse_block_be, parse_block_le,
    parse_sectionheaderblock,
};

use super::buffer::{BLOCK_LIMIT, Buffer};
use super::byte_order::ByteOrder;
use super::notices::Notices;
use super::problem::ProblemKind;
use super::record::{Found, Record};
use interface::Interfaces;
use railscope_core::model::time::Timestamp;

/// First bytes of a file: a section header's block type, the same in either byte order.
pub(super) const MAGIC: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

/// A section header's third word in the byte order of the section.
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;

/// The obsolete packet block, which pcap-parser does not know.
const PACKET_BLOCK: u32 = 2;

/// Type, length and length again: what every block has.
const SMALLEST_BLOCK_BYTES: u32 = 12;

/// Reads the blocks of a pcapng file.
#[derive(Debug)]
pub(super) struct PcapNgReader {
    name: String,
    byte_order: ByteOrder,
    interfaces: Interfaces,
    /// Time of the last frame, for frames without a time.
    last_time: Timestamp,
    untimed_frames: u64,
}

impl PcapNgReader {
    pub(super) fn open(name: &str, buffer: &mut Buffer) -> Result<Self, ProblemKind> {
        let mut reader = Self {
            name: name.to_owned(),
            byte_order: ByteOrder::Little,
            interfaces: Interfaces::default(),
            last_time: Timestamp::EPOCH,
            untimed_frames: 0,
        };
        reader.on_section(buffer)?;
        Ok(reader)
    }

    /// Frames without a time, which got that of the frame before.
    pub(super) fn untimed_frames(&self) -> u64 {
        self.untimed_frames
    }

    /// Reads one block, a frame into `record`. A block that cannot be believed in itself is skipped; one whose length
    /// cannot be believed ends the file, because nothing says where the next one starts.
    #[inline]
    pub(super) fn poll(
        &mut self,
        buffer: &mut Buffer,
        record: &mut Record,
        notices: &mut Notices,
    ) -> Result<Found, ProblemKind> {
        let Some([block_type, length]) = buffer.words()? else { return Ok(Found::End) };
        if block_type == MAGIC {
            return self.on_section(buffer);
        }
        let block_type = self.byte_order.u32(block_type);
        let block = whole_block(buffer, self.byte_order, self.byte_order.u32(length))?;
        let found = match block_type {
            EPB_MAGIC | PACKET_BLOCK => {
                self.on_timed_packet(block_type, block, record, notices).map(|()| true)
            }
            _ => self.on_other(block_type, block, record, notices),
        };
        let (block_bytes, position, offset) = (block.len(), buffer.position(), buffer.offset());
        buffer.consume(block_bytes);
        Ok(match found {
            Ok(true) => {
                record.position += position;
                Found::Frame
            }
            Ok(false) => Found::Other,
            Err(problem) => Found::Problem(problem, offset),
        })
    }

    /// Starts a section: its byte order, and no interfaces yet.
    fn on_section(&mut self, buffer: &mut Buffer) -> Result<Found, ProblemKind> {
        let Some([_, length, magic]) = buffer.words()? else { return Ok(Found::End) };
        self.byte_order = if magic == BYTE_ORDER_MAGIC.to_le_bytes() {
            ByteOrder::Little
        } else if magic == BYTE_ORDER_MAGIC.to_be_bytes() {
            ByteOrder::Big
        } else {
            return Err(ProblemKind::ByteOrder);
        };
        let block = whole_block(buffer, self.byte_order, self.byte_order.u32(length))?;
        let Ok((_, section)) = parse_sectionheaderblock(block) else {
            return Err(ProblemKind::BlockLength(self.byte_order.u32(length)));
        };
        let (major, minor) = (section.major_version, section.minor_version);
        if major != 1 {
            return Err(ProblemKind::Version { major, minor });
        }
        let block_bytes = block.len();
        buffer.consume(block_bytes);
        self.interfaces.clear();
        Ok(Found::Other)
    }

    /// Handles the blocks that are rare, through pcap-parser; skips the types it has no use for. Returns
    /// whether `record` is a new frame.
    #[cold]
    fn on_other(
        &mut self,
        block_type: u32,
        block: &[u8],
        record: &mut Record,
        notices: &mut Notices,
    ) -> Result<bool, ProblemKind> {
        if !matches!(block_type, IDB_MAGIC | ISB_MAGIC | NRB_MAGIC | SPB_MAGIC) {
            return Ok(false);
        }
        let parsed = match self.byte_order {
            ByteOrder::Little => parse_block_le(block),
            ByteOrder::Big => parse_block_be(block),
        };
        match parsed.map(|(_, parsed)| parsed) {
            Ok(Block::SimplePacket(packet)) => {
                *record = self.on_simple_packet(&packet)?;
                return Ok(true);
            }
            Ok(Block::InterfaceDescription(description)) => {
                self.interfaces.add(&self.name, self.byte_order, &description, notices)?;
            }
            Ok(Block::InterfaceStatistics(statistics)) => {
                self.interfaces.report(self.byte_order, &statistics, notices)?;
            }
            Ok(Block::NameResolution(names)) => name::tell_names(&names, notices),
            Ok(_) => {}
            Err(_) => {
                if block_type == IDB_MAGIC {
                    self.interfaces.add_damaged()?;
                }
                return Err(ProblemKind::Block { block_type });
            }
        }
        Ok(false)
    }
}

/// Buffers the whole block, and checks its two lengths.
#[inline]
fn whole_block(
    buffer: &mut Buffer,
    byte_order: ByteOrder,
    length: u32,
) -> Result<&[u8], ProblemKind> {
    if !(SMALLEST_BLOCK_BYTES..=BLOCK_LIMIT).contains(&length) || !length.is_multiple_of(4) {
        return Err(ProblemKind::BlockLength(length));
    }
    let block = buffer.need(length as usize)?;
    match block.last_chunk().map(|end| byte_order.u32(*end)) {
        Some(end) if end != length => Err(ProblemKind::BlockEnd { start: length, end }),
        _ => Ok(block),
    }
}
