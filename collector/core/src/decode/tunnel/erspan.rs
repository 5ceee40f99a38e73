//! ERSPAN: a mirror session's header between GRE and the copied frame
//! (draft-foschiano-erspan-03; Linux `include/net/erspan.h`).
//!
//! ```text
//! type II   byte 0..1                2..3                        4..7
//!                version(4)|VLAN(12) COS(3)|En(2)|T|session(10)  reserved(12)|index(20)
//! type III  byte 0..1                2..3                         4..7       8..9
//!                version(4)|VLAN(12) COS(3)|BSO(2)|T|session(10)  timestamp  SGT
//!                10..11                              12..19, when O is set
//!                P|FT(5)|hardware(6)|D|Gra(2)|O      platform specific
//! ```
//!
//! Type I has no header. Types II and III are distinguished by their version, 1 and 2, under either
//! of their GRE protocol types, because there are switches that mix them up.

use super::{Inner, Unwrapped};
use crate::decode::cursor::Cursor;
use crate::decode::error::{DecodeError, Layer};
use crate::decode::link;
use crate::decode::packet::Tunnel;

/// Removes the header of type II or III, to which GRE gave this sequence number.
pub(super) fn unwrap(
    sequence: Option<u32>,
    cursor: &mut Cursor<'_>,
) -> Result<Unwrapped, DecodeError> {
    let start = *cursor;
    let &[version, _, s0, s1] = start.peek::<4>(Layer::Erspan)?;
    let session = u16::from_be_bytes([s0 & 0x03, s1]);
    let truncated = s0 & 0x04 != 0;
    let (tunnel, inner) = match (version >> 4, sequence) {
        (1, Some(sequence)) => {
            cursor.take::<8>(Layer::Erspan)?;
            (Tunnel::ErspanII { session, sequence, truncated }, Inner::Ethernet)
        }
        (2, sequence) => {
            let &[_, _, _, _, _, _, _, _, _, _, frame_type, flags] =
                cursor.peek::<12>(Layer::Erspan)?;
            let len = if flags & 0x01 == 0 { 12 } else { 20 };
            cursor.take_len(len, Layer::Erspan)?;
            let inner = match (frame_type >> 2) & 0x1f {
                0 => Inner::Ethernet,
                2 => Inner::EtherType(link::raw_ip(cursor)?),
                _ => return Err(start.refuse(Layer::Erspan)),
            };
            let egress = flags & 0x08 != 0;
            (Tunnel::ErspanIII { session, sequence, truncated, egress }, inner)
        }
        _ => return Err(start.refuse(Layer::Erspan)),
    };
    if truncated {
        cursor.mark_cut();
    }
    Ok(Unwrapped { tunnel, inner, is_mirror: true })
}
