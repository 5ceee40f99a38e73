//! The local route header, which begins native InfiniBand packets (IBTA volume 1, section 7.7).

use std::net::{IpAddr, Ipv6Addr};

use super::cursor::Cursor;
use super::error::{DecodeError, Layer, Limit};
use super::packet::Ip;

/// What follows the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// A BTH: the packet stays in its subnet.
    Bth,
    /// A global route header.
    Grh,
    /// IPv6, or bytes without a transport.
    Raw,
}

/// Reads the header. A packet without a global route header has no addresses but its LIDs: LID n becomes
/// `fe80::n`.
///
/// ```text
/// byte 0                    1                                       2..3
///      lane(4)|version(4)   service level(4)|reserved(2)|next(2)    destination LID
///      4..5                          6..7
///      reserved(5)|words(11)         source LID
/// ```
pub(super) fn decode(cursor: &mut Cursor<'_>, ip: &mut Option<Ip>) -> Result<Next, DecodeError> {
    let start = *cursor;
    let &[_, next, d0, d1, w0, w1, s0, s1] = start.peek::<8>(Layer::Lrh)?;
    // In words of 4 bytes, up to the ICRC.
    let len = usize::from(u16::from_be_bytes([w0 & 0x07, w1])) << 2;
    if len < 8 {
        return Err(start.refuse(Layer::Lrh));
    }
    // The VCRC follows.
    cursor.follow(len, Limit::IpLength);
    cursor.take::<8>(Layer::Lrh)?;
    let address = |high, low| {
        IpAddr::V6(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, u16::from_be_bytes([high, low])))
    };
    *ip = Some(Ip {
        source: address(s0, s1),
        destination: address(d0, d1),
        traffic_class: 0,
        identification: None,
        hop_limit: 0,
        protocol: 0,
    });
    Ok(match next & 0x03 {
        2 => Next::Bth,
        3 => Next::Grh,
        _ => Next::Raw,
    })
}
