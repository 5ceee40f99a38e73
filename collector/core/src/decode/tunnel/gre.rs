//! GRE (RFC 2784, RFC 2890): Ethernet, IP or a mirror session in IP.
//!
//! ```text
//! byte 0..1                          2..3           then 4 bytes each
//!      C|R|K|S|s|recur(3)|0|version  protocol type  [checksum] [key] [sequence number]
//! ```

use super::{Inner, Unwrapped, erspan, mirror, mpls};
use crate::decode::cursor::Cursor;
use crate::decode::error::{DecodeError, Layer};
use crate::decode::link::{ETHERNET_BRIDGING, IPV4, IPV6};
use crate::decode::packet::Tunnel;

const CHECKSUM: u16 = 0x8000;
const ROUTING: u16 = 0x4000;
const KEY: u16 = 0x2000;
const SEQUENCE: u16 = 0x1000;
const VERSION: u16 = 0x0007;

/// ERSPAN types I and II.
const ERSPAN: u16 = 0x88be;
/// ERSPAN type III.
const ERSPAN_III: u16 = 0x22eb;

/// Removes a GRE header and the mirror header after it; `None` if its payload is of an unknown
/// type.
pub(in crate::decode) fn unwrap(cursor: &mut Cursor<'_>) -> Result<Option<Unwrapped>, DecodeError> {
    let &[f0, f1, p0, p1] = cursor.peek::<4>(Layer::Gre)?;
    let flags = u16::from_be_bytes([f0, f1]);
    let protocol = u16::from_be_bytes([p0, p1]);
    // RFC 1701's source routes make the header's length unknown; version 1 is PPTP's.
    if flags & (ROUTING | VERSION) != 0 {
        return Err(cursor.refuse(Layer::Gre));
    }
    let fields = u16::count_ones(flags & (CHECKSUM | KEY | SEQUENCE));
    let header = cursor.take_len((fields as usize).saturating_add(1) << 2, Layer::Gre)?;
    // The sequence number comes last.
    let sequence = match header.last_chunk() {
        Some(&bytes) if flags & SEQUENCE != 0 => Some(u32::from_be_bytes(bytes)),
        _ => None,
    };
    let (inner, is_mirror) = match protocol {
        ERSPAN if sequence.is_none() => {
            let inner = Inner::Ethernet;
            return Ok(Some(Unwrapped { tunnel: Tunnel::ErspanI, inner, is_mirror: true }));
        }
        ERSPAN | ERSPAN_III => return erspan::unwrap(sequence, cursor).map(Some),
        // Without any flag this is how Spectrum switches mirror (Linux, `mlxsw/spectrum_span.c`: a
        // "dumb" gretap); overlays such as NVGRE set a key.
        ETHERNET_BRIDGING => (Inner::Ethernet, flags == 0),
        IPV4 | IPV6 => (Inner::EtherType(protocol), false),
        _ if mpls::ETHER_TYPES.contains(&protocol) => return mpls::unwrap(cursor).map(Some),
        _ => return mirror::unwrap(protocol, cursor),
    };
    Ok(Some(Unwrapped { tunnel: Tunnel::Gre { protocol }, inner, is_mirror }))
}
