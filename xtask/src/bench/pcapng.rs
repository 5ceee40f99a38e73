//! A pcapng of several interfaces with nanoseconds, little-endian.

use std::io::{self, Write};

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const ENHANCED_PACKET: u32 = 6;

const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
const ETHERNET: u16 = 1;
const IF_NAME: u16 = 2;
const IF_TSRESOL: u16 = 9;

/// Type, both lengths, interface, time, captured and wire length.
const PACKET_OVERHEAD: usize = 32;

/// Begins a capture with these interfaces.
pub(super) fn write_head<'a>(
    out: &mut impl Write,
    interfaces: impl Iterator<Item = &'a str>,
) -> io::Result<()> {
    let mut body = BYTE_ORDER_MAGIC.to_le_bytes().to_vec();
    // Version 1.0; the section's length is not known.
    body.extend([1, 0, 0, 0]);
    body.extend([0xff; 8]);
    write_block(out, SECTION_HEADER, &body)?;
    for name in interfaces {
        let mut body = ETHERNET.to_le_bytes().to_vec();
        // Two reserved bytes, then no limit to the length of frames.
        body.extend([0; 6]);
        for (option, value) in [(IF_NAME, name.as_bytes()), (IF_TSRESOL, &[9])] {
            body.extend(option.to_le_bytes());
            body.extend((value.len() as u16).to_le_bytes());
            body.extend(value);
            body.resize(body.len().next_multiple_of(4), 0);
        }
        // End of options.
        body.extend([0; 4]);
        write_block(out, INTERFACE, &body)?;
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
    let len = frame_len(frame.len()) as u32;
    let (high, low) = ((time_ns >> 32) as u32, time_ns as u32);
    for word in [ENHANCED_PACKET, len, interface, high, low, frame.len() as u32, wire_len] {
        out.write_all(&word.to_le_bytes())?;
    }
    out.write_all(frame)?;
    out.write_all(&[0; 3][..frame.len().next_multiple_of(4) - frame.len()])?;
    out.write_all(&len.to_le_bytes())
}

/// Bytes in the file for a frame of `captured_len`.
pub(super) fn frame_len(captured_len: usize) -> usize {
    PACKET_OVERHEAD + captured_len.next_multiple_of(4)
}

fn write_block(out: &mut impl Write, kind: u32, body: &[u8]) -> io::Result<()> {
    let len = (12 + body.len()) as u32;
    out.write_all(&kind.to_le_bytes())?;
    out.write_all(&len.to_le_bytes())?;
    out.write_all(body)?;
    out.write_all(&len.to_le_bytes())
}
