//! Endace's extensible record format, in which probes keep Ethernet and InfiniBand frames
//! (tcpdump.org, `LINKTYPE_ERF`).
//!
//! ```text
//! byte 0..7        8                  9      10..11         12..13        14..15
//!      time stamp  extended(1)|type   flags  record length  loss counter  wire length
//!      then extension headers of 8 bytes: more(1)|type ...; then 2 bytes of padding before Ethernet
//! ```

use super::cursor::Cursor;
use super::error::{DecodeError, Layer, Limit};

/// What a record holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Record {
    /// An Ethernet frame.
    Ethernet,
    /// An InfiniBand packet.
    InfiniBand,
}

/// Another header follows.
const MORE: u8 = 0x80;

/// The frame check sequence, which probes keep.
const FCS_BYTES: usize = 4;

/// Reads the headers of a record; what remains is as long as the frame was on the wire.
pub(super) fn decode(cursor: &mut Cursor<'_>) -> Result<Record, DecodeError> {
    let start = *cursor;
    let &[_, _, _, _, _, _, _, _, kind, _, _, _, _, _, w0, w1] = cursor.take::<16>(Layer::Erf)?;
    let wire_len = usize::from(u16::from_be_bytes([w0, w1]));
    let mut more = kind & MORE != 0;
    while more {
        let &[extension, ..] = cursor.take::<8>(Layer::Erf)?;
        more = extension & MORE != 0;
    }
    match kind & !MORE {
        // Wire: ETH, COLOR_ETH, DSM_COLOR_ETH, COLOR_HASH_ETH.
        2 | 11 | 16 | 20 => {
            cursor.take::<2>(Layer::Erf)?;
            cursor.follow(wire_len.saturating_sub(FCS_BYTES), Limit::Frame);
            Ok(Record::Ethernet)
        }
        21 => {
            cursor.follow(wire_len, Limit::Frame);
            Ok(Record::InfiniBand)
        }
        _ => Err(start.refuse(Layer::Erf)),
    }
}
