//! VXLAN (RFC 7348): Ethernet in UDP; and its extension for other protocols, VXLAN-GPE
//! (draft-ietf-nvo3-vxlan-gpe-13).
//!
//! ```text
//! byte 0                 1..2      3              4..6                7
//!      reserved|I|P|...  reserved  next protocol  network identifier  reserved
//! ```

use super::{Inner, Unwrapped};
use crate::decode::cursor::Cursor;
use crate::decode::error::{DecodeError, Layer};
use crate::decode::link::{IPV4, IPV6};
use crate::decode::packet::Tunnel;

/// The assigned port, and the one that Linux used before.
pub(in crate::decode) const PORTS: [u16; 2] = [4789, 8472];

/// The port of VXLAN-GPE.
pub(in crate::decode) const GPE_PORT: u16 = 4790;

/// The network identifier is valid.
const HAS_IDENTIFIER: u8 = 0x08;
/// VXLAN-GPE: the next protocol is given.
const HAS_PROTOCOL: u8 = 0x04;

/// Removes a VXLAN header.
pub(in crate::decode) fn unwrap(cursor: &mut Cursor<'_>) -> Result<Unwrapped, DecodeError> {
    let &[flags, ..] = cursor.peek::<8>(Layer::Vxlan)?;
    // Without an identifier this is not VXLAN.
    if flags & HAS_IDENTIFIER == 0 {
        return Err(cursor.refuse(Layer::Vxlan));
    }
    take(Inner::Ethernet, cursor)
}

/// Removes a VXLAN-GPE header.
pub(in crate::decode) fn unwrap_gpe(cursor: &mut Cursor<'_>) -> Result<Unwrapped, DecodeError> {
    let &[flags, _, _, protocol, ..] = cursor.peek::<8>(Layer::Vxlan)?;
    let inner = match (flags & HAS_PROTOCOL, protocol) {
        (0, _) | (_, 3) => Inner::Ethernet,
        (_, 1) => Inner::EtherType(IPV4),
        (_, 2) => Inner::EtherType(IPV6),
        _ => return Err(cursor.refuse(Layer::Vxlan)),
    };
    take(inner, cursor)
}

fn take(inner: Inner, cursor: &mut Cursor<'_>) -> Result<Unwrapped, DecodeError> {
    let &[_, _, _, _, n0, n1, n2, _] = cursor.take::<8>(Layer::Vxlan)?;
    let tunnel = Tunnel::Vxlan { network_identifier: u32::from_be_bytes([0, n0, n1, n2]) };
    Ok(Unwrapped { tunnel, inner, is_mirror: false })
}
