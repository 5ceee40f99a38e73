//! Mirror sessions whose header has no public layout: SONiC's (GRE protocol type 0x8949, 22 bytes;
//! SONiC port mirroring HLD 0.3), and those of switches where the type can be configured.

use super::{Inner, Unwrapped};
use crate::decode::cursor::Cursor;
use crate::decode::error::{DecodeError, Layer};
use crate::decode::link::{IPV4, IPV6};
use crate::decode::packet::Tunnel;

/// SONiC's default on Spectrum.
const SONIC: u16 = 0x8949;

/// Lengths of mirror headers that are in use: SONiC's, none, ERSPAN II's, ERSPAN III's.
const LENGTHS: [usize; 4] = [22, 0, 8, 12];

/// Bytes of the two addresses of an Ethernet header.
const ADDRESSES: usize = 12;
const VLAN: [u8; 2] = [0x81, 0x00];

/// Removes a header of the length that leaves Ethernet with IP; `None` if none does.
pub(super) fn unwrap(
    protocol: u16,
    cursor: &mut Cursor<'_>,
) -> Result<Option<Unwrapped>, DecodeError> {
    let bytes = cursor.bytes();
    let fits = LENGTHS.into_iter().find(|length| bytes.get(*length..).is_some_and(has_ip));
    // SONiC's length is known, whatever was copied.
    let Some(length) = fits.or((protocol == SONIC).then_some(LENGTHS[0])) else {
        return Ok(None);
    };
    cursor.take_len(length, Layer::Mirror)?;
    let tunnel = Tunnel::Mirror { protocol };
    Ok(Some(Unwrapped { tunnel, inner: Inner::Ethernet, is_mirror: true }))
}

/// Whether these bytes begin with an Ethernet header, and IP of the version that it names.
pub(super) fn has_ip(bytes: &[u8]) -> bool {
    let after_addresses = bytes.get(ADDRESSES..).unwrap_or_default();
    let behind = match after_addresses {
        [a, b, _, _, rest @ ..] if [*a, *b] == VLAN => rest,
        untagged => untagged,
    };
    match behind {
        [a, b, first, ..] => match u16::from_be_bytes([*a, *b]) {
            IPV4 => first >> 4 == 4,
            IPV6 => first >> 4 == 6,
            _ => false,
        },
        _ => false,
    }
}
