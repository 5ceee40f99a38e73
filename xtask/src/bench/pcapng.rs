//! A pcapng of several interfaces with nanoseconds.

use std::borrow::Cow;
use std::io::{self, Write};

use pcap_parser::{
    BOM_MAGIC, EnhancedPacketBlock, InterfaceDescriptionBlock, Linktype, OptionCode, PcapNGOption,
    SectionHeaderBlock, ToVec,
};

/// Type, both lengths, interface, time, captured and wire length.
const PACKET_OVERHEAD: usize = 32;

/// Begins a capture with these interfaces.
pub(super) fn write_head<'a>(
    out: &mut impl Write,
    interfaces: impl Iterator<Item = &'a str>,
) -> io::Result<()> {
    let section = SectionHeaderBlock {
        block_type: 0,
        block_len1: 0,
        bom: BOM_MAGIC,
        major_version: 1,
        minor_version: 0,
        section_len: -1,
        options: Vec::new(),
        block_len2: 0,
    };
    put(out, section)?;
    for name in interfaces {
        let value = Cow::Borrowed(name.as_bytes());
        let name = PcapNGOption { code: OptionCode::IfName, len: name.len() as u16, value };
        let interface = InterfaceDescriptionBlock {
            block_type: 0,
            block_len1: 0,
            linktype: Linktype::ETHERNET,
            reserved: 0,
            // No limit to the length of frames.
            snaplen: 0,
            options: vec![name],
            block_len2: 0,
            if_tsresol: 9,
            if_tsoffset: 0,
        };
        put(out, interface)?;
    }
    Ok(())
}

/// Appends a frame that interface `interface` saw.
pub(super) fn write_frame(
    out: &mut impl Write,
    interface: u32,
    time_ns: u64,
    wire_len: u32,
    frame: &[u8],
) -> io::Result<()> {
    let packet = EnhancedPacketBlock {
        block_type: 0,
        block_len1: 0,
        if_id: interface,
        ts_high: (time_ns >> 32) as u32,
        ts_low: time_ns as u32,
        caplen: frame.len() as u32,
        origlen: wire_len,
        data: frame,
        options: Vec::new(),
        block_len2: 0,
    };
    put(out, packet)
}

/// Bytes in the file for a frame of `captured_len`.
pub(super) fn frame_len(captured_len: usize) -> usize {
    PACKET_OVERHEAD + captured_len.next_multiple_of(4)
}

/// Types and lengths are filled in here.
fn put(out: &mut impl Write, mut block: impl ToVec) -> io::Result<()> {
    out.write_all(&block.to_vec().map_err(io::Error::other)?)
}
