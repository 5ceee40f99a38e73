//! Geneve (RFC 8926): Ethernet or IP in UDP, after options.
//!
//! ```text
//! byte 0                          1           2..3           4..6                7
//!      version(2)|option words(6) O|C|resv(6) protocol type  network identifier  reserved
//! ```

use super::{Inner, Unwrapped};
use crate::decode::cursor::Cursor;
use crate::decode::error::{DecodeError, Layer};
use crate::decode::link::{ETHERNET_BRIDGING, IPV4, IPV6};
use crate::decode::packet::Tunnel;

/// The assigned port.
pub(in crate::decode) const PORT: u16 = 6081;

/// Removes a Geneve header with its options.
pub(in crate::decode) fn unwrap(cursor: &mut Cursor<'_>) -> Result<Unwrapped, DecodeError> {
    let start = *cursor;
    let &[version_and_words, _, p0, p1, n0, n1, n2, _] = cursor.peek::<8>(Layer::Geneve)?;
    if version_and_words >> 6 != 0 {
        return Err(start.refuse(Layer::Geneve));
    }
    let words = usize::from(version_and_words & 0x3f);
    cursor.take_len((words << 2).saturating_add(8), Layer::Geneve)?;
    let inner = match u16::from_be_bytes([p0, p1]) {
        ETHERNET_BRIDGING => Inner::Ethernet,
        ether_type @ (IPV4 | IPV6) => Inner::EtherType(ether_type),
        _ => return Err(start.refuse(Layer::Geneve)),
    };
    let tunnel = Tunnel::Geneve { network_identifier: u32::from_be_bytes([0, n0, n1, n2]) };
    Ok(Unwrapped { tunnel, inner, is_mirror: false })
}
