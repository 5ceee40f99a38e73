//! VXLAN (RFC 7348): Ethernet in UDP.
//!
//! ```text
//! byte 0               1..3      4..6                7
//!      reserved|I|...  reserved  network identifier  reserved
//! ```

use super::{Inner, Unwrapped};
use crate::decode::cursor::Cursor;
use crate::decode::error::{DecodeError, Layer};
use crate::decode::packet::Tunnel;

/// The assigned port, and the one that Linux used before.
pub(in crate::decode) const PORTS: [u16; 2] = [4789, 8472];

/// Removes a VXLAN header.
pub(in crate::decode) fn unwrap(cursor: &mut Cursor<'_>) -> Result<Unwrapped, DecodeError> {
    let &[flags, _, _, _, n0, n1, n2, _] = cursor.peek::<8>(Layer::Vxlan)?;
    // The I flag marks a valid identifier; without it this is not VXLAN.
    if flags & 0x08 == 0 {
        return Err(cursor.refuse(Layer::Vxlan));
    }
    cursor.take::<8>(Layer::Vxlan)?;
    let network_identifier = u32::from_be_bytes([0, n0, n1, n2]);
    let tunnel = Tunnel::Vxlan { network_identifier };
    Ok(Unwrapped { tunnel, inner: Inner::Ethernet, is_mirror: false })
}
