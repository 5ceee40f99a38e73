//! MPLS (RFC 3032): labels before IP, or before Ethernet (RFC 4448).
//!
//! ```text
//! byte 0..2                      2..3
//!      label(20)|class(3)|bottom(1)  time to live
//! ```

use super::mirror::has_ip;
use super::{Inner, Unwrapped};
use crate::decode::cursor::Cursor;
use crate::decode::error::{DecodeError, Layer};
use crate::decode::link::{IPV4, IPV6};
use crate::decode::packet::Tunnel;

/// `EtherType`s of packets to one receiver, and to several.
pub(in crate::decode) const ETHER_TYPES: [u16; 2] = [0x8847, 0x8848];

/// Removes all labels. The last one does not say what follows: IP begins with its version, and Ethernet
/// over MPLS mostly with a control word of zeroes (RFC 4385, section 3); but so do some addresses.
pub(in crate::decode) fn unwrap(cursor: &mut Cursor<'_>) -> Result<Unwrapped, DecodeError> {
    let label = loop {
        let &[l0, l1, l2, _] = cursor.take::<4>(Layer::Mpls)?;
        if l2 & 0x01 != 0 {
            break u32::from_be_bytes([0, l0, l1, l2]) >> 4;
        }
    };
    let inner = match cursor.peek::<4>(Layer::Mpls)? {
        _ if has_ip(cursor.bytes()) => Inner::Ethernet,
        [0x45..=0x4f, ..] => Inner::EtherType(IPV4),
        [0x60..=0x6f, ..] => Inner::EtherType(IPV6),
        [0, 0, ..] => {
            cursor.take::<4>(Layer::Mpls)?;
            Inner::Ethernet
        }
        _ => Inner::Ethernet,
    };
    Ok(Unwrapped { tunnel: Tunnel::Mpls { label }, inner, is_mirror: false })
}
